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

// Seal links a record to the one before it in its thread. It returns the record's data, in RFC 8785 form with
// the chain among its members, and the chain value: the lower-case hex of the sha256 over prev, as text, and
// the RFC 8785 form of the data without the chain. The first record of a thread follows on prev "".
// It fails with ErrChainSet where the record already has a chain value.
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

// VerifyChain checks that a record follows on prev and returns its chain value. The record's layout does not
// matter, only what it says; ErrChain is a record that was altered, removed before, inserted or moved.
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

// verifyCanonical verifies a record that is laid out as Seal leaves it, without decoding it: taking the member
// out leaves the canonical form. A record laid out otherwise has another hash, and is decoded.
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

// withChain adds the chain to a canonical object where its name belongs.
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
