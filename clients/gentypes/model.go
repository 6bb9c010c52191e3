package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"precis/schemas"
)

// declaration is a named type: an object, or another name of an expression.
type declaration struct {
	name, comment string
	object        bool
	open          bool // members that it does not name are kept
	members       []member
	alias         expression
}

type member struct {
	name, comment string
	required      bool
	is            expression
}

// expression is a union of alternatives.
type expression []alternative

type alternative struct {
	kind    kind
	name    string     // of a named type
	literal string     // as JSON
	of      expression // of a list's items, or of a map's values
}

type kind int

const (
	isAny kind = iota
	isNull
	isString
	isNumber
	isInteger
	isBoolean
	isLiteral
	isNamed
	isList
	isMap
)

// incoming are the events that agents publish, which may have members of their own.
var incoming = []string{"thread.message", "tool.result", "message.edited", "thread.forked"}

// loader collects declarations, each behind those that it was first needed by.
type loader struct {
	files map[string]node
	seen  map[string]bool
	list  []declaration
}

// load returns the types of the events, and of the service's requests and replies.
func load() ([]declaration, error) {
	l := &loader{files: map[string]node{}, seen: map[string]bool{}}
	for _, name := range append(schemas.Types(), strings.TrimSuffix(schemas.Shared, ".json"), strings.TrimSuffix(schemas.Service, ".json")) {
		text, err := schemas.Files.ReadFile(name + ".json")
		if err != nil {
			return nil, err
		}
		var n node
		if err := json.Unmarshal(text, &n); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		l.files[name+".json"] = n
	}
	for _, name := range schemas.Types() {
		l.named(name+".json", "")
	}
	for _, def := range l.files[schemas.Service].Defs {
		l.named("#/$defs/"+def.name, schemas.Service)
	}
	return l.list, nil
}

// resolve returns what a reference in a file refers to, that node's file and the name of its type.
func (l *loader) resolve(ref, file string) (n node, in, name string) {
	path, def, _ := strings.Cut(ref, "#/$defs/")
	if path == "" {
		path = file
	}
	n, ok := l.files[path]
	if !ok {
		panic("no schema " + ref)
	}
	name = strings.TrimSuffix(path, ".json")
	if def != "" {
		if n, ok = n.Defs.find(def); !ok {
			panic("no schema " + ref)
		}
		name = def
	}
	return n, path, camel(name)
}

// named declares what a reference refers to and returns its name.
func (l *loader) named(ref, file string) string {
	n, in, name := l.resolve(ref, file)
	if !l.seen[name] {
		l.seen[name] = true
		l.declare(n, in, name, slices.Contains(incoming, strings.TrimSuffix(ref, ".json")) || name == "Part")
	}
	return name
}

func (l *loader) declare(n node, file, name string, open bool) {
	at := len(l.list)
	l.list = append(l.list, declaration{name: name, comment: n.Description})
	members, required := l.merged(n, file)
	if len(members) == 0 && !slices.Equal(n.Type, names{"object"}) {
		l.list[at].alias = l.express(n, file, name)
		return
	}
	var list []member
	for _, p := range members {
		list = append(list, member{p.name, p.node.Description, slices.Contains(required, p.name), l.express(p.node, file, cmp.Or(p.of, name)+camel(p.name))})
	}
	l.list[at].object, l.list[at].open, l.list[at].members = true, open, list
}

// merged returns the members of an object with those of the schemas that it builds on.
func (l *loader) merged(n node, file string) (properties, []string) {
	var members properties
	var required []string
	take := func(ref string, all bool) {
		base, in, name := l.resolve(ref, file)
		m, r := l.merged(base, in)
		for _, p := range m {
			p.of = cmp.Or(p.of, name)
			members = members.with(p)
		}
		if all {
			required = append(required, r...)
		}
	}
	for _, base := range n.AllOf {
		if base.Ref != "" {
			take(base.Ref, true)
		}
	}
	for _, p := range n.Properties {
		if !p.node.never {
			members = members.with(p)
		}
	}
	if n.Then != nil && n.Then.Ref != "" {
		take(n.Then.Ref, false)
	}
	return members, append(required, n.Required...)
}

func (l *loader) express(n node, file, name string) expression {
	switch {
	case n.Ref != "":
		return expression{{kind: isNamed, name: l.named(n.Ref, file)}}
	case n.Const != nil:
		return literals([]any{n.Const})
	case n.Enum != nil:
		return literals(n.Enum)
	case len(n.Type) == 0 && len(n.Properties) == 0 && len(n.AnyOf) > 0:
		var union expression
		for i, one := range n.AnyOf {
			union = append(union, l.express(one, file, fmt.Sprintf("%s%d", name, i+1))...)
		}
		return union
	case len(n.Type) == 0:
		return expression{{kind: isAny}}
	}
	var union expression
	for _, t := range n.Type {
		union = append(union, l.ofType(t, n, file, name))
	}
	return union
}

func (l *loader) ofType(t string, n node, file, name string) alternative {
	switch t {
	case "array":
		items := expression{{kind: isAny}}
		if n.Items != nil {
			items = l.express(*n.Items, file, name+"Item")
		}
		return alternative{kind: isList, of: items}
	case "object":
		if len(n.Properties) > 0 || len(n.AllOf) > 0 {
			if !l.seen[name] {
				l.seen[name] = true
				n.Type = nil
				l.declare(n, file, name, false)
			}
			return alternative{kind: isNamed, name: name}
		}
		values := expression{{kind: isAny}}
		var additional node
		if len(n.Additional) > 0 && n.Additional[0] == '{' && json.Unmarshal(n.Additional, &additional) == nil {
			values = l.express(additional, file, name+"Value")
		}
		return alternative{kind: isMap, of: values}
	}
	kinds := map[string]kind{"string": isString, "integer": isInteger, "number": isNumber, "boolean": isBoolean, "null": isNull}
	k, ok := kinds[t]
	if !ok {
		panic("no type " + t)
	}
	return alternative{kind: k}
}

func literals(values []any) expression {
	var union expression
	for _, v := range values {
		if v == nil {
			union = append(union, alternative{kind: isNull})
			continue
		}
		text, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		union = append(union, alternative{kind: isLiteral, literal: string(text)})
	}
	return union
}

// camel makes a type's name: summary.created is SummaryCreated.
func camel(name string) string {
	var b strings.Builder
	for _, word := range strings.FieldsFunc(name, func(r rune) bool { return r == '.' || r == '_' }) {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String()
}
