package rules

// How an identifier occurs in its text; a word has the union over its mentions.
const (
	isCalled   uint32 = 1 << iota // an opening bracket follows
	isAssigned                    // := or = follows
	isQuoted                      // in quotes or backticks
	inComment                     // in a comment
	inImport                      // in an import
	inHeading                     // in a heading
	isEscaped                     // its first letter belongs to an escape
	isName                        // the last name of a path, with its extension, in a listing
	isStem                        // the same without its extension
)

// contextOf returns how text[start:end] occurs in its line.
func contextOf(text string, start, end int, kind lineKind) uint32 {
	var f uint32
	switch kind {
	case commentLine:
		f |= inComment
	case importLine_:
		f |= inImport
	case headingLine:
		f |= inHeading
	}
	if start > 0 {
		switch text[start-1] {
		case '\\':
			f |= isEscaped
		case '"', '\'', '`':
			f |= isQuoted
		}
	}
	return f | following(text[end:])
}

func following(rest string) uint32 {
	switch {
	case rest == "":
	case rest[0] == '(':
		return isCalled
	case rest[0] == '=', rest[0] == ':' && len(rest) > 1 && rest[1] == '=':
		return isAssigned
	case rest[0] == ' ' && len(rest) > 2 && (rest[1] == '=' && rest[2] != '=' || rest[1] == ':' && rest[2] == '='):
		return isAssigned
	}
	return 0
}
