package state

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
)

// The rows that every event reads and writes have a binary form: fields in order, numbers as varints,
// strings with their length before them; the others are JSON. A row has each field of the store's format and nothing
// else. A program that ignored a field it does not know would write the row back without it, and one that read a
// missing field as zero would decide on a value that was never written. A new field is therefore a new format.

// codec writes or reads one binary row. A row's layout is one function that lists the fields for both.
type codec struct {
	b     []byte // what is written, or what is left to read
	reads bool
	err   error // the first one of a read
}

func writing(to []byte) codec  { return codec{b: to} }
func reading(row []byte) codec { return codec{b: row, reads: true} }

func (c *codec) fail(what string) {
	if c.err == nil {
		c.err = fmt.Errorf("%w: %s cut short, or written by another version", ErrDamaged, what)
	}
	c.b = nil
}

func (c *codec) uints(fields ...*uint64) {
	for _, v := range fields {
		if !c.reads {
			c.b = binary.AppendUvarint(c.b, *v)
			continue
		}
		n := 0
		if *v, n = binary.Uvarint(c.b); n <= 0 {
			*v = 0
			c.fail("number")
			continue
		}
		c.b = c.b[n:]
	}
}

func (c *codec) ints(fields ...*int64) {
	for _, v := range fields {
		if !c.reads {
			c.b = binary.AppendVarint(c.b, *v)
			continue
		}
		n := 0
		if *v, n = binary.Varint(c.b); n <= 0 {
			*v = 0
			c.fail("number")
			continue
		}
		c.b = c.b[n:]
	}
}

// small is a number that is not negative.
func (c *codec) small(fields ...*int) {
	for _, v := range fields {
		n := uint64(*v)
		if c.uints(&n); c.reads {
			*v = int(n)
		}
	}
}

func (c *codec) flags(fields ...*bool) {
	for _, v := range fields {
		n := uint64(0)
		if *v {
			n = 1
		}
		if c.uints(&n); c.reads {
			*v = n != 0
		}
	}
}

func (c *codec) sums(fields ...*[32]byte) {
	for _, v := range fields {
		switch {
		case !c.reads:
			c.b = append(c.b, v[:]...)
		case len(c.b) < len(v):
			c.fail("digest")
		default:
			c.b = c.b[copy(v[:], c.b):]
		}
	}
}

func (c *codec) times(fields ...*time.Time) {
	for _, v := range fields {
		n := v.UnixNano()
		if c.ints(&n); c.reads {
			*v = time.Unix(0, n).UTC()
		}
	}
}

// texts are strings, and types of strings, each with its length before it.
func texts[T ~string](c *codec, fields ...*T) {
	for _, v := range fields {
		if c.reads {
			*v = T(c.raw())
			continue
		}
		c.b = append(binary.AppendUvarint(c.b, uint64(len(*v))), *v...)
	}
}

// blobs are byte slices, each with its length before it. It copies what it reads.
func blobs[T ~[]byte](c *codec, fields ...*T) {
	for _, v := range fields {
		if c.reads {
			*v = append(T(nil), c.raw()...)
			continue
		}
		c.b = append(binary.AppendUvarint(c.b, uint64(len(*v))), *v...)
	}
}

// raw reads a length, and as many bytes.
func (c *codec) raw() []byte {
	var n uint64
	c.uints(&n)
	if n > uint64(len(c.b)) {
		c.fail("length")
		return nil
	}
	v := c.b[:n]
	c.b = c.b[n:]
	return v
}

// sized writes how many entries a list has, or makes as many as are written; the caller goes through them. Each has at
// least so many bytes: what can't be there is not made room for.
func sized[T any](c *codec, list *[]T, atLeast int) []T {
	n := uint64(len(*list))
	if c.uints(&n); !c.reads {
		return *list
	}
	if *list = nil; n > uint64(len(c.b)/atLeast) {
		c.fail("list")
	} else if n > 0 {
		*list = make([]T, n)
	}
	return *list
}

func (c *codec) numbers(list *[]uint64) {
	for i := range sized(c, list, 1) {
		c.uints(&(*list)[i])
	}
}

func (c *codec) strings(list *[]string) {
	for i := range sized(c, list, 1) {
		texts(c, &(*list)[i])
	}
}

// version is what a row of a kind begins with.
func (c *codec) version(want uint64) {
	have := want
	if c.uints(&have); c.err == nil && have != want {
		c.err = fmt.Errorf("%w: another version wrote it: row version %d, this program reads %d", ErrDamaged, have, want)
		c.b = nil
	}
}

// end is where a row of a kind must end. It returns the first error of the row.
func (c *codec) end(kind, id string) error {
	if c.err == nil && len(c.b) > 0 {
		c.err = fmt.Errorf("%w: %d bytes follow its last field: another version wrote it", ErrDamaged, len(c.b))
	}
	return rowError(kind, id, c.err)
}

func rowError(kind, id string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("read %s %q: %w", kind, id, err)
}

func encodeJSON(v any) []byte {
	b, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		panic(fmt.Sprintf("encode %T: %v", v, err)) // only our own row types come here
	}
	return b
}

// decodeJSON reads a row of a kind that is JSON.
func decodeJSON(to any, kind, id string) func([]byte) error {
	return func(b []byte) error {
		err := json.Unmarshal(b, to, json.RejectUnknownMembers(true))
		switch {
		case err == nil:
			return nil
		case errors.Is(err, json.ErrUnknownName):
			return rowError(kind, id, fmt.Errorf("%w: another version wrote it: %w", ErrDamaged, err))
		default:
			return rowError(kind, id, fmt.Errorf("%w: %w", ErrDamaged, err))
		}
	}
}

// noValue reads a row that is all in its key.
func noValue(b []byte) error {
	c := reading(b)
	return c.end("index row", "")
}
