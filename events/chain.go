package events

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Seal links a record to the previous one of its thread. It returns the record's data in RFC 8785 form with the
// chain member added, and the chain value: the lower-case hex sha256 of prev, as text, followed by the RFC 8785 form
// of the data without the chain. The first record of a thread has prev "".
// It fails with ErrChainSet if the record already has a chain value.
func Seal(prev string, record any) (data []byte, chain string, err error) {
	canonical, err := json.Marshal(record, json.Deterministic(true))
	if err != nil {
		return nil, "", fmt.Errorf("marshal record: %w", err)
	}
	if err := (*jsontext.Value)(&canonical).Canonicalize(); err != nil {
		return nil, "", fmt.Errorf("canonicalize record: %w", err)
	}
	chain = link(prev, canonical)
	data, err = withChain(canonical, chain)
	return data, chain, err
}

// VerifyChain checks that a record follows prev and returns its chain value. Only the record's values matter, not
// its layout; ErrChain means that a record was altered, removed, inserted or moved.
func VerifyChain(prev string, data []byte) (chain string, err error) {
	if chain, ok := verifyCanonical(prev, data); ok {
		return chain, nil
	}
	members := map[string]jsontext.Value{}
	if err := json.Unmarshal(data, &members); err != nil {
		return "", fmt.Errorf("read record: %w", err)
	}
	given := members["chain"]
	if !isString(given) {
		return "", fmt.Errorf("%w: the record has none", ErrChain)
	}
	delete(members, "chain")
	rest, err := json.Marshal(members)
	if err != nil {
		return "", fmt.Errorf("marshal record: %w", err)
	}
	if err := (*jsontext.Value)(&rest).Canonicalize(); err != nil {
		return "", fmt.Errorf("canonicalize record: %w", err)
	}
	if chain = link(prev, rest); chain != unquote(given) {
		return "", ErrChain
	}
	return chain, nil
}

// verifyCanonical verifies a record in Seal's layout without decoding it: without the chain member the bytes are the
// canonical form. A record in any other layout has another hash and is decoded by the caller.
func verifyCanonical(prev string, data []byte) (chain string, ok bool) {
	const name, size = `"chain":"`, 2 * sha256.Size
	at := bytes.Index(data, []byte(name))
	if at < 0 {
		return "", false
	}
	from := at + len(name)
	rest, ok := bytes.CutPrefix(data[min(from+size, len(data)):], []byte(`",`))
	if !ok {
		return "", false
	}
	h := sha256.New()
	h.Write([]byte(prev))
	h.Write(data[:at])
	h.Write(rest)
	chain = string(data[from : from+size])
	return chain, chain == hex.EncodeToString(h.Sum(nil))
}

func link(prev string, canonical []byte) string {
	h := sha256.New()
	h.Write([]byte(prev))
	h.Write(canonical)
	return hex.EncodeToString(h.Sum(nil))
}

// withChain inserts the chain into a canonical object at its sorted place.
func withChain(object []byte, chain string) ([]byte, error) {
	if len(object) <= len("{}") || object[0] != '{' {
		return nil, errors.New("seal record: it must be an object with members")
	}
	data := append([]byte(`{"chain":"`+chain+`",`), object[1:]...)
	err := (*jsontext.Value)(&data).Canonicalize()
	if errors.Is(err, jsontext.ErrDuplicateName) {
		return nil, ErrChainSet
	}
	return data, err
}
