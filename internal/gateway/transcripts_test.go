package gateway_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"precis/events"
	"precis/internal/gateway"
	"precis/internal/race"
	"precis/summarize"
	"precis/summarize/prompt"
	"precis/summarize/prompt/valid"
	"precis/summarize/tokens"
)

var sessionsAll = flag.Bool("sessions.all", false, "replay all turns of the recorded sessions through the gateway, not the first 40 of 2 sessions an agent")

// recorded are sessions of coding agents, and the API that each agent's requests are in.
var recorded = []struct{ file, api string }{
	{"dev/claude_code_entire.jsonl", "messages"}, {"dev2/agentv_codex.jsonl", "responses"}, {"dev/pi_sessions.jsonl", "messages"}, {"dev2/crush_a.jsonl", "chat"},
}

// recordedSession is a session: what the agent sends before each of the model's answers, and the answers.
type recordedSession struct {
	id       string
	messages []*events.Message
}

// readSessions reads an event file. What an agent's model said in a row is one answer, as a provider gives it.
func readSessions(t *testing.T, path string) (list []*recordedSession) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	byID := map[string]*recordedSession{}
	for line := range bytes.Lines(data) {
		kind, thread, body := events.ThreadMessage, "", map[string]json.RawMessage{}
		if err := json.Unmarshal(line, &body); err != nil {
			t.Fatal(err)
		}
		_ = json.Unmarshal(body["type"], &kind)
		_ = json.Unmarshal(body["thread_id"], &thread)
		delete(body, "type")
		delete(body, "thread_id")
		plain, _ := json.Marshal(body)
		ev, reject := events.Decode(events.Raw{Subject: string(kind) + ".x", Body: plain}, events.Limits{})
		if reject != nil || ev.Message == nil {
			continue // an edit
		}
		s := byID[thread]
		if s == nil {
			s = &recordedSession{id: thread}
			byID[thread] = s
			list = append(list, s)
		}
		m := ev.Message
		if n := len(s.messages); n > 0 && m.Role == events.RoleAssistant && s.messages[n-1].Role == events.RoleAssistant {
			m = joined(s.messages[n-1], m)
			s.messages = s.messages[:n-1]
		}
		s.messages = append(s.messages, m)
	}
	return list
}

func joined(a, b *events.Message) *events.Message {
	text := strings.TrimSpace(a.Content.Text() + "\n" + b.Content.Text())
	return &events.Message{MessageID: a.MessageID, Role: a.Role, Content: events.TextContent(text), ToolCalls: slices.Concat(a.Calls(), b.Calls())}
}

// replay is one agent's sessions through the gateway.
type replay struct {
	t     *testing.T
	world *world
	api   session
	name  string
	count tokens.Counter

	mu       sync.Mutex
	answer   string // the provider's next
	sent     jsontext.Value
	system   jsontext.Value
	refused  int
	outcomes map[string]int
	turns    int
	whole    weights
	shorter  weights
	took     atomic.Int64     // what the turns would have taken, in nanoseconds
	was, is  []jsontext.Value // the messages of the thread's request before, the client's and the provider's
}

// weights are tokens by what a provider does with them.
type weights struct{ sent, cached, written int64 }

// weigh counts the messages that stand as they stood in the request before as cached, the others as written.
func (w *weights) weigh(count tokens.Counter, before, now []jsontext.Value) {
	same := true
	for i, m := range now {
		n := int64(count.Count(string(m)))
		same = same && i < len(before) && string(before[i]) == string(m)
		w.sent += n
		if same {
			w.cached += n
		} else {
			w.written += n
		}
	}
}

func (r *replay) provider(w http.ResponseWriter, q *http.Request) {
	body, _ := io.ReadAll(q.Body)
	var request map[string]jsontext.Value
	err := json.Unmarshal(body, &request)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sent, r.system = request[r.api.list], request["system"]
	if err == nil {
		err = r.valid()
	}
	if err != nil {
		r.refused++
		r.t.Errorf("a provider would refuse it: %v\n%.500s", err, r.sent)
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, r.answer)
}

func (r *replay) valid() error {
	if r.name == "messages" {
		if r.system == nil {
			r.system = jsontext.Value("null")
		}
		return valid.Anthropic(r.system, r.sent)
	}
	return r.api.valid(r.sent)
}

// turnTakes is what a model and its tools take for a turn, by the gateway's clock: a replay as fast as the machine can would be the requests of
// many agents, which do not wait for precis.
const turnTakes = 3 * time.Second

