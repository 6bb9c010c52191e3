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

type encoder struct{ b []byte }

func (e *encoder) u(v uint64)      { e.b = binary.AppendUvarint(e.b, v) }
func (e *encoder) i(v int64)       { e.b = binary.AppendVarint(e.b, v) }
func (e *encoder) s(v string)      { e.u(uint64(len(v))); e.b = append(e.b, v...) }
func (e *encoder) bytes(v []byte)  { e.u(uint64(len(v))); e.b = append(e.b, v...) }
func (e *encoder) sum(v *[32]byte) { e.b = append(e.b, v[:]...) }

func (e *encoder) flag(v bool) {
	if v {
		e.u(1)
		return
	}
	e.u(0)
}

type decoder struct {
	b   []byte
	err error
}

func (d *decoder) u() uint64 {
	v, n := binary.Uvarint(d.b)
	if n <= 0 {
		d.fail("number")
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *decoder) i() int64 {
	v, n := binary.Varint(d.b)
	if n <= 0 {
		d.fail("number")
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *decoder) raw() []byte {
	n := d.u()
	if n > uint64(len(d.b)) {
		d.fail("length")
		return nil
	}
	v := d.b[:n]
	d.b = d.b[n:]
	return v
}

func (d *decoder) s() string     { return string(d.raw()) }
func (d *decoder) bytes() []byte { return append([]byte(nil), d.raw()...) }
func (d *decoder) flag() bool    { return d.u() != 0 }

func (d *decoder) sum(v *[32]byte) {
	if len(d.b) < len(v) {
		d.fail("digest")
		return
	}
	d.b = d.b[copy(v[:], d.b):]
}

func (d *decoder) fail(what string) {
	if d.err == nil {
		d.err = fmt.Errorf("%w: %s cut short, or written by another version", ErrDamaged, what)
	}
	d.b = nil
}

// count reads how many entries follow, each of at least so many bytes: what can't be there is not made room
// for.
func (d *decoder) count(atLeast int) int {
	n := d.u()
	if n > uint64(len(d.b)/atLeast) {
		d.fail("list")
		return 0
	}
	return int(n)
}

// end is where a row of a kind must end. It returns the first error of the row.
func (d *decoder) end(kind, id string) error {
	if d.err == nil {
		d.err = excess(d.b)
	}
	return rowError(kind, id, d.err)
}

// excess fails where bytes follow all that a row has.
func excess(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %d bytes follow its last field: another version wrote it", ErrDamaged, len(b))
}

// version reads the version that a row begins with.
func (d *decoder) version(want uint64) {
	if v := d.u(); d.err == nil && v != want {
		d.err = fmt.Errorf("%w: another version wrote it: row version %d, this program reads %d", ErrDamaged, v, want)
		d.b = nil
	}
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
	if err := excess(b); err != nil {
		return fmt.Errorf("read index row: %w", err)
	}
	return nil
}

// instantIn reads a time that is a row by itself.
func instantIn(b []byte, kind, id string) (time.Time, error) {
	if len(b) < 8 {
		return time.Time{}, rowError(kind, id, fmt.Errorf("%w: time cut short, or written by another version", ErrDamaged))
	}
	at := time.Unix(0, int64(binary.BigEndian.Uint64(b))).UTC()
	return at, rowError(kind, id, excess(b[8:]))
}
