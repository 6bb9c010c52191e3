package llm

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"precis/events"
	"precis/summarize/lex"
)

// Turn is one message of a thread that is to be summarized.
type Turn struct {
	MessageID string
	Role      string
	Text      string   // of a tool's result, or what its summary says
	Calls     []string // the tools that it calls: `read_file {"path":"a.go"}`
	Tool      string   // whose result it is
}

// Transcript writes a thread's messages as text, so that a model without tools can read calls and results
// too. Every message has a heading of its own; the messages' lines are set in, so that none of them can
// pose as one.
func Transcript(turns []Turn) string {
	var b strings.Builder
	for _, t := range turns {
		b.WriteString("[" + oneWord(t.Role))
		if t.Tool != "" {
			b.WriteString(" " + oneWord(t.Tool))
		}
		b.WriteString(" " + oneWord(t.MessageID) + "]\n")
		setIn(&b, t.Text)
		for _, call := range t.Calls {
			setIn(&b, "calls "+call)
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func setIn(b *strings.Builder, text string) {
	if text == "" {
		return
	}
	for _, line := range strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' }) {
		b.WriteString("  " + line + "\n")
	}
}

// oneWord keeps a name from being more than that; ids may hold anything.
func oneWord(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r <= ' ' || r == ']' }), "_")
}

// fileContent is the category whose material is laid out in sections.
const fileContent = "file_content"

// file is a file's content, of which some lines are what the agent looked for.
type file struct {
	lines    []string
	from, to int    // the relevant lines, as a slice of lines
	quote    string // the relevant lines as hashlines, where they go into the summary as they are
}

// quoteShare is the most of a summary that the relevant lines take as they are: a half. Where they are
// more, the model chooses among them.
const quoteShare = 2

func newFile(content string, relevant *events.LineRange, l limits) *file {
	f := &file{lines: strings.Split(content, "\n")}
	f.from, f.to = relevantLines(len(f.lines), relevant)
	quote := f.hashlines()
	room := l.room()
	if lex.Runes(quote) <= room.chars/quoteShare && (l.tokens <= 0 || l.count(quote) <= room.tokens/quoteShare) {
		f.quote = quote
	}
	return f
}

// relevantLines is the range as a slice of lines: the event's, where it meets the file, else the file's
// middle third.
func relevantLines(n int, r *events.LineRange) (from, to int) {
	if r != nil && r.Start >= 1 && r.Start <= r.End && r.Start <= n {
		return r.Start - 1, min(r.End, n)
	}
	return n / 3, max(n-n/3, n/3+1)
}

func (f *file) hashlines() string {
	var out []string
	for i, line := range f.lines[f.from:f.to] {
		out = append(out, hashline(f.from+1+i, line))
	}
	return strings.Join(out, "\n")
}

// sectioned lays the file out for the model: the lines before the relevant ones, those as hashlines, the
// lines after them. The headings bear the mark, so that no line of the file can pose as one.
func (f *file) sectioned(mark string) string {
	task := "quote the lines that matter"
	if f.quote != "" {
		task = "stands in the result already, do not repeat it"
	}
	var parts []string
	parts = f.section(parts, mark, "before (summarize)", 0, f.from, strings.Join(f.lines[:f.from], "\n"))
	parts = f.section(parts, mark, "relevant ("+task+")", f.from, f.to, f.hashlines())
	parts = f.section(parts, mark, "after (summarize)", f.to, len(f.lines), strings.Join(f.lines[f.to:], "\n"))
	return strings.Join(parts, "\n")
}

func (f *file) section(parts []string, mark, name string, from, to int, text string) []string {
	if from == to {
		return parts
	}
	return append(parts, fmt.Sprintf("=== %s %s, lines %d-%d", mark, name, from+1, to), text)
}

// left is what the relevant lines leave of the limits.
func (f *file) left(l limits) limits {
	if f.quote == "" {
		return l
	}
	n := lex.Runes(f.quote) + 1
	if l.chars > 0 {
		l.chars -= n
	}
	if l.tokens > 0 {
		l.tokens -= l.count(f.quote) + 1
	}
	l.source -= n
	return l
}

// quotes puts right what a model quotes, and takes out what will stand below it anyway.
func (f *file) quotes(text string) string {
	var out []string
	for _, line := range strings.Split(restored(text, f.lines), "\n") {
		if _, _, _, isQuote := parseHashline(line); !isQuote || !strings.Contains(f.quote, line) {
			out = append(out, line)
		}
	}
	return strings.Join(out, "\n")
}

// with puts the relevant lines under the model's text.
func (f *file) with(text string) string {
	if f.quote == "" {
		return text
	}
	return text + "\n" + f.quote
}

// fence encloses the material of one request. Its mark is derived from the material, so that the same work
// makes the same request, and the material's author can't have known it. The mark does not occur in the
// material in any case of letters, so nothing inside can close the fence or open another.
type fence struct{ mark string }

// markBytes makes a mark that can't be aimed at: finding a text that holds its own takes 2^64 tries.
const markBytes = 8

func fenceFor(material string) fence {
	folded := strings.ToLower(material)
	for try := 0; ; try++ {
		sum := sha256.Sum256([]byte(strconv.Itoa(try) + "\n" + material))
		mark := hex.EncodeToString(sum[:markBytes])
		if !strings.Contains(folded, mark) {
			return fence{mark: mark}
		}
	}
}

func (f fence) begin() string { return "BEGIN DATA " + f.mark }
func (f fence) end() string   { return "END DATA " + f.mark }

// around puts the material between its two lines.
func (f fence) around(material string) string {
	return f.begin() + "\n" + material + "\n" + f.end()
}

// split cuts a text into parts of at most limit characters, after a line where there is one, else in a
// line. The parts joined are the text; none is empty unless the text is.
func split(text string, limit int) []string {
	if limit <= 0 {
		return []string{text}
	}
	var parts []string
	for lex.Runes(text) > limit {
		part := lex.Head(text, limit)
		if at := strings.LastIndexByte(part, '\n'); at >= 0 {
			part = part[:at+1]
		}
		parts = append(parts, part)
		text = text[len(part):]
	}
	if text != "" || len(parts) == 0 {
		parts = append(parts, text)
	}
	return parts
}
