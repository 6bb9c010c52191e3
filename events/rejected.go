package events

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
)

// NoThreadToken replaces the thread token in event.rejected if the event's subject names no thread; it is never a
// valid thread token.
const NoThreadToken = "="

// NewRejected records a rejected event byte for byte. It replaces a body longer than maxBody bytes by its sha256; a
// body in base64 takes a third more room than maxBody.
func NewRejected(raw Raw, streamSeq uint64, why *RejectError, maxBody int) Rejected {
	r := Rejected{
		Code: why.Code, Message: why.Message, StreamSeq: streamSeq,
		Subject: valid(raw.Subject), Headers: map[string][]string{},
	}
	if why.Field != "" {
		field := valid(why.Field)
		r.Field = &field
	}
	if r.Subject != raw.Subject {
		r.SubjectBase64 = base64Of([]byte(raw.Subject))
	}
	r.setHeaders(raw.Header)
	r.BodyBase64 = base64Of(raw.Body)
	if len(raw.Body) > maxBody {
		r.Shorten()
	}
	return r
}

// Shorten replaces the body by its sha256, for a server whose maximum payload is too small for it. It returns false if
// the body is already gone: JetStream stores no headers of more than 64 KiB, so nothing else is large.
func (r *Rejected) Shorten() bool {
	if r.BodyBase64 == nil {
		return false
	}
	body, err := base64.StdEncoding.DecodeString(*r.BodyBase64)
	if err != nil {
		body = []byte(*r.BodyBase64) // not written by NewRejected
	}
	sum := sha256.Sum256(body)
	digest := hex.EncodeToString(sum[:])
	r.BodyBase64, r.BodySHA256 = nil, &digest
	return true
}

// EventDigest identifies the event that the rejection is about, whatever was found wrong with it: a SHA-256 over its
// subject, its headers and the digest of its body.
func (r *Rejected) EventDigest() (digest [32]byte, err error) {
	about := *r
	about.Code, about.Message, about.Field = "", "", nil
	about.Shorten()
	data, err := json.Marshal(&about, json.Deterministic(true))
	return sha256.Sum256(data), err
}

// setHeaders copies the headers. If one is not valid UTF-8, which JSON can't hold, it also adds them in base64.
func (r *Rejected) setHeaders(h map[string][]string) {
	exact := true
	encoded := make(map[string][]string, len(h))
	for name, values := range h {
		key := *base64Of([]byte(name))
		exact = exact && utf8.ValidString(name)
		for _, v := range values {
			exact = exact && utf8.ValidString(v)
			r.Headers[valid(name)] = append(r.Headers[valid(name)], valid(v))
			encoded[key] = append(encoded[key], *base64Of([]byte(v)))
		}
	}
	if !exact {
		r.HeadersBase64 = encoded
	}
}

// Raw returns the original event, ready to publish again. It fails with ErrBodyGone if the body was too long to keep.
func (r *Rejected) Raw() (Raw, error) {
	if r.BodyBase64 == nil {
		return Raw{}, ErrBodyGone
	}
	body, err := base64.StdEncoding.DecodeString(*r.BodyBase64)
	if err != nil {
		return Raw{}, fmt.Errorf("read body: %w", err)
	}
	raw := Raw{Subject: r.Subject, Header: r.Headers, Body: body}
	if r.SubjectBase64 != nil {
		subject, err := base64.StdEncoding.DecodeString(*r.SubjectBase64)
		if err != nil {
			return Raw{}, fmt.Errorf("read subject: %w", err)
		}
		raw.Subject = string(subject)
	}
	if r.HeadersBase64 != nil {
		if raw.Header, err = decodeHeaders(r.HeadersBase64); err != nil {
			return Raw{}, fmt.Errorf("read headers: %w", err)
		}
	}
	return raw, nil
}

func decodeHeaders(encoded map[string][]string) (map[string][]string, error) {
	h := make(map[string][]string, len(encoded))
	for key, values := range encoded {
		name, err := base64.StdEncoding.DecodeString(key)
		if err != nil {
			return nil, err
		}
		for _, v := range values {
			value, err := base64.StdEncoding.DecodeString(v)
			if err != nil {
				return nil, err
			}
			h[string(name)] = append(h[string(name)], string(value))
		}
	}
	return h, nil
}

func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

func base64Of(b []byte) *string {
	s := base64.StdEncoding.EncodeToString(b)
	return &s
}
