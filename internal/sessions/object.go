package sessions

import (
	"strconv"

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

// contentText is the text of a content: a string, or the first text of a list of parts.
func contentText(v jsontext.Value) string {
	if text := textOf(v); text != "" {
		return text
	}
	for _, part := range listOf(v) {
		if text := objectOf(part).text("text"); text != "" {
			return text
		}
	}
	return ""
}

func (o object) object(name string) object { return objectOf(o[name]) }

func (o object) list(name string) []jsontext.Value { return listOf(o[name]) }

func (o object) is(name string) bool { return o[name].Kind() == jsontext.KindTrue }

// has reports whether a member stands and is not null.
func (o object) has(name string) bool {
	k := o[name].Kind()
	return k != jsontext.KindInvalid && k != jsontext.KindNull
}

// count is a member's whole number; false for anything else.
func (o object) count(name string) (int64, bool) {
	if o[name].Kind() != jsontext.KindNumber {
		return 0, false
	}
	n, err := strconv.ParseInt(string(o[name]), 10, 64)
	return n, err == nil && n >= 0
}

// with sets a member, unless the value is absent or null, and returns the object.
func (o object) with(name string, value jsontext.Value) object {
	if k := value.Kind(); k != jsontext.KindInvalid && k != jsontext.KindNull {
		o[name] = value
	}
	return o
}

// quote is a string's JSON.
func quote(s string) jsontext.Value {
	b, _ := jsontext.AppendQuote(nil, s) // invalid UTF-8 is replaced
	return b
}

// jsonOf marshals values that came from JSON.
func jsonOf(v any) jsontext.Value {
	b, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		panic("a value read from JSON has none: " + err.Error())
	}
	return b
}

// readJSON checks a text and returns it as a value. Agents cut texts in the middle of a character: what is not UTF-8 is replaced by U+FFFD, of two
// members of one name the last counts. repaired says that this was needed.
func readJSON(text []byte) (v jsontext.Value, repaired bool, err error) {
	v = jsontext.Value(text)
	if v.IsValid() {
		return v, false, nil
	}
	v = v.Clone()
	if err := v.Compact(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true)); err != nil {
		return nil, false, err
	}
	var tree any
	if err := json.Unmarshal(v, &tree, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true)); err != nil {
		return nil, false, err
	}
	v, err = json.Marshal(tree, jsontext.AllowInvalidUTF8(true), json.Deterministic(true))
	if err != nil || !v.IsValid() {
		return nil, false, errInvalid
	}
	return v, true, nil
}
