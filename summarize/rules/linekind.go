package rules

import "strings"

// lineKind is what part a line plays in its text, told from how it begins; it holds across languages.
type lineKind uint8

const (
	plainLine lineKind = iota
	declarationLine
	commentLine
	importLine_
	headingLine
	changedLine // of a diff
)

// declarators begin declarations in the languages that agents read most.
var declarators = map[string]bool{
	"func": true, "function": true, "def": true, "class": true, "type": true, "interface": true, "struct": true, "enum": true,
	"fn": true, "trait": true, "impl": true, "const": true, "var": true, "let": true, "module": true, "mod": true, "record": true,
	"namespace": true, "macro_rules!": true, "object": true, "protocol": true, "extension": true, "typedef": true, "union": true, "val": true,
	"CREATE": true, "message": true, "service": true, "rpc": true, "resource": true, "data": true, "variable": true, "#define": true,
}

// modifiers stand before declarators.
var modifiers = map[string]bool{
	"export": true, "default": true, "async": true, "public": true, "private": true, "protected": true, "static": true, "final": true,
	"abstract": true, "pub": true, "pub(crate)": true, "unsafe": true, "extern": true, "inline": true, "virtual": true, "override": true,
	"declare": true, "readonly": true, "sealed": true, "partial": true, "internal": true, "open": true, "suspend": true,
}

func kindOf(text string, s shape) lineKind {
	if text == "" {
		return plainLine
	}
	if s == shapeDiff && (text[0] == '+' || text[0] == '-') {
		return changedLine
	}
	switch {
	case strings.HasPrefix(text, "//"), strings.HasPrefix(text, "/*"), strings.HasPrefix(text, "* "), strings.HasPrefix(text, `"""`), strings.HasPrefix(text, "--"):
		return commentLine
	case text[0] == '#':
		return hashLine(text)
	case strings.HasPrefix(text, "import "), strings.HasPrefix(text, "from ") && strings.Contains(text, " import "), strings.HasPrefix(text, "use ") && strings.HasSuffix(text, ";"), strings.HasPrefix(text, "require"):
		return importLine_
	}
	return declaration(text)
}

// hashLine tells headings, comments and the C preprocessor apart.
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
		case declarators[word]:
			return declarationLine
		case !modifiers[word]:
			return plainLine
		}
		text = rest
	}
	return plainLine
}
