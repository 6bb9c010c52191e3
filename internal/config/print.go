package config

import (
	"bytes"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"precis/internal/natsurl"
)

// WriteYAML prints the configuration in force as a file that Load accepts, each value followed by its origin. It prints
// no secrets, only the names of the variables that hold them, and masks a password in nats.url.
func (c *Config) WriteYAML(w io.Writer) error {
	p := &printer{origins: c.Origins}
	p.fields(reflect.ValueOf(c).Elem(), "", 0)
	_, err := w.Write(p.out.Bytes())
	return err
}

type printer struct {
	out     bytes.Buffer
	origins Origins
}

// originColumn is the column of the origins, wide enough for most values.
const originColumn = 56

func (p *printer) line(depth int, text, key string) {
	line := strings.Repeat("  ", depth) + text
	if key == "" {
		fmt.Fprintln(&p.out, line)
		return
	}
	fmt.Fprintf(&p.out, "%-*s # %s\n", originColumn, line, p.origins.Of(key))
}

func (p *printer) fields(v reflect.Value, path string, depth int) {
	for i := range v.NumField() {
		field := v.Type().Field(i)
		key := keyOf(field)
		if key == "" || (omitsEmpty(field) && v.Field(i).IsZero()) {
			continue
		}
		p.value(key+":", v.Field(i), join(path, key), depth)
	}
}

// value prints "label value", on one line or as a block below the label.
func (p *printer) value(label string, v reflect.Value, path string, depth int) {
	switch {
	case v.Kind() == reflect.Struct:
		p.line(depth, label, "")
		p.fields(v, path, depth+1)
	case v.Kind() == reflect.Slice && v.Type() != wordsType:
		p.list(label, v, path, depth)
	case v.Kind() == reflect.Map:
		p.mapping(label, v, path, depth)
	default:
		p.line(depth, label+" "+scalarYAML(shown(path, v)), path)
	}
}

// shown returns a value in its printable form.
func shown(key string, v reflect.Value) reflect.Value {
	if key == "nats.url" {
		return reflect.ValueOf(natsurl.Redacted(v.String()))
	}
	return v
}

func (p *printer) list(label string, v reflect.Value, path string, depth int) {
	p.line(depth, label, "")
	for i := range v.Len() {
		mark := p.out.Len()
		p.fields(v.Index(i), fmt.Sprintf("%s[%d]", path, i), depth+2)
		// The first key of an element follows its dash.
		copy(p.out.Bytes()[mark+2*(depth+1):], "- ")
	}
}

func (p *printer) mapping(label string, v reflect.Value, path string, depth int) {
	if v.Len() == 0 {
		p.line(depth, label+" {}", path)
		return
	}
	p.line(depth, label, "")
	for _, name := range sortedKeys(v) {
		p.value(quoteYAML(name.String())+":", v.MapIndex(name), join(path, name.String()), depth+1)
	}
}

func scalarYAML(v reflect.Value) string {
	switch value := v.Interface().(type) {
	case time.Duration:
		return value.String()
	case []string:
		words := make([]string, len(value))
		for i, word := range value {
			words[i] = quoteYAML(word)
		}
		return "[" + strings.Join(words, ", ") + "]"
	case string:
		return quoteYAML(value)
	case float64:
		return strconv.FormatFloat(value, 'f', -1, 64) // the parser does not read 1e-9, without a dot, as a number
	default:
		return fmt.Sprint(value)
	}
}

// quoteYAML quotes a text unless it is a word that YAML always reads as text.
func quoteYAML(text string) string {
	if text == "" || strings.Trim(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./") != "" ||
		strings.ContainsAny(text[:1], "0123456789-.") || isYAMLKeyword(text) {
		return strconv.Quote(text)
	}
	return text
}

func isYAMLKeyword(text string) bool {
	switch strings.ToLower(text) {
	case "true", "false", "null", "yes", "no", "on", "off", "y", "n":
		return true
	}
	return false
}

// Setting is one value in force, for programs.
type Setting struct {
	Key    string `json:"key"`
	Value  any    `json:"value"`
	Origin string `json:"origin"`
}

// Settings lists every value in force.
func (c *Config) Settings() []Setting {
	var list []Setting
	for _, l := range leaves(c) {
		if l.unused {
			continue
		}
		value := shown(l.key, l.value).Interface()
		if d, ok := value.(time.Duration); ok {
			value = d.String()
		}
		list = append(list, Setting{Key: l.key, Value: value, Origin: c.Origins.Of(l.key).String()})
	}
	return list
}

// WriteJSON prints Settings, one per line.
func (c *Config) WriteJSON(w io.Writer) error {
	for _, setting := range c.Settings() {
		data, err := json.Marshal(setting)
		if err != nil {
			return fmt.Errorf("write settings: %w", err)
		}
		if _, err := w.Write(append(data, '\n')); err != nil {
			return err
		}
	}
	return nil
}
