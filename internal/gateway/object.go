package gateway

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// object is a JSON object's members.
type object map[string]jsontext.Value

// objectOf returns nil for anything but an object.
func objectOf(v jsontext.Value) object {
	if v.Kind() != jsontext.KindBeginObject {
		return nil
	}
	var o object
	if json.Unmarshal(v, &o) != nil {
		return nil
	}
	return o
}

// listOf returns nil for anything but a list.
func listOf(v jsontext.Value) []jsontext.Value {
	if v.Kind() != jsontext.KindBeginArray {
		return nil
	}
	var list []jsontext.Value
	if json.Unmarshal(v, &list) != nil {
		return nil
	}
	return list
}

// textOf returns "" for anything but a string.
func textOf(v jsontext.Value) string {
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
