package rules

import (
	"precis/events"
)

// Version names the rules; it changes when the bytes of an output can change.
const Version = "rules-8"

// Input is one tool output and what is known of its call.
type Input struct {
	MessageID string // for omission marks; may be empty
	ToolName  string // as the event gives it
	Arguments []byte // a JSON object, or a JSON string that holds one; may be empty
	Content   string // any bytes; what is no UTF-8 is replaced
	IsError   *bool
	ExitCode  *int
	// Relevant is the range of lines that the agent was after; they are worth more.
	Relevant *events.LineRange
	// MaxChars is the hard limit of the text, in Unicode code points.
	MaxChars        int
	PreserveErrors  bool // error text first, clipped visibly where it does not fit
	IncludeMetadata bool // fill Output.Tool.Metadata
	// Earlier holds the texts of the messages before this one, newest last, each with the arguments of its
	// calls: what stands there the thread has seen already, and what its newest short ones speak of is what
	// the agent is after. Twenty will do where Seen is given, else two hundred (docs/rules.md has the figures).
	Earlier []string
	// Seen holds the identifiers of all earlier messages; may be nil.
	Seen *Seen
}

// Output is the summary, as text and as structure.
type Output struct {
	Text string // at most Input.MaxChars code points, never longer than the source
	Tool events.ToolSummary
}

// ToolOutput summarizes one tool output.
func ToolOutput(in Input) Output {
	args := parseArguments(in.Arguments)
	category := categoryOf(in.ToolName, args, in.Content)
	doc := newDocument(in.Content, category, args)
	doc.chars = runes(in.Content)
	doc.relevant = in.Relevant
	doc.countAlike()
	f := factsOf(in, category, args, &doc)
	tool := events.ToolSummary{
		ToolName: in.ToolName,
		Category: string(category),
		Status:   f.status,
		KeyFacts: f.key,
		Metadata: f.metadata(in.IncludeMetadata),
	}
	return Output{Text: compose(in, category, &doc, f), Tool: tool}
}

// compose takes the fullest form that fits: facts and all lines; the source as it stands; facts and a choice.
func compose(in Input, category Category, doc *document, f *facts) string {
	limit := min(in.MaxChars, doc.chars)
	if limit <= 0 {
		return ""
	}
	header := f.header(in.ToolName, headerRoom(category, limit))
	if text, ok := doc.complete(in, header, limit); ok {
		return text
	}
	if doc.chars <= in.MaxChars {
		return clip(clean(in.Content), limit)
	}
	if limit < smallest {
		return clip(header, limit)
	}
	return abridge(in, doc, f, header, limit)
}

// complete is the facts with all lines, where they fit; noise that was dropped is marked.
func (d *document) complete(in Input, header string, limit int) (text string, ok bool) {
	mark := ""
	if d.dropped > 0 {
		kept := 0
		for i := range d.lines {
			kept += runes(d.lines[i].text)
		}
		mark = omission(d.dropped, max(1, d.chars-kept), in.MessageID)
	}
	body, ok := d.whole(limit - runes(header) - 1)
	text = joinLines(header, body, mark)
	return text, ok && runes(text) <= limit
}

// headerRoom is how long the line of facts may be, in code points. What names a file or a pattern can be
// short: the call stands before it, and every ten characters cost 0.3 % of the recall.
func headerRoom(c Category, limit int) int {
	share, least := 10, 72
	switch c {
	case FileContent, SearchResults, WriteResult:
		share, least = 6, 48
	}
	return max(1, min(max(limit*share/100, least), limit/4))
}

// smallest is the limit under which nothing but the facts is worth showing.
const smallest = 80