// turn sends what the agent sends before an answer, and has the provider give it.
func (r *replay) turn(id string, before []*events.Message, answer *events.Message) {
	r.t.Helper()
	req := prompt.Request{Context: summarize.Default().Context, Format: map[string]string{"chat": prompt.FormatOpenAI, "responses": prompt.FormatResponses, "messages": prompt.FormatAnthropic}[r.name], Count: r.count.Count}
	for i, m := range before {
		req.Messages = append(req.Messages, prompt.Message{Ordinal: uint64(i + 1), Message: m})
	}
	p, err := prompt.Build(req)
	if err != nil {
		r.t.Fatal(err)
	}
	system := ""
	if len(p.System) > len("[]") {
		system = `"system":` + string(p.System) + ","
	}
	r.answer = answers[r.name](answer)
	r.took.Add(int64(turnTakes))
	said := r.world.said(r.t, r.api.path, `{"model":"m",`+system+`"`+r.api.list+`":`+string(p.Messages)+"}", "X-Session-Id", id)
	outcome, _, _ := strings.Cut(strings.TrimPrefix(said, "no; reason="), ";")
	r.outcomes[outcome]++
	r.turns++
	now, sent := elements(r.t, p.Messages), elements(r.t, r.sent)
	r.whole.weigh(r.count, r.was, now)
	r.shorter.weigh(r.count, r.is, sent)
	r.was, r.is = now, sent
}

func elements(t *testing.T, list jsontext.Value) (out []jsontext.Value) {
	t.Helper()
	if err := json.Unmarshal(list, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// answers are a message of the assistant as the provider's answer.
var answers = map[string]func(m *events.Message) string{
	"chat": func(m *events.Message) string {
		message := map[string]any{"role": "assistant", "content": m.Content.Text()}
		var calls []any
		for _, c := range m.Calls() {
			calls = append(calls, map[string]any{"id": c.ID, "type": "function", "function": map[string]any{"name": c.Name, "arguments": string(c.Arguments)}})
		}
		if calls != nil {
			message["tool_calls"] = calls
		}
		return encodedJSON(map[string]any{"id": "c", "model": "m", "choices": []any{map[string]any{"index": 0, "finish_reason": "stop", "message": message}}})
	},
	"messages": func(m *events.Message) string {
		content := []any{}
		if text := m.Content.Text(); text != "" {
			content = append(content, map[string]any{"type": "text", "text": text})
		}
		for _, c := range m.Calls() {
			content = append(content, map[string]any{"type": "tool_use", "id": c.ID, "name": c.Name, "input": json.RawMessage(c.Arguments)})
		}
		return encodedJSON(map[string]any{"id": "m", "type": "message", "role": "assistant", "model": "m", "content": content})
	},
	"responses": func(m *events.Message) string {
		output := []any{}
		if text := m.Content.Text(); text != "" {
			output = append(output, map[string]any{"type": "message", "role": "assistant", "content": []any{map[string]any{"type": "output_text", "text": text}}})
		}
		for _, c := range m.Calls() {
			output = append(output, map[string]any{"type": "function_call", "call_id": c.ID, "name": c.Name, "arguments": string(c.Arguments)})
		}
		return encodedJSON(map[string]any{"id": "r", "status": "completed", "model": "m", "output": output})
	},
}

func encodedJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// Recorded sessions of coding agents, turn by turn as requests of the agent's API, in mode compact with the default policy: a provider takes every request.
func TestRecordedSessions(t *testing.T) {
	race.Slow(t)
	count, err := tokens.For(tokens.Estimate)
	if err != nil {
		t.Fatal(err)
	}
	for _, agent := range recorded {
		t.Run(filepath.Base(agent.file), func(t *testing.T) {
			path := filepath.Join("..", "..", "..", "shared", "data", agent.file)
			if dir := os.Getenv("PRECIS_TRANSCRIPTS"); dir != "" {
				path = filepath.Join(dir, filepath.Base(path))
			}
			if _, err := os.Stat(path); err != nil {
				t.Skipf("no recorded sessions: %v", err)
			}
			r := &replay{t: t, api: sessions()[agent.api], name: agent.api, count: count, outcomes: map[string]int{}}
			clock := func() time.Time { return time.Now().Add(time.Duration(r.took.Load())) }
			r.world = begin(t, r.provider, gateway.Options{Mode: gateway.ModeCompact, Wait: patience, Now: clock})
			list := readSessions(t, path)
			for n, s := range list {
				if !*sessionsAll && n == 2 {
					break
				}
				r.was, r.is = nil, nil
				turns := 0
				for i, m := range s.messages {
					if m.Role != events.RoleAssistant || i == 0 || m.Content.Text() == "" && len(m.Calls()) == 0 {
						continue
					}
					if turns++; !*sessionsAll && turns > 40 {
						break
					}
					r.turn(s.id, s.messages[:i], m)
				}
			}
			t.Logf("%s: %d turns, %d refused, %v\nbefore: %+v\nafter:  %+v", agent.api, r.turns, r.refused, r.outcomes, r.whole, r.shorter)
			if r.turns == 0 || r.outcomes["yes"] == 0 {
				t.Errorf("%d turns, %v: nothing was compacted", r.turns, r.outcomes)
			}
		})
	}
}
