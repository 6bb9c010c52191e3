package config

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"precis/summarize"
)

// decoder applies a YAML document to a configuration. It walks the syntax tree itself instead of using the library's
// decoder, because messages and origins need the line of every value.
type decoder struct {
	cfg      *Config
	file     string
	anchors  map[string]ast.Node
	visited  int
	problems []Problem
}

// Bounds on a document, against an alias inside its own anchor: far beyond any real configuration.
const (
	maxNodes   = 10_000
	maxKeySize = 512
)

func decodeFile(cfg *Config, name string, text []byte) []Problem {
	d := &decoder{cfg: cfg, file: name, anchors: map[string]ast.Node{}}
	if line := tooDeep(text); line > 0 {
		d.problems = append(d.problems, Problem{
			Origin:  Origin{Kind: FromFile, Name: name, Line: line},
			Message: fmt.Sprintf("more than %d values are nested here; a configuration needs fewer than ten", maxDepth),
		})
		return d.problems
	}
	file, err := parser.ParseBytes(text, 0)
	if err != nil {
		d.syntax(err)
		return d.problems
	}
	if len(file.Docs) > 1 {
		d.problem(file.Docs[1].Body, "", "one YAML document is allowed, and here begins a second")
		return d.problems
	}
	for _, doc := range file.Docs {
		d.decode(doc.Body, reflect.ValueOf(cfg).Elem(), "")
	}
	return d.problems
}

// syntax reports a parser error with its line.
func (d *decoder) syntax(err error) {
	origin := Origin{Kind: FromFile, Name: d.file}
	message := err.Error()
	var located yaml.Error
	if errors.As(err, &located) {
		message = located.GetMessage()
		if t := located.GetToken(); t != nil && t.Position != nil {
			origin.Line = t.Position.Line
		}
	}
	d.problems = append(d.problems, Problem{Origin: origin, Message: message})
}

func (d *decoder) problem(node ast.Node, key, format string, args ...any) {
	d.problems = append(d.problems, Problem{Key: key, Origin: d.origin(node), Message: fmt.Sprintf(format, args...)})
}

func (d *decoder) origin(node ast.Node) Origin {
	o := Origin{Kind: FromFile, Name: d.file}
	if node == nil {
		return o
	}
	if t := node.GetToken(); t != nil && t.Position != nil {
		o.Line = t.Position.Line
	}
	return o
}

func (d *decoder) decode(node ast.Node, v reflect.Value, path string) {
	node = d.resolve(node)
	if node == nil || node.Type() == ast.NullType {
		return // a section with only commented lines counts as absent
	}
	if d.visited++; d.visited > maxNodes || len(path) > maxKeySize {
		d.tooMuch(node)
		return
	}
	switch {
	case v.Kind() == reflect.Struct:
		d.decodeStruct(node, v, path)
	case v.Kind() == reflect.Map:
		d.decodeMap(node, v, path)
	case v.Kind() == reflect.Slice:
		d.decodeSlice(node, v, path)
	default:
		d.decodeScalar(node, v, path)
	}
}

// tooMuch reports once that the document exceeds its bounds.
func (d *decoder) tooMuch(node ast.Node) {
	const message = "nested too deep or too long; is an alias inside its own anchor?"
	for _, p := range d.problems {
		if p.Message == message {
			return
		}
	}
	d.problem(node, "", message)
}

func (d *decoder) decodeStruct(node ast.Node, v reflect.Value, path string) {
	if v.Type() == reflect.TypeFor[summarize.Condition]() || v.Type() == reflect.TypeFor[summarize.Keep]() {
		v.SetZero() // merging a condition with its default would give one that is in neither
	}
	pairs, ok := d.pairs(node, path)
	if !ok {
		d.problem(node, path, "must be a map of keys; allowed: %s", strings.Join(keysOf(v.Type()), ", "))
		return
	}
	for _, pair := range pairs {
		field, ok := fieldOf(v, pair.key)
		if !ok {
			d.problem(pair.node, join(path, pair.key), "unknown key; allowed here: %s", strings.Join(keysOf(v.Type()), ", "))
			continue
		}
		d.decode(pair.value, field, join(path, pair.key))
	}
}

func fieldOf(v reflect.Value, key string) (reflect.Value, bool) {
	for i := range v.NumField() {
		if name := keyOf(v.Type().Field(i)); name != "" && name == key {
			return v.Field(i), true
		}
	}
	return reflect.Value{}, false
}

func (d *decoder) decodeMap(node ast.Node, v reflect.Value, path string) {
	pairs, ok := d.pairs(node, path)
	if !ok {
		d.problem(node, path, "must be a map from names")
		return
	}
	v.Set(reflect.MakeMap(v.Type()))
	for _, pair := range pairs {
		element := reflect.New(v.Type().Elem()).Elem()
		d.seed(element, pair.value, pair.key)
		d.decode(pair.value, element, join(path, pair.key))
		v.SetMapIndex(reflect.ValueOf(pair.key), element)
	}
}

func (d *decoder) decodeSlice(node ast.Node, v reflect.Value, path string) {
	list, ok := node.(*ast.SequenceNode)
	if !ok {
		d.problem(node, path, "must be a list")
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), len(list.Values), len(list.Values)))
	if v.Type() == wordsType {
		d.cfg.Origins[path] = d.origin(node)
	}
	for i, value := range list.Values {
		d.seed(v.Index(i), value, "")
		d.decode(value, v.Index(i), fmt.Sprintf("%s[%d]", path, i))
	}
}

// seed sets the defaults of a policy or provider before the file's values; name is the provider's.
func (d *decoder) seed(v reflect.Value, node ast.Node, name string) {
	switch into := v.Addr().Interface().(type) {
	case *summarize.Policy:
		*into = summarize.Default()
	case *Provider:
		*into = DefaultProvider(cmp.Or(d.kindIn(node), builtInKinds[name]))
	}
}

// kindIn looks ahead for a provider's kind, on which its defaults depend.
func (d *decoder) kindIn(node ast.Node) string {
	pairs, _ := d.pairs(d.resolve(node), "")
	for _, pair := range pairs {
		if value, ok := pair.value.(*ast.StringNode); ok && pair.key == "kind" {
			return value.Value
		}
	}
	return ""
}
