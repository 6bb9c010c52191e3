package rules

import (
	"cmp"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"

	"precis/events"
	"precis/summarize/lex"
)

// Original is what a mark says of where the whole text is. `message m17` is what precis.message.get, `processor message` and a model's tool ask
// for; a reader's name, such as that of the tool, replaces the word. Of a long id it has the end, `message …f880f5a3`, by which precis.message.get
// finds the message. Without an id it is empty, and marks say nothing of it.
func Original(reader, messageID string) string {
	if messageID == "" {
		return ""
	}
	id := named(messageID)
	if n := lex.Runes(id); n > longestID && id == messageID {
		id = clipLeft(id, events.IDEnding+lex.Runes(lex.ClipMark))
	}
	return cmp.Or(reader, "message") + " " + id
}

// longestID is the length up to which a mark has an id whole, in code points.
const longestID = 12

func (in *Input) original() string { return Original(in.Reader, in.MessageID) }

// omission says what is missing, and where the original is: `[… 212 lines, 9,410 chars omitted; message m17]`.
func omission(lines, chars int, original string) string {
	var b strings.Builder
	b.WriteString(lex.OmissionMark)
	if lines > 0 {
		b.WriteString(lex.Counted(lines, "line"))
		b.WriteString(", ")
	}
	b.WriteString(lex.Counted(chars, "char"))
	b.WriteString(" omitted")
	if original != "" {
		b.WriteString("; ")
		b.WriteString(original)
	}
	b.WriteString("]")
	return b.String()
}

// elision is the same in short, for a summary: `[… 212 lines; message m17]`. Its lines say what the rest is about. Lines of a text
// that the original holds in JSON are not lines of the original.
func (in *Input) elision(lines, chars int) string {
	what := lex.Counted(lines, "line")
	switch original := in.original(); {
	case lines > 0:
	case chars > 0 || original == "":
		what = lex.Counted(chars, "char")
	default: // all is shown, in another form
		if in.held {
			original = "all in JSON; " + original
		}
		return lex.OmissionMark + original + "]"
	}
	if in.held {
		what += " in JSON"
	}
	if original := in.original(); original != "" {
		what += "; " + original
	}
	return lex.OmissionMark + what + "]"
}

// left is elision of what a choice of a document's lines leaves out. Where most of that is within lines, of which parts are shown, their number would say
// next to nothing.
func (in *Input) left(doc *document, lines, chars int) string {
	const long = 300 // of lines that are longer than that, parts are shown
	if mean := doc.chars / max(doc.total, 1); mean > long && (chars > 2*lines*mean || chars == doc.chars) {
		lines = 0
	}
	return in.elision(lines, chars)
}

// named formats a message's id for requests: quoted as in JSON unless it can stand in a line unchanged.
func named(id string) string {
	if lex.OneLine(id) == id {
		return id
	}
	quoted, err := jsontext.AppendQuote(nil, id)
	if err != nil { // not UTF-8, which no event has
		return lex.OneLine(id)
	}
	return string(quoted)
}

// clipLeft keeps the end: the end of a path is more informative than its beginning.
func clipLeft(s string, n int) string {
	if lex.Runes(s) <= n {
		return s
	}
	if n <= 1 {
		return lex.Clip(s, n)
	}
	skip := lex.Runes(s) - n + 1
	for i := range s {
		if skip == 0 {
			return lex.ClipMark + s[i:]
		}
		skip--
	}
	return lex.ClipMark
}

// HeadTail keeps the beginning and the end of content, with a mark between them that says what is missing:
// the last resort, which needs no understanding. The mark says where the original is (Original). The category sets the beginning's share. It cuts at
// line ends if that costs less than half of a side; no result has more than maxChars code points.
func HeadTail(content string, category Category, maxChars int, original string) string {
	text := strings.ToValidUTF8(content, "\uFFFD")
	total := lex.Runes(text)
	if total <= maxChars {
		return text
	}
	if maxChars <= 0 {
		return ""
	}
	// The length of the mark depends on its content: reserve its maximum.
	room := maxChars - lex.Runes(omission(strings.Count(text, "\n")+1, total, original)) - 2
	if room < 2 {
		return lex.Clip(text, maxChars)
	}
	ahead := int(float64(room) * category.HeadRatio())
	first := wholeLines(lex.Prefix(text, ahead))
	last := wholeTail(suffix(text, room-ahead))
	middle := text[len(first) : len(text)-len(last)]
	mark := omission(strings.Count(strings.Trim(middle, "\n"), "\n")+1, lex.Runes(middle), original)
	return lex.JoinLines(strings.TrimRight(first, "\n"), mark, strings.TrimLeft(last, "\n"))
}

// wholeLines drops an incomplete last line, unless that would drop more than half.
func wholeLines(s string) string {
	if i := strings.LastIndexByte(s, '\n'); i+1 > len(s)/2 {
		return s[:i+1]
	}
	return s
}

func wholeTail(s string) string {
	if i := strings.IndexByte(s, '\n'); i >= 0 && i < len(s)/2 {
		return s[i+1:]
	}
	return s
}

// suffix returns the last n code points of s, without those of a character that begins earlier.
func suffix(s string, n int) string {
	skip := lex.Runes(s) - n
	if skip <= 0 {
		return s
	}
	return s[lex.Behind(s, len(lex.Head(s, skip))):]
}

// hidden returns how many lines of a source have a word or a number that its sketch has not, of a text in few lines how many characters such words
// have: a table has each value, and not its line. Of records without a row, it counts all.
func (d *document) hidden(sketch string) (lines, chars int) {
	shown := map[string]bool{}
	for word := range strings.FieldsFuncSeq(sketch, parts) {
		shown[word] = true
	}
	for line := range strings.Lines(d.source) {
		missing := 0
		for word := range strings.FieldsFuncSeq(line, parts) {
			if !shown[word] && strings.ContainsFunc(word, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
				missing += lex.Runes(word)
			}
		}
		if chars += missing; missing > 0 {
			lines++
		}
	}
	// Words that other rows have too are missing with the records that have no row.
	lines, chars = max(lines, d.total*d.unrecorded/max(1, d.chars)), max(chars, d.unrecorded)
	if d.total <= fewLines {
		lines = 0
	}
	return lines, chars
}

// wholeIn reports whether a sketch has all of a source's values.
func (d *document) wholeIn(sketch string) bool {
	lines, chars := d.hidden(sketch)
	return lines == 0 && chars == 0
}

// parts reports whether a character stands between the words of a record or a path.
func parts(r rune) bool { return r < 0x80 && separates[byte(r)] }

var separates = lex.SetOf(" \t\r\n\"'{}[](),:;=|/")
