package llm

import "strings"

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
