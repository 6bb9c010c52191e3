package config

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"precis/summarize"
)

// Bounds on a file: a device has no end, the parser's work grows with the square of the nesting, and an alias repeats
// what it names. Real configurations have some 10 KB and a few hundred values.
const (
	maxFileBytes = 1 << 20
	maxValues    = 10_000
)

const tooMuch = "nested too deep or too long: more than 10000 values"

// readBounded reads a file of at most maxFileBytes.
func readBounded(name string) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxFileBytes+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxFileBytes {
		return nil, fmt.Errorf("%s: larger than %d bytes: name another file", name, maxFileBytes)
	}
	return text, nil
}

// openers is how many values a text can nest at most.
func openers(text []byte) (n int) {
	for _, opener := range []string{"[", "{", "- ", "? "} {
		n += strings.Count(string(text), opener)
	}
	return n
}

// fileDecoder applies a YAML document to a configuration. The library parses it and resolves anchors, aliases and merge
// keys. The decoder sets the fields itself, to report every problem with its key and line, to refuse "16" where a number
// belongs and 7 where text does, and to note where each value came from.
type fileDecoder struct {
	cfg      *Config
	file     string
	origins  Origins // of the document's keys; one behind an alias or a merge has its parent's
	values   int
	problems []Problem
}

func decodeFile(cfg *Config, name string, text []byte) []Problem {
	d := &fileDecoder{cfg: cfg, file: name}
	if openers(text) > maxValues {
		d.problem("", tooMuch)
		return d.problems
	}
	file, err := parser.ParseBytes(text, 0)
	if err != nil {
		return d.invalid(err)
	}
	if len(file.Docs) > 1 {
		second := file.Docs[1].Body
		return []Problem{{Origin: Origin{Kind: FromFile, Name: name, Line: lineOf(second)}, Message: "only one YAML document is allowed, and a second begins here"}}
	}
	if len(file.Docs) == 0 || file.Docs[0].Body == nil {
		return nil // nothing but comments
	}
	var values any
	d.origins = keyOrigins(file.Docs[0].Body, name)
	if err := yaml.NodeToValue(file.Docs[0].Body, &values); err != nil {
		return d.invalid(err)
	}
	d.decode(values, reflect.ValueOf(cfg).Elem(), "")
	slices.SortStableFunc(d.problems, func(a, b Problem) int { return cmp.Compare(a.Origin.Line, b.Origin.Line) })
	return d.problems
}

// invalid reports an error of the library with its line.
func (d *fileDecoder) invalid(err error) []Problem {
	p := Problem{Origin: Origin{Kind: FromFile, Name: d.file}, Message: err.Error()}
	var located yaml.Error
	if errors.As(err, &located) {
		p.Message = located.GetMessage()
		if t := located.GetToken(); t != nil && t.Position != nil {
			p.Origin.Line = t.Position.Line
		}
	}
	return append(d.problems, p)
}

// keyOrigins returns the line of every key. It also orders merge keys as YAML defines them, which the library does not:
// a map's own keys take precedence wherever "<<" stands, and the first of several merged maps does.
func keyOrigins(body ast.Node, file string) Origins {
	index := originIndex{file: file, origins: Origins{}}
	ast.Walk(index, body)
	return index.origins
}

type originIndex struct {
	file    string
	origins Origins
}

// Visit implements ast.Visitor.
func (x originIndex) Visit(node ast.Node) ast.Visitor {
	key := strings.ReplaceAll(strings.TrimPrefix(strings.TrimPrefix(node.GetPath(), "$"), "."), "'", "")
	if _, known := x.origins[key]; !known {
		x.origins[key] = Origin{Kind: FromFile, Name: x.file, Line: lineOf(node)}
	}
	switch n := node.(type) {
	case *ast.MappingNode:
		slices.SortStableFunc(n.Values, func(a, b *ast.MappingValueNode) int { return mergesFirst(a) - mergesFirst(b) })
	case *ast.MappingValueNode:
		if list, ok := n.Value.(*ast.SequenceNode); ok && n.Key.IsMergeKey() {
			slices.Reverse(list.Values)
		}
	}
	return x
}

func mergesFirst(pair *ast.MappingValueNode) int {
	if pair.Key.IsMergeKey() {
		return 0
	}
	return 1
}

