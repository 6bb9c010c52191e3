package main

import (
	"fmt"
	"strings"
)

// python writes TypedDicts. Members that may be absent are in a class of their own: NotRequired is of Python 3.11. Aliases are strings,
// since they may name what stands below them.
func python(list []declaration) string {
	var b strings.Builder
	b.WriteString("# Generated from schemas/ by clients/gentypes. Do not edit.\n\nfrom __future__ import annotations\n\nfrom typing import Any, Dict, List, Literal, TypedDict, Union\n")
	for _, d := range list {
		if !d.object {
			fmt.Fprintf(&b, "\n%s%s = %s\n", pyComment(d.comment), d.name, pyUnion(d.alias, true))
			continue
		}
		var required, optional []member
		for _, m := range d.members {
			if m.required {
				required = append(required, m)
			} else {
				optional = append(optional, m)
			}
		}
		switch {
		case len(optional) == 0:
			pyClass(&b, d.name, "TypedDict", d.comment, required)
		case len(required) == 0:
			pyClass(&b, d.name, "TypedDict, total=False", d.comment, optional)
		default:
			pyClass(&b, "_"+d.name, "TypedDict", "", required)
			pyClass(&b, d.name, "_"+d.name+", total=False", d.comment, optional)
		}
	}
	return b.String()
}

func pyClass(b *strings.Builder, name, base, comment string, members []member) {
	fmt.Fprintf(b, "\n\nclass %s(%s):\n", name, base)
	if comment != "" {
		fmt.Fprintf(b, "    \"\"\"%s\"\"\"\n\n", comment)
	}
	if len(members) == 0 {
		b.WriteString("    pass\n")
	}
	for _, m := range members {
		if m.comment != "" {
			fmt.Fprintf(b, "    # %s\n", m.comment)
		}
		fmt.Fprintf(b, "    %s: %s\n", m.name, pyUnion(m.is, false))
	}
}

func pyComment(text string) string {
	if text == "" {
		return ""
	}
	return "# " + text + "\n"
}

// pyUnion writes names in quotes where the expression is evaluated: they may be those of classes below.
func pyUnion(e expression, evaluated bool) string {
	var words []string
	for _, a := range e {
		words = append(words, pyOne(a, evaluated))
	}
	if len(words) == 1 {
		return words[0]
	}
	return "Union[" + strings.Join(words, ", ") + "]"
}

func pyOne(a alternative, evaluated bool) string {
	switch a.kind {
	case isNamed:
		if evaluated {
			return `"` + a.name + `"`
		}
		return a.name
	case isLiteral:
		return "Literal[" + a.literal + "]"
	case isList:
		return "List[" + pyUnion(a.of, evaluated) + "]"
	case isMap:
		return "Dict[str, " + pyUnion(a.of, evaluated) + "]"
	}
	return map[kind]string{isAny: "Any", isNull: "None", isString: "str", isNumber: "float", isInteger: "int", isBoolean: "bool"}[a.kind]
}
