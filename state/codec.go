package state

import (
	"encoding/binary"
	"fmt"
)

// The rows that every event reads and writes have a binary form: fields in order, numbers as varints,
// strings with their length before them. A field is only ever appended; one that is not there reads
// as zero, so that an older store stays readable. Rows that begin with a version are whole instead: they
// have each of its fields, and nothing behind them.

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
	b     []byte
	err   error
	whole bool // a field that is not there is damage
}

func (d *decoder) u() uint64 {
	if len(d.b) == 0 && !d.whole {
		return 0
	}
	v, n := binary.Uvarint(d.b)
	if n <= 0 {
		d.fail("number")
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *decoder) i() int64 {
	if len(d.b) == 0 && !d.whole {
		return 0
	}
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
	if len(d.b) == 0 {
		return
	}
	if len(d.b) < len(v) {
		d.fail("digest")
		return
	}
	d.b = d.b[copy(v[:], d.b):]
}

func (d *decoder) fail(what string) {
	if d.err == nil {
		d.err = fmt.Errorf("%w: %s cut short", ErrDamaged, what)
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

// end is the end of a whole row.
func (d *decoder) end() {
	if d.err == nil && len(d.b) > 0 {
		d.err = fmt.Errorf("%w: %d bytes behind its end", ErrDamaged, len(d.b))
	}
}
