package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// keyOf returns a struct field's key, the name in its yaml tag; empty if the field is not configuration.
func keyOf(field reflect.StructField) string {
	name, _, _ := strings.Cut(field.Tag.Get("yaml"), ",")
	if name == "-" {
		return ""
	}
	return name
}

// omitsEmpty reports whether a field is printed only if set, such as the leaves of a condition.
func omitsEmpty(field reflect.StructField) bool {
	_, options, _ := strings.Cut(field.Tag.Get("yaml"), ",")
	return options == "omitempty"
}

// keysOf lists the keys of a struct, in order.
func keysOf(t reflect.Type) []string {
	var keys []string
	for i := range t.NumField() {
		if key := keyOf(t.Field(i)); key != "" {
			keys = append(keys, key)
		}
	}
	return keys
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// leaf is one settable value of a configuration.
type leaf struct {
	key string
	// set applies change to a settable copy and stores it: values in maps can't be changed in place.
	set   func(change func(reflect.Value) error) error
	value reflect.Value
	// unused is true for an empty value of a key that is printed only if set.
	unused bool
}

// leaves lists all values of a configuration in the order of its types; map keys are sorted.
func leaves(cfg *Config) []leaf {
	var found []leaf
	walk(reflect.ValueOf(cfg).Elem(), "", false, inPlace, func(l leaf) { found = append(found, l) })
	return found
}

type setter func(v reflect.Value, change func(reflect.Value) error) error

func inPlace(v reflect.Value, change func(reflect.Value) error) error { return change(v) }

func walk(v reflect.Value, path string, optional bool, store setter, visit func(leaf)) {
	switch {
	case v.Kind() == reflect.Struct:
		walkStruct(v, path, store, visit)
	case v.Kind() == reflect.Slice && v.Type() != wordsType:
		for i := range v.Len() {
			walk(v.Index(i), fmt.Sprintf("%s[%d]", path, i), false, store, visit)
		}
	case v.Kind() == reflect.Map:
		walkMap(v, path, visit)
	default:
		set := func(change func(reflect.Value) error) error { return store(v, change) }
		visit(leaf{key: path, value: v, set: set, unused: optional && v.IsZero()})
	}
}

func walkStruct(v reflect.Value, path string, store setter, visit func(leaf)) {
	for i := range v.NumField() {
		field := v.Type().Field(i)
		if key := keyOf(field); key != "" {
			walk(v.Field(i), join(path, key), omitsEmpty(field), store, visit)
		}
	}
}

// walkMap visits copies of a map's values, and stores a copy when one of its leaves is set.
func walkMap(m reflect.Value, path string, visit func(leaf)) {
	for _, name := range sortedKeys(m) {
		copied := reflect.New(m.Type().Elem()).Elem()
		copied.Set(m.MapIndex(name))
		store := func(v reflect.Value, change func(reflect.Value) error) error {
			if err := change(v); err != nil {
				return err
			}
			m.SetMapIndex(name, copied)
			return nil
		}
		walk(copied, join(path, name.String()), false, store, visit)
	}
}

func sortedKeys(m reflect.Value) []reflect.Value {
	names := m.MapKeys()
	slices.SortFunc(names, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	return names
}
