package main

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// node is the part of a JSON Schema that types are made of.
type node struct {
	Ref         string          `json:"$ref"`
	Description string          `json:"description"`
	Type        names           `json:"type"`
	Enum        []any           `json:"enum"`
	Const       any             `json:"const"`
	Properties  properties      `json:"properties"`
	Required    []string        `json:"required"`
	Items       *node           `json:"items"`
	AllOf       []node          `json:"allOf"`
	AnyOf       []node          `json:"anyOf"`
	Then        *node           `json:"then"`
	Additional  json.RawMessage `json:"additionalProperties"`
	Defs        properties      `json:"$defs"`

	never bool // the schema false: the member must be absent
}

// UnmarshalJSON reads a schema, which may be a boolean.
func (n *node) UnmarshalJSON(b []byte) error {
	if string(b) == "false" || string(b) == "true" {
		n.never = string(b) == "false"
		return nil
	}
	type plain node
	return json.Unmarshal(b, (*plain)(n))
}

// names is the keyword type: a name or several.
type names []string

// UnmarshalJSON reads either form.
func (t *names) UnmarshalJSON(b []byte) error {
	if b[0] == '[' {
		return json.Unmarshal(b, (*[]string)(t))
	}
	*t = names{""}
	return json.Unmarshal(b, &(*t)[0])
}

// property is a member of an object.
type property struct {
	name string
	node node
	of   string // the type that it is from, where another builds on that; what it declares is named by it
}

// properties are in the order of the schema, which is the one people read.
type properties []property

// UnmarshalJSON keeps the order.
func (p *properties) UnmarshalJSON(b []byte) error {
	d := json.NewDecoder(bytes.NewReader(b))
	if _, err := d.Token(); err != nil {
		return err
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return err
		}
		name, ok := key.(string)
		if !ok {
			return fmt.Errorf("member %v is not a string", key)
		}
		var n node
		if err := d.Decode(&n); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		*p = append(*p, property{name: name, node: n})
	}
	return nil
}

func (p properties) find(name string) (node, bool) {
	for _, m := range p {
		if m.name == name {
			return m.node, true
		}
	}
	return node{}, false
}

// with returns p with a member added, or replaced in its place.
func (p properties) with(m property) properties {
	for i := range p {
		if p[i].name == m.name {
			p[i] = m
			return p
		}
	}
	return append(p, m)
}