func lineOf(node ast.Node) int {
	if node != nil && node.GetToken() != nil && node.GetToken().Position != nil {
		return node.GetToken().Position.Line
	}
	return 0
}

// origin is the place of a key, or of the alias or merge that it comes from.
func (d *fileDecoder) origin(key string) Origin {
	if origin := d.origins.Of(key); origin.Kind == FromFile {
		return origin
	}
	return Origin{Kind: FromFile, Name: d.file}
}

func (d *fileDecoder) problem(key, format string, args ...any) {
	d.problems = append(d.problems, Problem{Key: key, Origin: d.origin(key), Message: fmt.Sprintf(format, args...)})
}

func (d *fileDecoder) decode(value any, v reflect.Value, path string) {
	if value == nil {
		return // a section with only commented lines counts as absent
	}
	if d.values++; d.values >= maxValues { // an alias may repeat another's aliases
		if d.values == maxValues {
			d.problem("", tooMuch)
		}
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		d.decodeStruct(value, v, path)
	case reflect.Map:
		d.decodeMap(value, v, path)
	case reflect.Slice:
		d.decodeSlice(value, v, path)
	default:
		d.decodeScalar(value, v, path)
	}
}

func (d *fileDecoder) decodeStruct(value any, v reflect.Value, path string) {
	if v.Type() == reflect.TypeFor[summarize.Condition]() || v.Type() == reflect.TypeFor[summarize.Keep]() {
		v.SetZero() // merging a condition with its default would give one that is in neither
	}
	allowed := keysOf(v.Type())
	members, ok := value.(map[string]any)
	if !ok {
		d.problem(path, "must be a map of keys; allowed: %s", strings.Join(allowed, ", "))
	}
	for _, key := range slices.Sorted(maps.Keys(members)) {
		if !slices.Contains(allowed, key) {
			d.problem(join(path, key), "unknown key; allowed here: %s", strings.Join(allowed, ", "))
		}
	}
	for i := range v.NumField() {
		if key := keyOf(v.Type().Field(i)); key != "" {
			d.decode(members[key], v.Field(i), join(path, key))
		}
	}
}

func (d *fileDecoder) decodeMap(value any, v reflect.Value, path string) {
	members, ok := value.(map[string]any)
	if !ok {
		d.problem(path, "must be a map from names")
		return
	}
	v.Set(reflect.MakeMap(v.Type()))
	for _, name := range slices.Sorted(maps.Keys(members)) {
		element := reflect.New(v.Type().Elem()).Elem()
		seed(element, members[name], name)
		d.decode(members[name], element, join(path, name))
		v.SetMapIndex(reflect.ValueOf(name), element)
	}
}

func (d *fileDecoder) decodeSlice(value any, v reflect.Value, path string) {
	list, ok := value.([]any)
	if !ok {
		d.problem(path, "must be a list")
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), len(list), len(list)))
	if v.Type() == wordsType {
		d.cfg.Origins[path] = d.origin(path)
	}
	for i, value := range list {
		seed(v.Index(i), value, "")
		d.decode(value, v.Index(i), fmt.Sprintf("%s[%d]", path, i))
	}
}

// seed sets the defaults of a policy or provider before the file's values; name is the provider's.
func seed(v reflect.Value, value any, name string) {
	switch into := v.Addr().Interface().(type) {
	case *summarize.Policy:
		*into = summarize.Default()
	case *Provider:
		members, _ := value.(map[string]any)
		kind, _ := members["kind"].(string)
		*into = DefaultProvider(cmp.Or(kind, builtInKinds[name]))
	}
}

// decodeScalar sets a value of the matching type only: a quoted "0" is not a number, and a number is not text.
func (d *fileDecoder) decodeScalar(value any, v reflect.Value, path string) {
	kind := kindOf(v)
	matches := false
	switch value := value.(type) {
	case string:
		matches = kind == text || kind == duration || kind == size && value == summarize.Auto.String()
	case bool:
		matches = kind == boolean
	case int64, uint64:
		matches = kind == integer || kind == number || kind == size || kind == duration // a duration's error names its units
	case float64:
		matches = kind == number
	}
	if !matches {
		d.problem(path, "must be %s", kind)
		return
	}
	if err := setScalar(v, fmt.Sprint(value)); err != nil {
		d.problem(path, "%v", err)
		return
	}
	d.cfg.Origins[path] = d.origin(path)
}
