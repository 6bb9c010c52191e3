package rules

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// clipMark stands where a line was cut short.
const clipMark = "…"

// omission says what is missing, and by the message id where the original stands:
// `[… 212 lines, 9,410 chars omitted; message m17]`. precis.message.get and `processor message` answer for it.
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

// named is a message's id as it can be asked for: quoted as in JSON where it would not stand in a line as it is.
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

// counted writes "1 line", "9,410 chars".
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

// clip shortens s to at most n code points, the last of which is then the clip mark.
func clip(s string, n int) string {
	if n <= 0 {
		return ""
	}
	if runes(s) <= n {
		return s
	}
	return strings.TrimRight(prefix(s, n-1), " \t,;") + clipMark
}

// clipLeft keeps the end: a path's end says more than its beginning.
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

// prefix is the first n code points of s.
func prefix(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for i := range s {
		if n == 0 {
			return s[:between(s, i)]
		}
		n--
	}
	return s
}

// between is byte i of s, which begins a code point, or what is before it where a reader sees one character: a letter
// with its marks, a picture with its colour or with what is joined to it.
func between(s string, i int) int {
	const most = 40 // bytes; families and flags of regions are shorter, and a text of nothing but marks is cut somewhere
	for at := i; i-at < most; {
		if at == 0 {
			return 0
		}
		r, _ := utf8.DecodeRuneInString(s[at:])
		before, n := utf8.DecodeLastRuneInString(s[:at])
		if !continues(r) && before != joiner {
			return at
		}
		at -= n
	}
	return i
}

const joiner = '\u200d'

// continues tells a code point that is drawn on the one before it (UAX #29: extenders, spacing marks, skin tones).
func continues(r rune) bool {
	return r == joiner || unicode.Is(unicode.M, r) || 0x1f3fb <= r && r <= 0x1f3ff
}

func runes(s string) int { return utf8.RuneCountInString(s) }

// oneLine makes text fit to stand in a line of ours: control characters and runs of spaces become a space.
func oneLine(s string) string {
	return strings.Join(strings.FieldsFunc(strings.ToValidUTF8(s, "\uFFFD"), func(r rune) bool { return r <= ' ' || r == 0x7f }), " ")
}
