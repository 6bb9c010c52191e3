package outline

import (
	"strings"
)

// Kind is the role of a line in its text, inferred from its beginning; it applies across languages.
type Kind uint8

const (
	plainLine Kind = iota
	DeclarationLine
	CommentLine
	ImportLine_
	HeadingLine
	changedLine // of a diff
)

func KindOf(text string, diff bool) Kind {
	if text == "" {
		return plainLine
	}
	if diff && (text[0] == '+' || text[0] == '-') {
		return changedLine
	}
	switch text[0] {
	case '/', '*', '"', '-':
		if strings.HasPrefix(text, "//") || strings.HasPrefix(text, "/*") || strings.HasPrefix(text, "* ") || strings.HasPrefix(text, `"""`) || strings.HasPrefix(text, "--") {
			return CommentLine
		}
	case '#':
		return hashLine(text)
	case 'i', 'f', 'u', 'r':
		if strings.HasPrefix(text, "import ") || strings.HasPrefix(text, "from ") && strings.Contains(text, " import ") || strings.HasPrefix(text, "use ") && strings.HasSuffix(text, ";") || strings.HasPrefix(text, "require") {
			return ImportLine_
		}
	}
	return declaration(text)
}

// hashLine distinguishes headings, comments and the C preprocessor.
func hashLine(text string) Kind {
	switch {
	case strings.HasPrefix(text, "#include"):
		return ImportLine_
	case strings.HasPrefix(text, "#define "):
		return DeclarationLine
	case strings.HasPrefix(text, "##"):
		return HeadingLine
	}
	return CommentLine
}

func declaration(text string) Kind {
	for range 5 {
		word, rest, ok := strings.Cut(text, " ")
		switch {
		case !ok || word == "":
			return plainLine
		case declares(word):
			return DeclarationLine
		case !modifies(word):
			return plainLine
		}
		text = rest
	}
	return plainLine
}
