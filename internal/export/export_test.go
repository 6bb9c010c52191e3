package export

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"precis/events"
	"precis/internal/race"
	"precis/internal/sessions"
	"precis/summarize/prompt"
)

// read is a file of one of the formats as threads.
func read(t testing.TB, text []byte, format, name string) (threads []Thread) {
	t.Helper()
	f, err := sessions.Open(bytes.NewReader(text), format, sessions.Options{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	at := map[string]int{}
	for {
		e, err := f.Next()
		if errors.Is(err, io.EOF) {
			return threads
		}
		if err != nil {
			t.Fatal(err)
		}
		subject, err := e.Subject()
		if err != nil {
			t.Fatal(err)
		}
		event, reject := events.Decode(events.Raw{Subject: subject, Body: e.Data}, events.Limits{})
		if reject != nil {
			t.Fatal(reject)
		}
		i, known := at[e.Thread]
		if !known {
			i, at[e.Thread] = len(threads), len(threads)
			threads = append(threads, Thread{ID: e.Thread, CWD: "/src"})
		}
		th := &threads[i]
		switch {
		case event.Message != nil:
			th.Messages = append(th.Messages, prompt.Message{Ordinal: uint64(len(th.Messages) + 1), Message: event.Message})
		case event.Edit != nil && event.Edit.Rewind:
			last := slices.IndexFunc(th.Messages, func(m prompt.Message) bool { return m.MessageID == event.Edit.MessageID })
			th.Messages = th.Messages[:last+1]
		default:
			t.Fatalf("%s: an event that this test does not fold", e.Data)
		}
	}
}

// shown is what an agent would be sent of a thread, without what a session of Claude Code has no place for, and the members beside the
// contents.
func shown(t testing.TB, th Thread) string {
	t.Helper()
	messages := th.Messages
	for len(messages) > 0 && (messages[0].Role == events.RoleSystem || messages[0].Role == events.RoleDeveloper) {
		messages = messages[1:]
	}
	p, err := prompt.Build(prompt.Request{Messages: messages, Format: prompt.FormatAnthropic, Count: func(string) int { return 0 }})
	if err != nil {
		t.Fatal(err)
	}
	var list []struct {
		Role    string         `json:"role"`
		Content jsontext.Value `json:"content"`
	}
	if err := json.Unmarshal(p.Messages, &list); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, m := range list {
		if m.Content.Kind() == '"' { // which is the same to the API
			m.Content = fmt.Appendf(nil, `[{"type":"text","text":%s}]`, m.Content)
		}
		if err := m.Content.Canonicalize(); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s %s\n", m.Role, m.Content)
	}
	for _, m := range messages {
		beside := *m.Message
		beside.Content, beside.ToolCalls, beside.Native = events.Content{}, nil, nil
		beside.Role, beside.ToolCallID, beside.ToolName, beside.Arguments, beside.IsError = "", "", "", nil, nil // which the blocks say
		text, err := json.Marshal(beside, json.Deterministic(true))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s\n", text)
	}
	return b.String()
}

// written is a thread in a format.
func written(t testing.TB, th Thread, format string) ([]byte, Report) {
	t.Helper()
	var out bytes.Buffer
	r, err := Write(&out, format, th)
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), r
}

// roundTrip writes a thread as a session and reads it again.
func roundTrip(t *testing.T, th Thread) {
	t.Helper()
	text, report := written(t, th, FormatClaudeCode)
	if len(th.Messages) == 0 {
		return
	}
	again := read(t, text, FormatClaudeCode, report.Session+".jsonl")
	if strings.Contains(th.ID, "/") { // the file of a sub-agent has another name
		again = read(t, text, FormatClaudeCode, "agent-x.jsonl")
	}
	if shown(t, th) == "" && len(again) == 0 {
		return
	}
	if len(again) != 1 || again[0].ID != th.ID {
		t.Fatalf("thread %s was read again as %d threads", th.ID, len(again))
	}
	if got, want := shown(t, again[0]), shown(t, th); got != want {
		for i, line := range strings.Split(want, "\n") {
			if other := strings.Split(got+strings.Repeat("\n", 1+i), "\n")[i]; other != line {
				t.Fatalf("thread %s, line %d:\n%.1500s\ninstead of\n%.1500s", th.ID, i, other, line)
			}
		}
		t.Fatalf("thread %s has more lines", th.ID)
	}
	if twice, _ := written(t, again[0], FormatClaudeCode); len(report.Left) == 0 && !bytes.Equal(twice, text) {
		t.Errorf("thread %s: written again, the session is\n%s\ninstead of\n%s", th.ID, twice, text)
	}
}

// A session that was written is the same thread when it is read again: sessions of every format that is read.
func TestSamplesAsSessionsOfClaudeCode(t *testing.T) {
	names, err := filepath.Glob("../sessions/testdata/*.json*")
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, ".golden") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, th := range read(t, text, sessions.FormatAuto, name) {
			roundTrip(t, th)
		}
	}
}

// Real transcripts, too.
func TestTranscriptsAsSessionsOfClaudeCode(t *testing.T) {
	race.Slow(t)
	dir := os.Getenv("PRECIS_TRANSCRIPTS")
	if dir == "" {
		dir = "../../../shared/data"
	}
	names, _ := filepath.Glob(filepath.Join(dir, "dev*", "*.jsonl"))
	if len(names) == 0 {
		t.Skip("no transcripts in " + dir)
	}
	threads := 0
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, th := range read(t, text, sessions.FormatEvents, name) {
			threads++
			roundTrip(t, th)
		}
	}
	t.Logf("%d threads", threads)
}
