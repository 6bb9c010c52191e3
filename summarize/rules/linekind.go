package rules

import "strings"

// lineKind is the role of a line in its text, inferred from its beginning; it applies across languages.
type lineKind uint8

const (
	plainLine lineKind = iota
	declarationLine
	commentLine
	importLine_
	headingLine
	changedLine // of a diff
)

// declares matches words that begin declarations in the languages that agents read most.
func declares(word string) bool {
	switch word {
	case "func", "function", "def", "class", "type", "interface", "struct", "enum", "fn", "trait", "impl", "const", "var", "let",
		"module", "mod", "record", "namespace", "macro_rules!", "object", "protocol", "extension", "typedef", "union", "val",
		"CREATE", "message", "service", "rpc", "resource", "variable", "#define", "defmodule", "defp", "defmacro", "fun", "mixin", "actor", "primitive", "input", "typealias", "sub", "create", "be":
		return true
	}
	return false
}

// modifies matches words that precede those.
func modifies(word string) bool {
	switch word {
	case "export", "default", "async", "fileprivate", "data", "mutating", "lateinit", "companion", "synchronized", "implicit", "case", "local", "public", "private", "protected", "static", "final", "abstract", "pub", "pub(crate)", "unsafe",
		"extern", "inline", "virtual", "override", "declare", "readonly", "sealed", "partial", "internal", "open", "suspend":
		return true
	}
	return false
}

func kindOf(text string, s shape) lineKind {
	if text == "" {
		return plainLine
	}
	if s == shapeDiff && (text[0] == '+' || text[0] == '-') {
		return changedLine
	}
	switch text[0] {
	case '/', '*', '"', '-':
		if strings.HasPrefix(text, "//") || strings.HasPrefix(text, "/*") || strings.HasPrefix(text, "* ") || strings.HasPrefix(text, `"""`) || strings.HasPrefix(text, "--") {
			return commentLine
		}
	case '#':
		return hashLine(text)
	case 'i', 'f', 'u', 'r':
		if strings.HasPrefix(text, "import ") || strings.HasPrefix(text, "from ") && strings.Contains(text, " import ") || strings.HasPrefix(text, "use ") && strings.HasSuffix(text, ";") || strings.HasPrefix(text, "require") {
			return importLine_
		}
	}
	return declaration(text)
}

// hashLine distinguishes headings, comments and the C preprocessor.
func hashLine(text string) lineKind {
	switch {
	case strings.HasPrefix(text, "#include"):
		return importLine_
	case strings.HasPrefix(text, "#define "):
		return declarationLine
	case strings.HasPrefix(text, "##"):
		return headingLine
	}
	return commentLine
}

func declaration(text string) lineKind {
	for range 5 {
		word, rest, ok := strings.Cut(text, " ")
		switch {
		case !ok || word == "":
			return plainLine
		case declares(word):
			return declarationLine
		case !modifies(word):
			return plainLine
		}
		text = rest
	}
	return plainLine
}
