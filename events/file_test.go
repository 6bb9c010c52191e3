package events_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"precis/events"
)

func TestFileReader(t *testing.T) {
	for _, c := range []struct{ line, typ, thread, data string }{
		{`{"type":"tool.result","thread_id":"t","message_id":"m"}`, "tool.result", "t", `{"thread_id":"t","message_id":"m"}`},
		{`{"thread_id":"t","type":"tool.result","message_id":"m"}`, "tool.result", "t", `{"thread_id":"t","message_id":"m"}`},
		{`{"thread_id":"t","x":1.50 , "type" : "tool.result" }`, "tool.result", "t", `{"thread_id":"t","x":1.50 }`},
		{`{ "type" : "tool.result" , "thread_id":"a\u002eb"}`, "tool.result", "a.b", `{ "thread_id":"a\u002eb"}`},
		{`{"type":"message.edited"}`, "message.edited", "", `{}`},
		{`{"type":"config.applied","thread_id":null,"partition":0}`, "config.applied", "", `{"thread_id":null,"partition":0}`},
		{`{"a":{"type":"x","thread_id":5},"type":"tool.result"}`, "tool.result", "", `{"a":{"type":"x","thread_id":5}}`},
		{`{"typ\u0065":"tool.result","b":12345678901234567890}`, "tool.result", "", `{"b":12345678901234567890}`},
	} {
		ev, err := events.NewFileReader(strings.NewReader("\n" + c.line)).Next()
		if err != nil {
			t.Errorf("%s: %v", c.line, err)
			continue
		}
		if string(ev.Type) != c.typ || ev.Thread != c.thread || string(ev.Data) != c.data || ev.Line != 2 {
			t.Errorf("%s: %+v with %s", c.line, ev, ev.Data)
		}
	}
}

func TestFileReaderGoesOnBehindErrors(t *testing.T) {
	file := "\uFEFF{\"type\":\"tool.result\",\"thread_id\":\"a\"}\r\n" +
		"\n  \nnonsense\n[]\n{}\n{\"type\":\"thread.deleted\"}\n{\"type\":1}\n{\"type\":\"tool.result\",\"thread_id\":2}\n" +
		strings.Repeat("x", events.MaxLineBytes+1) + "\n" +
		`{"type":"tool.result","thread_id":"b"}`
	r := events.NewFileReader(strings.NewReader(file))
	var good, bad []string
	for {
		ev, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			bad = append(bad, strings.SplitN(err.Error(), ":", 2)[0])
			continue
		}
		subject, err := ev.Subject()
		if err != nil {
			t.Fatal(err)
		}
		good = append(good, subject)
	}
	if got := strings.Join(good, " "); got != "tool.result.a tool.result.b" {
		t.Errorf("good: %s", got)
	}
	if got := strings.Join(bad, " "); got != "line 4 line 5 line 6 line 7 line 8 line 9 line 10" {
		t.Errorf("bad: %s", got)
	}
}

func TestFileReaderErrors(t *testing.T) {
	if _, err := (events.FileEvent{Line: 3, Type: events.ToolResult}).Subject(); !errors.Is(err, events.ErrNoThread) {
		t.Errorf("no thread: %v", err)
	}
	long := events.FileEvent{Line: 3, Type: events.ToolResult, Thread: strings.Repeat("a", 300)}
	if _, err := long.Subject(); !errors.Is(err, events.ErrThreadID) {
		t.Errorf("long thread: %v", err)
	}
	broken := errors.New("broken")
	if _, err := events.NewFileReader(io.MultiReader(strings.NewReader("{"), failing{broken})).Next(); !errors.Is(err, broken) {
		t.Errorf("a failing reader: %v", err)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func TestFileReaderLongLine(t *testing.T) {
	content := strings.Repeat("x", 5<<20)
	line := `{"type":"tool.result","thread_id":"t","message_id":"m","content":"` + content + `"}`
	ev, err := events.NewFileReader(strings.NewReader(line + "\n")).Next()
	if err != nil || len(ev.Data) < len(content) {
		t.Errorf("%d bytes, %v", len(ev.Data), err)
	}
}

func TestFileWriter(t *testing.T) {
	for _, c := range []struct{ thread, data, want string }{
		{"t", `{"message_id":"m"}`, `{"type":"tool.result","thread_id":"t","message_id":"m"}`},
		{"t", `{"thread_id":"t","message_id":"m"}`, `{"type":"tool.result","thread_id":"t","message_id":"m"}`},
		{"t", `{"message_id":"m","type":"tool.result"}`, `{"thread_id":"t","message_id":"m","type":"tool.result"}`},
		{"t", `{"thread_id":null,"a":1.0,"type":null}`, `{"type":"tool.result","thread_id":"t","a":1.0}`},
		{"", `{"a":1}`, `{"type":"tool.result","a":1}`},
		{"", `{"thread_id":null,"type":null,"a":1}`, `{"type":"tool.result","thread_id":null,"a":1}`},
		{"é\"", `{}`, `{"type":"tool.result","thread_id":"é\""}`},
		{"t", "{\n  \"a\": 1e2,\r\n  \"b\": \"\\u0041\"\n}\n", `{"type":"tool.result","thread_id":"t","a":1e2,"b":"\u0041"}`},
		{"t", `{"type":"tool.result","thread_id":"t"}`, `{"type":"tool.result","thread_id":"t"}`},
	} {
		var out bytes.Buffer
		if err := events.NewFileWriter(&out).Write(events.ToolResult, c.thread, []byte(c.data)); err != nil {
			t.Errorf("%s: %v", c.data, err)
		}
		if out.String() != c.want+"\n" {
			t.Errorf("%s: %s", c.data, out.String())
		}
	}
	for _, bad := range []string{``, `[]`, `{"a":`, `{} {}`} {
		if err := events.NewFileWriter(io.Discard).Write(events.ToolResult, "t", []byte(bad)); err == nil {
			t.Errorf("%q is written", bad)
		}
	}
}

// An event that is read and written again is unchanged.
func FuzzFileReader(f *testing.F) {
	f.Add([]byte(`{"type":"tool.result","thread_id":"t","message_id":"m","content":"x"}` + "\n\n" + `{"a":1,"type":"message.edited"}`))
	f.Add([]byte("\uFEFF{ \"type\" : \"thread.message\" }\r\n{\"type\":\"tool.result\""))
	f.Fuzz(func(t *testing.T, file []byte) {
		r := events.NewFileReader(bytes.NewReader(file))
		for {
			ev, err := r.Next()
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				continue
			}
			var out bytes.Buffer
			if err := events.NewFileWriter(&out).Write(ev.Type, ev.Thread, ev.Data); err != nil {
				t.Fatalf("%s: %v", ev.Data, err)
			}
			again, err := events.NewFileReader(&out).Next()
			if err != nil || again.Type != ev.Type || again.Thread != ev.Thread {
				t.Fatalf("%s came back as %+v, %v", ev.Data, again, err)
			}
		}
	})
}
