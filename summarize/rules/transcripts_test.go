package rules

import (
	"bufio"
	"cmp"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"precis/events"

	"precis/summarize/envelope"
)

// record is one line of an event file, as far as the measurement needs it.
type record struct {
	Type      string            `json:"type"`
	ThreadID  string            `json:"thread_id"`
	MessageID string            `json:"message_id"`
	Role      string            `json:"role"`
	Content   jsontext.Value    `json:"content"`
	ToolCalls []events.ToolCall `json:"tool_calls"`
	ToolName  string            `json:"tool_name"`
	CallID    string            `json:"tool_call_id"`
	Arguments jsontext.Value    `json:"arguments"`
	IsError   *bool             `json:"is_error"`
	ExitCode  *int              `json:"exit_code"`
	Relevant  *events.LineRange `json:"relevant_range"`
}

// transcript is one thread, in the order of its file.
type transcript struct {
	id, file, set string
	events        []record
	texts         []string // each event's text by recall.py's definition
	contents      []string // the content, where it is a string
}

// transcripts reads the real ones, or skips the test if they are absent.
func transcripts(tb testing.TB) []transcript {
	tb.Helper()
	sets := cmp.Or(os.Getenv("PRECIS_RULES_SET"), "dev") // dev2: other agents, languages and kinds of work; "dev dev2": both
	var all []transcript
	for _, set := range strings.Fields(sets) {
		files, err := filepath.Glob(filepath.Join(filepath.Dir(dataDir(tb)), set, "*.jsonl"))
		if err != nil || len(files) == 0 {
			tb.Skip("no transcripts in ../shared/data/" + set)
		}
		for _, file := range files {
			all = append(all, readTranscripts(tb, file)...)
		}
	}
	return all
}

func dataDir(tb testing.TB) string {
	dir, err := os.Getwd()
	if err != nil {
		tb.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return filepath.Join(dir, "..", "shared", "data", "dev")
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			tb.Skip("no go.mod above the test")
		}
		dir = parent
	}
}

func readTranscripts(tb testing.TB, file string) []transcript {
	f, err := os.Open(file)
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	var list []transcript
	index := map[string]int{}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var r record
		if err := json.Unmarshal(lines.Bytes(), &r, envelope.Lenient); err != nil {
			tb.Fatal(err)
		}
		i, ok := index[r.ThreadID]
		if !ok {
			i = len(list)
			index[r.ThreadID] = i
			list = append(list, transcript{id: r.ThreadID, file: filepath.Base(file), set: filepath.Base(filepath.Dir(file))})
		}
		t := &list[i]
		r.named(t.events)
		t.events = append(t.events, r)
		t.texts = append(t.texts, r.text())
		var content string
		_ = json.Unmarshal(r.Content, &content, envelope.Lenient)
		t.contents = append(t.contents, content)
	}
	if err := lines.Err(); err != nil {
		tb.Fatal(err)
	}
	return list
}

// named fills in the name and arguments of a result's call, as the processor does.
func (r *record) named(before []record) {
	if r.Type != "tool.result" || r.ToolName != "" || r.CallID == "" {
		return
	}
	for i := len(before) - 1; i >= max(0, len(before)-100); i-- {
		for _, call := range before[i].ToolCalls {
			if call.ID == r.CallID {
				r.ToolName, r.Arguments = call.Name, call.Arguments
				return
			}
		}
	}
}

// text is every string of the content and of the calls' arguments.
func (r record) text() string {
	var parts []string
	parts = appendStrings(parts, r.Content)
	for _, call := range r.ToolCalls {
		raw := call.Arguments
		var inner string
		if json.Unmarshal(raw, &inner, envelope.Lenient) == nil {
			if v := jsontext.Value(inner); v.IsValid(envelope.Lenient) {
				raw = v
			}
		}
		parts = appendStrings(parts, raw)
	}
	return strings.Join(parts, "\n")
}

func appendStrings(parts []string, raw jsontext.Value) []string {
	if len(raw) == 0 {
		return parts
	}
	var v any
	if json.Unmarshal(raw, &v, envelope.Lenient) != nil {
		return parts
	}
	return appendStringsOf(parts, v)
}

func appendStringsOf(parts []string, v any) []string {
	switch v := v.(type) {
	case string:
		return append(parts, v)
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			parts = appendStringsOf(parts, v[name])
		}
	case []any:
		for _, e := range v {
			parts = appendStringsOf(parts, e)
		}
	case nil:
	default:
		raw, _ := json.Marshal(v)
		return append(parts, string(raw))
	}
	return parts
}
