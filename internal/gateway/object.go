package gateway

import (
	"bytes"
	"errors"
	"io"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// object is a JSON object's members.
type object map[string]jsontext.Value

// objectOf returns nil for anything but an object. Its values share the memory of v, which may be a body of megabytes.
func objectOf(v jsontext.Value) object {
	if o := (object{}); o.read(v) {
		return o
	}
	return nil
}

// read replaces the members by those of v, and reports whether v is an object. An answer has hundreds of events, each of which would take a kilobyte of maps.
func (o object) read(v jsontext.Value) bool {
	clear(o)
	return elements(v, jsontext.KindBeginObject, func(name string, value jsontext.Value, _ int) { o[name] = value })
}

// placed is an object with the places of its members' values in what it was read from.
type placed struct {
	object // nil for anything but an object
	bytes  jsontext.Value
	ends   map[string]int
}

func placedIn(v jsontext.Value) placed {
	o := placed{object{}, v, map[string]int{}}
	if !elements(v, jsontext.KindBeginObject, func(name string, value jsontext.Value, end int) { o.object[name], o.ends[name] = value, end }) {
		return placed{}
	}
	return o
}

// listOf returns nil for anything but a list. Its values share the memory of v.
func listOf(v jsontext.Value) []jsontext.Value {
	l, ok := lists.Get().(*[]jsontext.Value)
	if !ok {
		panic("the pool has only lists")
	}
	list := *l
	whole := elements(v, jsontext.KindBeginArray, func(_ string, value jsontext.Value, _ int) { list = append(list, value) })
	out := append(make([]jsontext.Value, 0, len(list)), list...)
	clear(list) // lets v be freed
	*l = list[:0]
	lists.Put(l)
	if !whole {
		return nil
	}
	return out
}

// lists are lent while lists are read, whose lengths nothing tells beforehand.
var lists = sync.Pool{New: func() any { return &[]jsontext.Value{} }}

var decoders = sync.Pool{New: func() any { return &decoder{} }}

type decoder struct {
	jsontext.Decoder
	in bytes.Buffer
}

// elements calls do with each member of an object or element of a list, and where in v it ends, and reports whether v is one, and nothing else.
func elements(v jsontext.Value, kind jsontext.Kind, do func(name string, value jsontext.Value, end int)) bool {
	if v.Kind() != kind {
		return false
	}
	d, ok := decoders.Get().(*decoder)
	if !ok {
		panic("the pool has only decoders")
	}
	d.in = *bytes.NewBuffer(v)
	d.Reset(&d.in)
	defer func() {
		d.in = bytes.Buffer{}
		d.Reset(&d.in) // lets v be freed
		decoders.Put(d)
	}()
	if _, err := d.ReadToken(); err != nil {
		return false
	}
	for {
		var name string
		switch d.PeekKind() {
		case jsontext.KindEndObject, jsontext.KindEndArray:
			if _, err := d.ReadToken(); err != nil {
				return false
			}
			_, err := d.ReadToken()
			return errors.Is(err, io.EOF)
		}
		if kind == jsontext.KindBeginObject {
			t, err := d.ReadToken()
			if err != nil {
				return false
			}
			name = t.String()
		}
		value, err := d.ReadValue()
		if err != nil {
			return false
		}
		end := int(d.InputOffset())
		do(name, v[end-len(value):end:end], end) // value itself is valid until the next read only
	}
}

// textOf returns "" for anything but a string.
func textOf(v jsontext.Value) string {
	if n := len(v); n >= 2 && v[0] == '"' && v[n-1] == '"' && !bytes.ContainsAny(v[1:n-1], `"\\`) && utf8.Valid(v) { // nothing to unquote
		return string(v[1 : n-1])
	}
	var s string
	if v.Kind() != jsontext.KindString || json.Unmarshal(v, &s) != nil {
		return ""
	}
	return s
}

func (o object) text(name string) string { return textOf(o[name]) }

// has reports whether a member stands and is not null.
func (o object) has(name string) bool {
	k := o[name].Kind()
	return k != jsontext.KindInvalid && k != jsontext.KindNull
}

// json returns the object with its members in order of their names.
func (o object) json() jsontext.Value { return jsonOf(o) }

// jsonOf marshals values that came from JSON.
func jsonOf(v any) jsontext.Value {
	b, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		panic("a value read from JSON has none: " + err.Error())
	}
	return b
}
