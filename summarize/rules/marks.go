package rules

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"precis/summarize/lex"
)

const clipMark = lex.ClipMark

// omission says what is missing, and names the message of the original:
// `[… 212 lines, 9,410 chars omitted; message m17]`. precis.message.get and `processor message` return it.
func omission(lines, chars int, messageID string) string {
	var b strings.Builder
	b.WriteString(lex.OmissionMark)
	if lines > 0 {
		b.WriteString(counted(lines, "line"))
		b.WriteString(", ")
	}
	b.WriteString(counted(chars, "char"))
	b.WriteString(" omitted")
	if messageID != "" {
		b.WriteString("; message ")
		b.WriteString(named(messageID))
	}
	b.WriteString("]")
	return b.String()
}

// elision is the same in short, for a summary: `[… 212 lines; message m17]`. Its lines say what the rest is about.
func elision(lines, chars int, messageID string) string {
	what := counted(lines, "line")
	if lines <= 0 {
		what = counted(chars, "char")
	}
	if messageID == "" {
		return lex.OmissionMark + what + "]"
	}
	return lex.OmissionMark + what + "; message " + named(messageID) + "]"
}

// named formats a message's id for requests: quoted as in JSON unless it can stand in a line unchanged.
func named(id string) string {
	if oneLine(id) == id {
		return id
	}
	quoted, err := jsontext.AppendQuote(nil, id)
	if err != nil { // not UTF-8, which no event has
		return oneLine(id)
	}
	return string(quoted)
}

// counted formats "1 line", "9,410 chars".
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return thousands(n) + " " + noun + "s"
}

func thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func clip(s string, n int) string { return lex.Clip(s, n) }

// clipLeft keeps the end: the end of a path is more informative than its beginning.
func clipLeft(s string, n int) string {
	if runes(s) <= n {
		return s
	}
	if n <= 1 {
		return clip(s, n)
	}
	skip := runes(s) - n + 1
	for i := range s {
		if skip == 0 {
			return clipMark + s[i:]
		}
		skip--
	}
	return clipMark
}

func prefix(s string, n int) string { return lex.Prefix(s, n) }

func head(s string, n int) string { return lex.Head(s, n) }

func between(s string, i int) int { return lex.Between(s, i) }

func behind(s string, i int) int { return lex.Behind(s, i) }

func runes(s string) int { return lex.Runes(s) }

// oneLine makes text fit on a line of a summary: control characters and runs of spaces become a space.
func oneLine(s string) string {
	return strings.Join(strings.FieldsFunc(strings.ToValidUTF8(s, "\uFFFD"), func(r rune) bool { return r <= ' ' || r == 0x7f }), " ")
}
