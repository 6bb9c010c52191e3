package sessions

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"precis/events"
)

// FormatAuto finds out the format of a file.
const FormatAuto = "auto"

// FormatEvents is an event file, which needs no mapping.
const FormatEvents = "events"

// format is one that can be read.
type format struct {
	name string
	make func(*output) reader
	// recognize reports whether a line of a file, or a whole document, is one of this format beyond doubt. A list is the member "" of an object.
	recognize func(object) bool
	// documents says that a file may be one JSON document over several lines.
	documents bool
	// loose says that what recognizes a conversation may recognize those of agents that keep them in a provider's shape.
	loose bool
	// watched says that the agent appends to its files.
	watched bool
}

// formats are all of them, in the order in which they are tried.
var formats = []format{
	{name: "claude-code", make: newClaudeCode, recognize: isClaudeCode, watched: true},
	{name: "codex", make: newCodex, recognize: isCodex, watched: true},
	{name: "copilot", make: newCopilot, recognize: isCopilot},
	{name: "gemini-cli", make: newGeminiCLI, recognize: isGeminiCLI, documents: true},
	{name: "crush", make: newCrush, recognize: isCrush, documents: true},
	{name: "openhands", make: newOpenHands, recognize: isOpenHands},
	{name: "swe-agent", make: newSWEAgent, recognize: isSWEAgent, documents: true},
	{name: "langchain", make: newLangChain, recognize: isLangChain, documents: true},
	{name: "anthropic", make: newMessages, recognize: isAnthropic, documents: true, loose: true},
	{name: "openai", make: newMessages, recognize: isOpenAI, documents: true, loose: true},
}

// Formats lists the formats of sessions, without auto and event files.
func Formats() []string {
	var names []string
	for _, f := range formats {
		names = append(names, f.name)
	}
	return names
}

func formatOf(name string) *format {
	i := slices.IndexFunc(formats, func(f format) bool { return f.name == name })
	if i < 0 {
		return nil
	}
	return &formats[i]
}

// recognized is the format of a line or a document.
func recognized(value jsontext.Value) *format {
	o := asObject(value)
	for i := range formats {
		if o != nil && formats[i].recognize(o) {
			return &formats[i]
		}
	}
	return nil
}

// asObject is an object's members, or a list as the member "".
func asObject(value jsontext.Value) object {
	if value.Kind() == jsontext.KindBeginArray {
		return object{"": value}
	}
	return objectOf(value)
}

// Lines maps a file of JSON lines while it is read.
type Lines struct {
	out    *output
	reader reader
}

// NewLines begins a file of one of Formats.
func NewLines(name string, opts Options) (*Lines, error) {
	f := formatOf(name)
	if f == nil {
		return nil, ErrFormat
	}
	out := &output{opts: opts, format: f.name, unmapped: map[string]*Unmapped{}, begun: map[string]bool{}}
	return &Lines{out: out, reader: f.make(out)}, nil
}

// Push maps the next line, without its line break, and returns the events that are complete by now. An error says what is
// wrong with the line; the next one can be pushed.
func (l *Lines) Push(line []byte) ([]events.FileEvent, error) {
	l.out.at++
	value, repaired, err := readJSON(line)
	if err != nil {
		return nil, errInvalid
	}
	o := asObject(value)
	if o == nil {
		return nil, errObject
	}
	if repaired {
		l.out.skip("invalid UTF-8 or a repeated member, mended")
	}
	l.reader.line(o)
	return l.take(), nil
}

// Skip counts a line that is not mapped: an empty one, or one that is too long.
func (l *Lines) Skip() { l.out.at++ }

// Flush returns the events that wait for further lines. Lines that belong to them and come later become events of their own.
func (l *Lines) Flush() []events.FileEvent {
	l.reader.flush()
	return l.take()
}

func (l *Lines) take() []events.FileEvent {
	list := l.out.events
	l.out.events = nil
	return list
}

// Line is the number of lines so far.
func (l *Lines) Line() int { return l.out.at }

// Unmapped lists what no event stands for, by kind.
func (l *Lines) Unmapped() []Unmapped { return l.out.list() }

// isClaudeCode recognizes a record of Claude Code.
func isClaudeCode(o object) bool {
	switch o.text("type") {
	case "user", "assistant", "system", "progress", "attachment", "queue-operation":
		return o.has("sessionId") && (o.has("uuid") || o.has("operation"))
	case "file-history-snapshot":
		return o.has("messageId")
	case "summary":
		return o.has("leafUuid")
	}
	return false
}

// isCodex recognizes a line of a rollout.
func isCodex(o object) bool {
	switch o.text("type") {
	case "session_meta", "response_item", "event_msg", "turn_context", "compacted":
		return o.has("payload")
	case "":
		return o.has("record_type") || o.has("id") && o.has("timestamp") && o.has("instructions") && !o.has("input")
	}
	return false
}
