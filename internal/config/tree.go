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
	key    string
	value  reflect.Value
	store  func() // puts a changed value into the configuration: values in maps can't be changed in place
	unused bool   // an empty value of a key that is printed only if set
}

func (l leaf) set(given string) error {
	err := setScalar(l.value, given)
	if err == nil {
		l.store()
	}
	return err
}

// leaves lists all values of a configuration in the order of its types; map keys are sorted.
func leaves(cfg *Config) (found []leaf) {
	var walk func(v reflect.Value, path string, optional bool, store func())
	walk = func(v reflect.Value, path string, optional bool, store func()) {
		switch {
		case v.Kind() == reflect.Struct:
			for i := range v.NumField() {
				field := v.Type().Field(i)
				if key := keyOf(field); key != "" {
					walk(v.Field(i), join(path, key), omitsEmpty(field), store)
				}
			}
		case v.Kind() == reflect.Slice && v.Type() != wordsType:
			for i := range v.Len() {
				walk(v.Index(i), fmt.Sprintf("%s[%d]", path, i), false, store)
			}
		case v.Kind() == reflect.Map:
			for _, name := range sortedKeys(v) {
				element := reflect.New(v.Type().Elem()).Elem()
				element.Set(v.MapIndex(name))
				walk(element, join(path, name.String()), false, func() { v.SetMapIndex(name, element) })
			}
		default:
			found = append(found, leaf{key: path, value: v, store: store, unused: optional && v.IsZero()})
		}
	}
	walk(reflect.ValueOf(cfg).Elem(), "", false, func() {})
	return found
}

func sortedKeys(m reflect.Value) []reflect.Value {
	names := m.MapKeys()
	slices.SortFunc(names, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	return names
}
