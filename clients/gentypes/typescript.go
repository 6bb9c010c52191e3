package main

import (
	"fmt"
	"regexp"
	"strings"
)

// typescript writes interfaces. One whose schema keeps other members has an index signature, so that a provider's own message is one too.
func typescript(list []declaration) string {
	var b strings.Builder
	b.WriteString("// Generated from schemas/ by clients/gentypes. Do not edit.\n")
	for _, d := range list {
		b.WriteString("\n" + tsComment(d.comment, ""))
		if !d.object {
			fmt.Fprintf(&b, "export type %s = %s;\n", d.name, tsUnion(d.alias))
			continue
		}
		fmt.Fprintf(&b, "export interface %s {\n", d.name)
		for _, m := range d.members {
			mark := "?"
			if m.required {
				mark = ""
			}
			fmt.Fprintf(&b, "%s  %s%s: %s;\n", tsComment(m.comment, "  "), tsName(m.name), mark, tsUnion(m.is))
		}
		if d.open {
			b.WriteString("  [member: string]: unknown;\n")
		}
		b.WriteString("}\n")
	}
	return b.String()
}

func tsComment(text, indent string) string {
	if text == "" {
		return ""
	}
	return indent + "/** " + strings.ReplaceAll(text, "*/", "*\\/") + " */\n"
}

var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func tsName(name string) string {
	if identifier.MatchString(name) {
		return name
	}
	return fmt.Sprintf("%q", name)
}

func tsUnion(e expression) string {
	var words []string
	for _, a := range e {
		words = append(words, tsOne(a))
	}
	return strings.Join(words, " | ")
}

func tsOne(a alternative) string {
	switch a.kind {
	case isNamed:
		return a.name
	case isLiteral:
		return a.literal
	case isList:
		return "Array<" + tsUnion(a.of) + ">"
	case isMap:
		return "Record<string, " + tsUnion(a.of) + ">"
	}
	return map[kind]string{isAny: "unknown", isNull: "null", isString: "string", isNumber: "number", isInteger: "number", isBoolean: "boolean"}[a.kind]
}
