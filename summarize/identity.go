package summarize

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Source is one source of a summary, as it enters the digest.
type Source struct {
	ID       string
	Revision uint64   // edits so far
	Digest   [32]byte // content digest
}

// SourceDigest is `sha256:` and the hash of the ordered sources, each as [id, revision, content digest
// in hex], in RFC 8785 form.
func SourceDigest(sources []Source) string {
	rows := make([][3]any, len(sources))
	for i, s := range sources {
		rows[i] = [3]any{s.ID, s.Revision, hex.EncodeToString(s.Digest[:])}
	}
	sum := sha256.Sum256(canonical(rows))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Identity identifies a summary: the same work at the same place in the log has the
// same identity, wherever and however often it is done.
type Identity struct {
	Thread            string
	Kind              string
	Slot              string
	Version           uint64
	SourceDigest      string
	PolicyFingerprint string
	Method            string // the rules' or the prompt's version
	Model             string // empty for rules
}

// ID is `sum_` and the first 16 bytes, in hex, of the hash of the identity's fields in order, in
// RFC 8785 form.
func (i Identity) ID() string {
	sum := sha256.Sum256(canonical([]any{
		i.Thread, i.Kind, i.Slot, i.Version, i.SourceDigest, i.PolicyFingerprint, i.Method, i.Model,
	}))
	return "sum_" + hex.EncodeToString(sum[:16])
}

func canonical(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // our own strings and numbers; ids from events are valid UTF-8
	}
	c := jsontext.Value(b)
	if err := c.Canonicalize(); err != nil {
		panic(err)
	}
	return c
}
