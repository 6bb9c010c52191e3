package events_test

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"precis/events"
)

// decodeCase is one block of testdata/decode.txt.
type decodeCase struct {
	name, want string
	raw        events.Raw
}

func readDecodeCases(t testing.TB) []decodeCase {
	t.Helper()
	script, err := os.ReadFile("testdata/decode.txt")
	if err != nil {
		t.Fatal(err)
	}
	_, script2, _ := strings.Cut(string(script), "\n\n")
	var cases []decodeCase
	for _, block := range strings.Split(strings.TrimSpace(script2), "\n\n") {
		cases = append(cases, parseDecodeCase(t, block))
	}
	return cases
}

func parseDecodeCase(t testing.TB, block string) decodeCase {
	c := decodeCase{raw: events.Raw{Header: map[string][]string{}}}
	for _, line := range strings.Split(block, "\n") {
		key, rest, _ := strings.Cut(line, " ")
		switch key {
		case "#":
			c.name = rest
		case "subject":
			c.raw.Subject = rest
		case "header":
			name, value, _ := strings.Cut(rest, " ")
			c.raw.Header[name] = append(c.raw.Header[name], value)
		case "body":
			c.raw.Body = []byte(rest)
		case `body"`:
			body, err := strconv.Unquote(`"` + rest + `"`)
			if err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			c.raw.Body = []byte(body)
		case "want":
			c.want = rest
		default:
			t.Fatalf("unknown line %q", line)
		}
	}
	return c
}

// outcome formats a result as the script does.
func outcome(ev events.Event, rej *events.RejectError) string {
	orDash := func(s string) string {
		if s == "" {
			return "-"
		}
		return strings.ReplaceAll(s, " ", "=20")
	}
	if rej != nil {
		return rej.Code + " " + orDash(rej.Field)
	}
	return strings.Join([]string{"ok", string(ev.Type), orDash(ev.Thread), orDash(ev.CloudEventID)}, " ")
}

func TestDecodeScript(t *testing.T) {
	for _, c := range readDecodeCases(t) {
		t.Run(c.name, func(t *testing.T) {
			ev, rej := events.Decode(c.raw, events.Limits{EventBytes: 4096})
			if got := outcome(ev, rej); got != c.want {
				t.Errorf("got %q, want %q (%v)", got, c.want, rej)
			}
			set := 0
			for _, is := range []bool{ev.Message != nil, ev.Edit != nil, ev.Fork != nil} {
				if is {
					set++
				}
			}
			if rej == nil && set != 1 {
				t.Errorf("message %v, edit %v and fork %v", ev.Message, ev.Edit, ev.Fork)
			}
		})
	}
}

func TestDecodeReadsEveryField(t *testing.T) {
	for _, c := range readDecodeCases(t) {
		if !strings.HasPrefix(c.name, "everything") {
			continue
		}
		ev, rej := events.Decode(c.raw, events.Limits{})
		if rej != nil {
			t.Fatal(rej)
		}
		m := ev.Message
		if m.MessageID != "m1" || m.AgentID != "a" || m.Policy != "p" || m.CreatedAt.IsZero() || m.Metadata == nil {
			t.Errorf("common fields: %+v", m)
		}
		if ev.Type == events.ToolResult {
			if m.Role != events.RoleTool || m.ToolCallID != "c" || m.ToolName != "n" || string(m.Arguments) != `{"a":1}` ||
				!*m.IsError || *m.ExitCode != 3221225477 || *m.RelevantRange != (events.LineRange{Start: 1, End: 1}) {
				t.Errorf("result fields: %+v", m)
			}
			continue
		}
		if m.Role != events.RoleAssistant || !m.Pinned || *m.Usage != (events.TokenUsage{InputTokens: 1, OutputTokens: 2}) {
			t.Errorf("message fields: %+v", m)
		}
		if len(m.ToolCalls) != 4 || string(m.ToolCalls[1].Arguments) != `"{}"` || m.ToolCalls[3].Arguments != nil {
			t.Errorf("tool calls: %+v", m.ToolCalls)
		}
	}
}

func TestDecodeSize(t *testing.T) {
	body := []byte(`{"message_id":"m","content":""}`)
	raw := events.Raw{Subject: "tool.result.t", Body: body}
	for limit, want := range map[int]string{0: "ok", len(body): "ok", len(body) - 1: "too_large"} {
		ev, rej := events.Decode(raw, events.Limits{EventBytes: limit})
		if got := outcome(ev, rej); !strings.HasPrefix(got, want) {
			t.Errorf("limit %d: %s", limit, got)
		}
	}
	raw.Body = append(body, "broken"...)
	if _, rej := events.Decode(raw, events.Limits{EventBytes: 1}); rej.Code != events.CodeTooLarge {
		t.Errorf("size comes before JSON: %v", rej)
	}
}

func TestDecodeMessageIDBytes(t *testing.T) {
	for n, ok := range map[int]bool{128: true, 129: false} { // two bytes each
		body := `{"message_id":"` + strings.Repeat("é", n) + `","content":""}`
		_, rej := events.Decode(events.Raw{Subject: "tool.result.t", Body: []byte(body)}, events.Limits{})
		if (rej == nil) != ok {
			t.Errorf("%d characters: %v", n, rej)
		}
	}
}

func TestDecodeDeepNesting(t *testing.T) {
	for _, shape := range [][2]string{{"[", "]"}, {`{"a":`, "}"}} {
		for depth, want := range map[int]string{5_000: "ok", 100_000: "invalid_json"} {
			value := strings.Repeat(shape[0], depth) + "1" + strings.Repeat(shape[1], depth)
			body := `{"message_id":"m","content":"","zzz":` + value + `}`
			ev, rej := events.Decode(events.Raw{Subject: "tool.result.t", Body: []byte(body)}, events.Limits{})
			if got := outcome(ev, rej); !strings.HasPrefix(got, want) {
				t.Errorf("%d times %s: %s", depth, shape[0], got)
			}
			if rej != nil && len(rej.Message) > 200 {
				t.Errorf("message of %d bytes", len(rej.Message))
			}
		}
	}
}

// A decoded event must not change when its input buffer is reused.
func TestDecodeSharesNoMemory(t *testing.T) {
	body := []byte(`{"message_id":"m","role":"user","content":[{"type":"text","text":"abc"}],"tool_calls":[{"id":"i","name":"n","arguments":{"k":"v"}}],"metadata":{"k":"v"}}`)
	ev, rej := events.Decode(events.Raw{Subject: "thread.message.t", Body: body}, events.Limits{})
	if rej != nil {
		t.Fatal(rej)
	}
	before := ev.Message.ContentDigest(ev.Type)
	metadata := string(ev.Message.Metadata)
	for i := range body {
		body[i] = 'X'
	}
	if ev.Message.ContentDigest(ev.Type) != before || string(ev.Message.Metadata) != metadata {
		t.Error("the event changed with the buffer")
	}
}

// Go's maps have no order, and a replay must report the same fault.
func TestDecodeTellsTheSameFault(t *testing.T) {
	header := map[string][]string{}
	for _, name := range []string{"ce-e", "ce-d", "ce-b", "ce-c", "ce-a"} {
		header[name] = []string{"1", "2"}
	}
	raw := events.Raw{Subject: "tool.result.t", Header: header, Body: []byte(`{"message_id":"m","content":""}`)}
	for range 50 {
		if _, rej := events.Decode(raw, events.Limits{}); rej == nil || rej.Field != "ce-a" {
			t.Fatalf("told %v", rej)
		}
	}
}
