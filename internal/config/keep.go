package config

import (
	"maps"
	"reflect"
	"slices"
)

// Keeping returns c with the values that another configuration has for some keys of the first level, and lists the keys below them that
// differ, in order.
func (c *Config) Keeping(now *Config, fixed []string) (kept *Config, differ []string) {
	next := *c
	next.Origins = maps.Clone(c.Origins)
	if next.Origins == nil {
		next.Origins = Origins{}
	}
	to, was := reflect.ValueOf(&next).Elem(), reflect.ValueOf(now).Elem()
	for i := range to.NumField() {
		key := keyOf(to.Type().Field(i))
		if !slices.Contains(fixed, key) || reflect.DeepEqual(to.Field(i).Interface(), was.Field(i).Interface()) {
			continue
		}
		keys := changed(now, c, key)
		if len(keys) == 0 { // what a variable holds, say
			keys = []string{key}
		}
		differ = append(differ, keys...)
		for _, key := range keys {
			next.Origins[key] = now.Origins.Of(key)
		}
		to.Field(i).Set(was.Field(i))
	}
	return &next, differ
}

// changed are the keys below one of the first level whose values differ.
func changed(a, b *Config, under string) (keys []string) {
	values := map[string]any{}
	for _, l := range leaves(a) {
		values[l.key] = l.value.Interface()
	}
	for _, l := range leaves(b) {
		if top(l.key) == under && !reflect.DeepEqual(values[l.key], l.value.Interface()) {
			keys = append(keys, l.key)
		}
	}
	return keys
}

// top is the part of a key that is of the first level.
func top(key string) string {
	for parent := parentKey(key); parent != ""; parent = parentKey(key) {
		key = parent
	}
	return key
}
