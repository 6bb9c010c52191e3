package config

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/goccy/go-yaml/ast"
)

// pair is one key of a YAML map.
type pair struct {
	key   string
	node  ast.Node
	value ast.Node
}

// resolve follows aliases, records anchors and strips tags. An alias can only refer to a complete anchor before it,
// so following aliases terminates.
func (d *decoder) resolve(node ast.Node) ast.Node {
	for {
		switch n := node.(type) {
		case *ast.AnchorNode:
			d.anchors[n.Name.String()] = n.Value
			node = n.Value
		case *ast.AliasNode:
			target, ok := d.anchors[n.Value.String()]
			if !ok {
				d.problem(n, "", "no anchor of the name %s stands above", n.Value.String())
				return nil
			}
			node = target
		case *ast.TagNode:
			node = n.Value
		default:
			return node
		}
	}
}

// pairs lists a map's own keys, and those that a merge key ("<<") adds.
func (d *decoder) pairs(node ast.Node, path string) ([]pair, bool) {
	var values []*ast.MappingValueNode
	switch n := node.(type) {
	case *ast.MappingNode:
		values = n.Values
	case *ast.MappingValueNode:
		values = []*ast.MappingValueNode{n}
	default:
		return nil, false
	}
	var merged, own []pair
	for _, value := range values {
		if value.Key.IsMergeKey() {
			merged = append(merged, d.merge(value.Value, path)...)
			continue
		}
		own = append(own, pair{key: keyText(value.Key), node: value.Key, value: value.Value})
	}
	return append(without(merged, own), own...), true
}

// without drops the pairs whose keys occur in others.
func without(pairs, others []pair) []pair {
	var left []pair
	for _, p := range pairs {
		if !slices.ContainsFunc(others, func(o pair) bool { return o.key == p.key }) {
			left = append(left, p)
		}
	}
	return left
}

// merge lists the keys of a merge key: those of one map, or of several, where the first map takes precedence.
func (d *decoder) merge(node ast.Node, path string) []pair {
	node = d.resolve(node)
	if list, ok := node.(*ast.SequenceNode); ok {
		var found []pair
		for _, value := range list.Values {
			found = append(found, without(d.merge(value, path), found)...)
		}
		return found
	}
	found, ok := d.pairs(node, path)
	if !ok && node != nil {
		d.problem(node, path, "a merge key takes a map or a list of maps")
	}
	return found
}

func keyText(key ast.MapKeyNode) string {
	if s, ok := key.(*ast.StringNode); ok {
		return s.Value
	}
	return key.GetToken().Value
}

func (d *decoder) decodeScalar(node ast.Node, v reflect.Value, path string) {
	text, ok := scalarText(node, v)
	if !ok {
		d.problem(node, path, "must be %s", kindName(v))
		return
	}
	if err := setScalar(v, text); err != nil {
		d.problem(node, path, "%v", err)
		return
	}
	d.cfg.Origins[path] = d.origin(node)
}

// scalarText returns a node's value as text if the node's type matches the value's: a quoted "0" is not a number, and
// a number is not a string.
func scalarText(node ast.Node, v reflect.Value) (string, bool) {
	switch n := node.(type) {
	case *ast.StringNode:
		return n.Value, v.Kind() == reflect.String || v.Type() == durationType
	case *ast.LiteralNode:
		return n.Value.Value, v.Kind() == reflect.String
	case *ast.BoolNode:
		return fmt.Sprint(n.Value), v.Kind() == reflect.Bool
	case *ast.IntegerNode:
		return fmt.Sprint(n.Value), v.Kind() == reflect.Int || v.Kind() == reflect.Float64 || v.Type() == durationType
	case *ast.FloatNode:
		return fmt.Sprint(n.Value), v.Kind() == reflect.Float64
	default:
		return "", false
	}
}

func kindName(v reflect.Value) string {
	switch {
	case v.Type() == durationType:
		return "a duration, such as 30s"
	case v.Kind() == reflect.Int:
		return "a whole number"
	case v.Kind() == reflect.Float64:
		return "a number"
	case v.Kind() == reflect.Bool:
		return "true or false"
	default:
		return "text (in quotes, where it looks like a number)"
	}
}
