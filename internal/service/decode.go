package service

import (
	"errors"
	"math"
	"reflect"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"precis/internal/spelling"
)

// decode reads a request's body; an empty one, and null, which counts as absent everywhere, is an empty object.
func decode(body []byte, to any) error {
	if len(body) == 0 {
		return nil
	}
	err := json.Unmarshal(body, to, numbers, json.RejectUnknownMembers(true))
	var wrong *json.SemanticError
	if errors.As(err, &wrong) && errors.Is(err, json.ErrUnknownName) {
		return unknown(wrong.JSONPointer.LastToken(), reflect.TypeOf(to).Elem())
	}
	if errors.As(err, &wrong) {
		if name := strings.TrimPrefix(string(wrong.JSONPointer), "/"); name != "" {
			return fault(codeBadRequest, "%s must be %s", name, wanted(wrong.GoType))
		}
		return fault(codeBadRequest, "request must be an object")
	}
	if err != nil {
		return fault(codeBadRequest, "request is not valid JSON: %s", strings.TrimPrefix(err.Error(), "jsontext: "))
	}
	return nil
}

// unknown says which member a request does not have, and which one may be meant.
func unknown(name string, request reflect.Type) error {
	var known []string
	for i := range request.NumField() {
		member, _, _ := strings.Cut(request.Field(i).Tag.Get("json"), ",")
		known = append(known, member)
	}
	if member := spelling.Meant(name, known); member != "" {
		return fault(codeBadRequest, "unknown member %q: did you mean %q?", name, member)
	}
	if len(known) == 0 {
		return fault(codeBadRequest, "unknown member %q: the request has no members", name)
	}
	return fault(codeBadRequest, "unknown member %q; allowed: %s", name, strings.Join(known, ", "))
}

// wanted is the JSON name of a member's type.
func wanted(t reflect.Type) string {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Int:
		return "an integer"
	case reflect.Bool:
		return "true or false"
	case reflect.Uint64:
		return "an integer of at least 0"
	case reflect.Slice:
		return "a list"
	default:
		return "a string"
	}
}

// numbers reads integers in any notation (1000, 1000.0, 1e3), as events do: clients that compute in floats write them so.
var numbers = json.WithUnmarshalers(json.JoinUnmarshalers(
	json.UnmarshalFromFunc(func(d *jsontext.Decoder, to *int) error {
		return number(d, to, -exact, strconv.Atoi)
	}),
	json.UnmarshalFromFunc(func(d *jsontext.Decoder, to *uint64) error {
		return number(d, to, 0, func(s string) (uint64, error) { return strconv.ParseUint(s, 10, 64) })
	}),
))

// exact is up to where a double holds every integer (RFC 7493, 2.2).
const exact = 1 << 53

var errNoInteger = errors.New("no integer")

func number[T int | uint64](d *jsontext.Decoder, to *T, least float64, plain func(string) (T, error)) error {
	if d.PeekKind() != '0' {
		return errors.ErrUnsupported // null, or what is told as wrong
	}
	text, err := d.ReadValue()
	if err != nil {
		return err
	}
	if n, err := plain(string(text)); err == nil {
		*to = n
		return nil
	}
	f, err := strconv.ParseFloat(string(text), 64)
	if err != nil || f != math.Trunc(f) || f < least || f >= exact {
		return errNoInteger
	}
	*to = T(f)
	return nil
}
