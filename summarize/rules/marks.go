package rules

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// clipMark marks the end of a clipped line.
const clipMark = "…"

// omission says what is missing, and names the message of the original:
// `[… 212 lines, 9,410 chars omitted; message m17]`. precis.message.get and `processor message` return it.
func omission(lines, chars int, messageID string) string {
	var b strings.Builder
	b.WriteString("[… ")
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
		return "[… " + what + "]"
	}
	return "[… " + what + "; message " + named(messageID) + "]"
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

// clip shortens s to at most n code points, of which the last is then the clip mark.
func clip(s string, n int) string {
	if n <= 0 {
		return ""
	}
	if runes(s) <= n {
		return s
	}
	return strings.TrimRight(prefix(s, n-1), " \t,;") + clipMark
}

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

// prefix returns the first n code points of s, without those of a character that continues after them.
func prefix(s string, n int) string {
	first := head(s, n)
	return s[:between(s, len(first))]
}

// head returns the first n code points of s.
func head(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// mostMarks bounds a character in bytes: family emoji are shorter, and a text of combining marks alone must be cut somewhere.
const mostMarks = 40

// between returns i, which begins a code point, or the start of the user-perceived character that contains it: a letter
// with its marks, an emoji with its colour or joined ones.
func between(s string, i int) int {
	for at := i; i-at < mostMarks; {
		if parted(s, at) {
			return at
		}
		_, n := utf8.DecodeLastRuneInString(s[:at])
		at -= n
	}
	return i
}

// behind returns i, or the end of the user-perceived character that contains it.
func behind(s string, i int) int {
	for at := i; at-i < mostMarks; {
		if parted(s, at) {
			return at
		}
		_, n := utf8.DecodeRuneInString(s[at:])
		at += n
	}
	return i
}

// parted reports whether no character continues across byte i of s.
func parted(s string, i int) bool {
	if i == 0 || i == len(s) {
		return true
	}
	r, _ := utf8.DecodeRuneInString(s[i:])
	before, _ := utf8.DecodeLastRuneInString(s[:i])
	return !continues(r) && before != joiner
}

const (
	joiner    = '\u200d'
	nonJoiner = '\u200c'
)

// continues reports whether a code point attaches to the previous one (per UAX #29: marks, joiners, skin tones, tags),
// except for the second letter of a country's flag.
func continues(r rune) bool {
	return r == joiner || r == nonJoiner || unicode.Is(unicode.M, r) || 0x1f3fb <= r && r <= 0x1f3ff || 0xe0020 <= r && r <= 0xe007f
}

func runes(s string) int { return utf8.RuneCountInString(s) }

// oneLine makes text fit on a line of a summary: control characters and runs of spaces become a space.
func oneLine(s string) string {
	return strings.Join(strings.FieldsFunc(strings.ToValidUTF8(s, "\uFFFD"), func(r rune) bool { return r <= ' ' || r == 0x7f }), " ")
}
