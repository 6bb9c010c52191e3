package gateway_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/nats-io/nats.go"

	"precis/api"
	"precis/internal/config"
	"precis/internal/gateway"
	"precis/summarize"
	"precis/summarize/prompt/valid"
)

// compacting has threads compacted soon.
func compacting(c *config.Config) {
	p := &c.Policies[0]
	p.Compaction.Trigger = summarize.Condition{Messages: 10}
	p.Compaction.Keep = summarize.Keep{Messages: 4}
}

// session is a coding agent that calls a tool with every answer and marks the newest message for the cache.
type session struct {
	path, list, others string
	first              string                       // the user's
	answer             func(n int) string           // the provider's nth
	back               func(n int) []string         // what the client gives back of it
	result             func(n int, t string) string // of its call; marked or not
	marked             func(message string) string
	valid              func(list jsontext.Value) error
}

func sessions() map[string]session {
	mark := func(message string) string { // the client marks the end of its newest message
		if !strings.HasSuffix(message, "}]}") {
			return message
		}
		return strings.TrimSuffix(message, "}]}") + `,"cache_control":{"type":"ephemeral"}}]}`
	}
	return map[string]session{
		"chat": {
			path: chatPath, list: "messages", others: `"model":"m","temperature":0.5,"prompt_cache_options":{"mode":"explicit"},"tools":[{"type":"function","function":{"name":"bash","parameters":{"type":"object"}}}],`,
			first: `{"role":"system","content":"Be brief."},{"role":"user","content":"Fix the test."}`,
			answer: func(n int) string {
				return fmt.Sprintf(`{"id":"c%d","model":"m","choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant","content":null,"tool_calls":[{"id":"call_0a1b2c3d%d","type":"function","function":{"name":"bash","arguments":"{}"}}]}}]}`, n, n)
			},
			back: func(n int) []string {
				return []string{fmt.Sprintf(`{ "role":"assistant","content":"","tool_calls":[{"id":"call_0a1b2c3d%d","type":"function","function":{"name":"bash","arguments":"{}"}}]}`, n)}
			},
			result: func(n int, text string) string {
				return fmt.Sprintf(`{"role":"tool","tool_call_id":"call_0a1b2c3d%d","content":%q}`, n, text)
			},
			marked: func(m string) string { return m }, valid: valid.OpenAI,
		},
		"messages": {
			path: "/v1/messages", list: "messages", others: `"model":"m","max_tokens":100,"speed":"fast","diagnostics":{"previous_message_id":"m0"},"system":[{"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral"}}],"thinking":{"type":"enabled","budget_tokens":1024},"tools":[{"name":"bash","input_schema":{"type":"object"}}],`,
			first: `{"role":"user","content":"Fix the test."}`,
			answer: func(n int) string {
				return fmt.Sprintf(`{"id":"m%d","type":"message","role":"assistant","model":"m","content":[{"type":"thinking","thinking":"Hm.","signature":"c2ln"},{"type":"tool_use","id":"toolu_0a1b2c3d%d","name":"bash","input":{}}],"usage":{"input_tokens":9,"output_tokens":9}}`, n, n)
			},
			back: func(n int) []string {
				return []string{fmt.Sprintf(`{"role":"assistant","content":[{"type":"thinking","thinking":"Hm.","signature":"c2ln"},{"type":"tool_use","id":"toolu_0a1b2c3d%d","name":"bash","input":{}}]}`, n)}
			},
			result: func(n int, text string) string {
				return fmt.Sprintf(`{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_0a1b2c3d%d","content":%q}]}`, n, text)
			},
			marked: mark, valid: func(v jsontext.Value) error { return valid.Anthropic(jsontext.Value("null"), v) },
		},
		"responses": {
			path: "/v1/responses", list: "input", others: `"model":"m","store":false,"client_metadata":{"session_id":"s1"},"include":["reasoning.encrypted_content"],"instructions":"Be brief.","tools":[{"type":"function","name":"bash"}],"previous_response_id":null,`,
			first: `{"role":"user","content":"Fix the test."}`,
			answer: func(n int) string {
				return fmt.Sprintf(`{"id":"r%d","status":"completed","model":"m","output":[{"type":"reasoning","id":"rs_%d","summary":[],"encrypted_content":"gA"},{"type":"function_call","id":"fc_%d","call_id":"call_0a1b2c3d%d","name":"bash","arguments":"{}","status":"completed"}]}`, n, n, n, n)
			},
			back: func(n int) []string {
				return []string{
					fmt.Sprintf(`{"type":"reasoning","id":"rs_%d","summary":[],"encrypted_content":"gA"}`, n),
					fmt.Sprintf(`{"type":"function_call","id":"fc_%d","call_id":"call_0a1b2c3d%d","name":"bash","arguments":"{}","status":"completed"}`, n, n),
				}
			},
			result: func(n int, text string) string {
				return fmt.Sprintf(`{"type":"function_call_output","call_id":"call_0a1b2c3d%d","output":%q}`, n, text)
			},
			marked: func(m string) string { return m }, valid: valid.Responses,
		},
	}
}

// received are the bodies that a provider got.
type received struct {
	mu     sync.Mutex
	bodies []string
}

func (r *received) add(body string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bodies = append(r.bodies, body)
	return len(r.bodies) - 1
}

func (r *received) last() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.bodies[len(r.bodies)-1]
}

// from are the bodies since the nth.
func (r *received) from(n int) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string{}, r.bodies[n:]...)
}

// A session's requests become shorter where summaries stand for what they hold. Everything else is as the client sent it, down to the
// bytes, and the provider would take each of them.
func TestCompact(t *testing.T) {
	const turns = 14
	output := strings.Repeat("ok  \tshop/cart\t0.01s\n", 120) + "--- FAIL: TestTotal (0.00s)\n"
	for name, s := range sessions() {
		t.Run(name, func(t *testing.T) {
			var got received
			w := beginWith(t, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				if r.ContentLength != int64(len(body)) {
					t.Errorf("%d bytes, and a length of %d", len(body), r.ContentLength)
				}
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(w, s.answer(got.add(string(body))))
			}, gateway.Options{Mode: gateway.ModeCompact, Wait: patience}, compacting)
			history := []string{s.first}
			whole, sent, shortened := 0, 0, 0
			for n := range turns {
				list := append([]string{}, history...)
				list[len(list)-1] = s.marked(list[len(list)-1])
				body := "{" + s.others + ` "` + s.list + `" : [` + strings.Join(list, " , ") + "]}"
				said := w.said(t, s.path, body)
				if yes := strings.HasPrefix(said, "yes; "); yes {
					shortened++
					s.check(t, list, body, got.last())
				} else if got.last() != body {
					t.Fatalf("turn %d: %s, and the request is another:\n%s", n, said, got.last())
				} else if want := map[bool]string{true: "no; reason=new_conversation", false: "no; reason=nothing_to_shrink"}[n == 0]; said != want {
					t.Fatalf("turn %d: %s, want %s\n%s", n, said, want, w.log)
				}
				whole, sent = whole+len(body), sent+len(got.last())
				history = append(history, s.back(n)...)
				history = append(history, s.result(n, output))
			}
			if shortened < turns-3 || sent*2 > whole {
				t.Errorf("%d of %d requests shortened, %d of %d bytes sent", shortened, turns, sent, whole)
			}
			var last map[string]json.RawMessage
			var messages []json.RawMessage
			if err := json.Unmarshal([]byte(got.last()), &last); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(last[s.list], &messages); err != nil || len(messages)*3 >= len(history)*2 {
				t.Errorf("%d messages for %d: no compaction (%v)", len(messages), len(history), err)
			}
			if n := w.count(dropped); n != 0 {
				t.Errorf("%v dropped: %s", n, w.log)
			}
			w.counts(0, "precis_gateway_held_bytes")
			// The system prompt, the user's message, the answers.
			w.prompt(w.threads()[0], "messages", 2+turns, turns-1)
		})
	}
}

// said sends a request and returns what the gateway says of it.
func (w *world) said(t *testing.T, path, body string, header ...string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := w.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s %s %v", resp.Status, text, err)
	}
	return resp.Header.Get("Precis-Compacted")
}

// check holds a shortened request against the client's.
func (s session) check(t *testing.T, list []string, body, sent string) {
	t.Helper()
	var before, after map[string]json.RawMessage
	if err := json.Unmarshal([]byte(body), &before); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(sent), &after); err != nil {
		t.Fatal(err)
	}
	if err := s.valid(jsontext.Value(after[s.list])); err != nil {
		t.Errorf("the provider would refuse it: %v\n%.3000s", err, after[s.list])
	}
	var messages []json.RawMessage
	if err := json.Unmarshal(after[s.list], &messages); err != nil {
		t.Fatal(err)
	}
	all, own := strings.Join(list, " , "), 0
	for _, m := range messages {
		if strings.Contains(all, string(m)) {
			own++
		}
	}
	if own < len(messages)/2-1 || string(messages[len(messages)-1]) != list[len(list)-1] {
		t.Errorf("%d of %d messages are the client's own\n%s", own, len(messages), sent)
	}
	delete(before, s.list)
	delete(after, s.list)
	if fmt.Sprint(before) != fmt.Sprint(after) || !strings.HasPrefix(sent, "{"+s.others) {
		t.Errorf("other members changed: %s", sent)
	}
}

// In doubt a request goes as it came, and a header says why.
func TestAsItCame(t *testing.T) {
	long := strings.Repeat("ok  \tshop/cart\t0.01s\n", 120)
	chatSession := `{"role":"user","content":"Hi."},{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"bash","arguments":"{}"}}]},` +
		fmt.Sprintf(`{"role":"tool","tool_call_id":"c1","content":%q}`, long) + `,{"role":"assistant","content":"Done."},{"role":"user","content":"Thanks."}`
	var got received
	w := begin(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got.add(string(body))
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, chat("Fine."))
	}, gateway.Options{Mode: gateway.ModeCompact, Wait: patience, BodyBytes: 1 << 20})
	post := func(path, body string, header ...string) string {
		t.Helper()
		said := w.said(t, path, body, header...)
		if same := got.last() == body; same == strings.HasPrefix(said, "yes") {
			t.Errorf("%s: %s\n%s", said, body, got.last())
		}
		return said
	}
	messages := func(list string) string { return `{"messages":[` + list + `]}` }
	managed := func(management string) string {
		return `{"context_management":` + management + `,"messages":[{"role":"user","content":"Hi."}]}`
	}
	for _, test := range []struct {
		reason, path, body string
		header             []string
	}{
		{"new_conversation", chatPath, ask("Hi."), nil},
		{"nothing_to_shrink", chatPath, ask("Hi.", "Yes.", "Go on."), nil},
		{"mode", chatPath, messages(chatSession), []string{gateway.HeaderMode, "off"}},
		{"mode", chatPath, messages(chatSession), []string{gateway.HeaderMode, "observe"}},
		{"unknown_field; member=later", chatPath, `{"later":1,"messages":[` + chatSession + `]}`, nil},
		{"unknown_field", chatPath, `{"a\nb":1,"messages":[` + chatSession + `]}`, nil},
		{"unknown_field; member=context_management", "/v1/messages", managed(`{}`), nil},
		{"unknown_field; member=context_management", "/v1/messages", managed(`{"edits":7}`), nil},
		{"unknown_field; member=context_management", "/v1/messages", managed(`{"edits":[],"later":1}`), nil},
		{"unknown_field; member=context_management", "/v1/messages", managed(`{"edits":[{"type":"other"}]}`), nil},
		{"unknown_field; member=context_management", "/v1/messages", managed(`{"edits":[{"type":"compact_20260112"}]}`), nil}, // needs Compactions
		{"unknown_field; member=context_management", "/v1/responses", `{"context_management":{"edits":[{"type":"clear_thinking_20251015"}]},"input":[]}`, nil},
		{"new_conversation", "/v1/messages", managed(`{"edits":[{"type":"clear_thinking_20251015","keep":"all"},{"type":"clear_tool_uses_20250919"}]}`), nil},
		{"kept_by_provider", "/v1/responses", `{"previous_response_id":"r1","input":[{"role":"user","content":"Hi."}]}`, nil},
		{"kept_by_provider", "/v1/messages", `{"thread":{"type":"continue","previous_message_id":"m1"},"messages":[{"role":"user","content":"Hi."}]}`, nil},
		{"kept_by_provider", "/v1/responses", `{"conversation":{"id":"c1"},"input":[{"role":"user","content":"Hi."}]}`, nil},
		{"shape", "/v1/responses", `{"input":"Hi."}`, nil},
		{"shape", chatPath, `{"messages":[{"role":"wizard"}]}`, nil},
		{"shape", chatPath, ``, nil},
		{"coding", chatPath, messages(chatSession), []string{"Content-Encoding", "x"}},
		{"thread", chatPath, messages(chatSession), []string{gateway.HeaderThread, "%"}},
		{"too_large", chatPath, messages(chatSession) + strings.Repeat(" ", 1<<20), nil},
	} {
		if said := post(test.path, test.body, test.header...); said != "no; reason="+test.reason {
			t.Errorf("%s %s %v: %s", test.path, test.body, test.header, said)
		}
	}
	if said := post(chatPath, messages(chatSession), gateway.HeaderThread, "t1"); !strings.HasPrefix(said, "yes; summaries=1; ") {
		t.Errorf("%s\n%s", said, w.log)
	}
	// The client changed what the conversation began with.
	if said := post(chatPath, messages(strings.Replace(chatSession, "Hi.", "Hello.", 1)), gateway.HeaderThread, "t1"); said != "no; reason=diverged" {
		t.Error(said)
	}
	if said := post("/v1/models", ""); said != "" {
		t.Errorf("what is only passed on: %s", said)
	}
}

// A processor that hangs costs few requests a wait, and none its success. When it answers again they have their prompts.
func TestCompactBehind(t *testing.T) {
	w := begin(t, say("application/json", chat("Fine.")), gateway.Options{Mode: gateway.ModeCompact, Wait: time.Second})
	w.stopProcessor()
	var asked atomic.Int64
	silent, err := w.broker.Conn().Subscribe("precis.>", func(*nats.Msg) { asked.Add(1) })
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	for range 50 {
		if said := w.said(t, chatPath, ask("Hi.", "Yes.", "Go on.")); said != "no; reason=behind" {
			t.Errorf("%q", said)
		}
	}
	if n := w.count("precis_gateway_compacted_total", "outcome", "behind"); n != 50 {
		t.Errorf("%v", n)
	}
	if took, n := time.Since(begun), asked.Load(); took > 20*time.Second || n == 0 || n > 20 {
		t.Errorf("50 requests took %s, %d of them asked", took, n)
	}
	w.eventually(func() error {
		if !w.server.Hangs() {
			return errors.New("nobody has noticed")
		}
		return nil
	})
	_ = silent.Unsubscribe()
	answering, err := w.broker.Conn().Subscribe("precis.thread.context.>", func(m *nats.Msg) { _ = m.Respond([]byte(`{"messages":[],"summary_ids":[]}`)) })
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answering.Unsubscribe() }()
	w.eventually(func() error {
		if said := w.said(t, chatPath, ask("Hi.", "Yes.", "Go on.")); said != "no; reason=nothing_to_shrink" {
			return errors.New(said)
		}
		return nil
	})
}

// Tools that a client gives among its messages, and what its other agents say to it, are no answers: they do not tell conversations of a
// session apart, and stand beside what the model made.
func TestItemsOfClients(t *testing.T) {
	long := strings.Repeat("ok  \tshop/cart\t0.01s\n", 120)
	var got received
	w := begin(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		n := got.add(string(body))
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"id":"r%d","status":"completed","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Answer %d."}]}]}`, n, n)
	}, gateway.Options{Mode: gateway.ModeCompact, Wait: patience})
	tools := `{"type":"additional_tools","id":"at_1","role":"developer","tools":[{"type":"namespace","name":"functions","tools":[{"type":"custom","name":"exec"}]}]}`
	request := func(items ...string) string {
		list := append([]string{tools, `{"type":"message","role":"developer","content":[{"type":"input_text","text":"Be brief."}]}`}, items...)
		return `{"client_metadata":{"session_id":"s1"},"prompt_cache_key":"s1","input":[` + strings.Join(list, ",") + `]}`
	}
	user := func(text string) string {
		return fmt.Sprintf(`{"type":"message","role":"user","content":[{"type":"input_text","text":%q}]}`, text)
	}
	answer := func(n int) string {
		return fmt.Sprintf(`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Answer %d."}]}`, n)
	}
	call := `{"type":"custom_tool_call","id":"ctc_1","call_id":"call_1","name":"exec","input":"run()"}`
	result := fmt.Sprintf(`{"type":"custom_tool_call_output","call_id":"call_1","output":%q}`, long)
	told := `{"type":"agent_message","author":"check","recipient":"main","content":[{"type":"input_text","text":"It fails."}]}`

	for _, text := range []string{"Which test fails?", "Who wrote it?"} {
		if said := w.said(t, "/v1/responses", request(user(text))); said != "no; reason=new_conversation" {
			t.Error(said)
		}
	}
	w.eventually(func() error {
		if n := len(w.threads()); n != 2 {
			return fmt.Errorf("%d threads", n)
		}
		return nil
	})
	session := []string{user("Which test fails?"), answer(0), user("Look."), call, result, told}
	said := w.said(t, "/v1/responses", request(session...))
	if said != "no; reason=nothing_to_shrink" {
		t.Error(said)
	}
	session = append(session, answer(2), user("And now?"))
	said = w.said(t, "/v1/responses", request(session...))
	if !strings.HasPrefix(said, "yes; summaries=1; ") || !strings.Contains(got.last(), told) || !strings.Contains(got.last(), `"input":[`+tools) {
		t.Errorf("%s\n%s\n%s", said, got.last(), w.log)
	}
	if n := w.count(dropped); n != 0 || len(w.threads()) != 2 {
		t.Errorf("%v dropped, threads %q", n, w.threads())
	}
}

// A side question, which the client asks in the conversation and takes back, does not end compacting: later requests have a prompt without it.
func TestSideQuestion(t *testing.T) {
	long := strings.Repeat("ok  \tshop/cart\t0.01s\n", 120)
	texts := map[string]string{
		"chat": chat("Aside."), "messages": `{"id":"m","type":"message","content":[{"type":"text","text":"Aside."}]}`,
		"responses": `{"id":"r","status":"completed","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Aside."}]}]}`,
	}
	for name, s := range sessions() {
		t.Run(name, func(t *testing.T) {
			var got received
			w := begin(t, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				answer := s.answer(got.add(string(body)))
				if strings.Contains(string(body), "By the way?") {
					answer = texts[name]
				}
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(w, answer)
			}, gateway.Options{Mode: gateway.ModeCompact, Wait: patience})
			request := func(list []string) string {
				return "{" + s.others + `"` + s.list + `":[` + strings.Join(list, ",") + "]}"
			}
			history := []string{s.first}
			for n := range 2 {
				w.said(t, s.path, request(history))
				history = append(append(history, s.back(n)...), s.result(n, long))
			}
			history = append(history, `{"role":"assistant","content":"Done."}`)
			aside := append(append([]string{}, history...), `{"role":"user","content":"By the way?"}`)
			if said := w.said(t, s.path, request(aside)); !strings.HasPrefix(said, "yes; summaries=2; ") || !strings.Contains(got.last(), "By the way?") {
				t.Errorf("%s\n%s", said, w.log)
			}
			history = append(history, `{"role":"user","content":"Go on."}`)
			for n := 3; n < 5; n++ {
				said := w.said(t, s.path, request(history))
				if !strings.HasPrefix(said, "yes; summaries=2; ") || strings.Contains(got.last(), "By the way?") || strings.Contains(got.last(), "Aside.") {
					t.Errorf("%s\n%s\n%s", said, got.last(), w.log)
				}
				s.check(t, history, request(history), got.last())
				history = append(append(history, s.back(n)...), s.result(n, long))
			}
		})
	}
}

// What stands behind a result that a summary stands for is as the client sent it: Anthropic's system messages stay such, and questions keep their marks.
func TestBehindASummarizedResult(t *testing.T) {
	long := strings.Repeat("ok  \tshop/cart\t0.01s\n", 120)
	s := sessions()["messages"]
	const system, question = `{"role":"system","content":"Plan mode is off."}`, `{"role":"user","content":[{"type":"text","text":"Go on.","cache_control":{"type":"ephemeral"}}]}`
	for name, behind := range map[string][]string{"system": {system}, "question": {question}, "both": {system, question}} {
		t.Run(name, func(t *testing.T) {
			var got received
			w := begin(t, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(w, s.answer(got.add(string(body))))
			}, gateway.Options{Mode: gateway.ModeCompact, Wait: patience})
			list := append([]string{s.first}, s.back(7)...)
			list = append(append(list, s.result(7, long)), behind...)
			list = append(append(list, s.back(8)...), s.result(8, "Done."))
			said := w.said(t, s.path, "{"+s.others+`"messages":[`+strings.Join(list, ",")+"]}")
			if !strings.HasPrefix(said, "yes; summaries=1; ") || !strings.Contains(got.last(), "}]},"+strings.Join(list[3:], ",")+"]") || strings.Contains(got.last(), "[system message]") {
				t.Errorf("%s\n%s\n%s", said, got.last(), w.log)
			}
			if strings.Contains(got.last(), long[:1000]) || strings.Count(got.last(), `"tool_result"`) != 2 {
				t.Errorf("the result: %s", got.last())
			}
		})
	}
}

// Results of several calls stay in the order in which the client has them, whichever that is.
func TestResultsInAnotherOrder(t *testing.T) {
	for _, name := range []string{"chat", "responses"} {
		s := sessions()[name]
		t.Run(name, func(t *testing.T) {
			var got received
			w := begin(t, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(w, s.answer(got.add(string(body))))
			}, gateway.Options{Mode: gateway.ModeCompact, Wait: patience})
			var calls []string
			for n := 1; n <= 3; n++ {
				call := fmt.Sprintf(`"name":"bash","arguments":"{\"n\":%d}"`, n)
				if name == "responses" {
					calls = append(calls, fmt.Sprintf(`{"type":"function_call","call_id":"call_0a1b2c3d%d",%s}`, n, call))
				} else {
					calls = append(calls, fmt.Sprintf(`{"id":"call_0a1b2c3d%d","type":"function","function":{%s}}`, n, call))
				}
			}
			list := append([]string{s.first}, calls...)
			if name == "chat" {
				list = []string{s.first, `{"role":"assistant","content":null,"tool_calls":[` + strings.Join(calls, ",") + `]}`}
			}
			order := []int{3, 1, 2}
			for _, n := range order {
				list = append(list, s.result(n, strings.Repeat("ok  \tshop/cart\t0.01s\n", 120)))
			}
			list = append(list, `{"role":"assistant","content":"Done."}`, `{"role":"user","content":"Go on."}`)
			said := w.said(t, s.path, "{"+s.others+`"`+s.list+`":[`+strings.Join(list, ",")+"]}")
			if !strings.HasPrefix(said, "yes; summaries=3; ") {
				t.Fatalf("%s\n%s", said, w.log)
			}
			at := 0
			for _, n := range order {
				i := strings.Index(got.last()[at:], fmt.Sprintf("Args: n=%d", n)) // of the summary
				if i < 0 {
					t.Fatalf("the result of call %d is not in its place: %s", n, got.last())
				}
				at += i
			}
		})
	}
}

// Calls with ids that precis renames in a prompt, since Anthropic refuses them or they are counted in each answer, are compacted as others are: their results
// have the ids of the calls, which stand as the client sent them.
func TestIDsThatPromptsRename(t *testing.T) {
	const turns = 8
	s := sessions()["messages"]
	for name, id := range map[string]func(n, call int) string{
		"a counter":            func(n, call int) string { return fmt.Sprintf("functions.bash:%d", 2*n+call) },
		"a counter per answer": func(_, call int) string { return fmt.Sprintf("functions.bash:%d", call) },
		"its own":              func(n, call int) string { return fmt.Sprintf("functions.bash:0a1b2c3d%d%d", n, call) },
		"some are plain": func(n, call int) string {
			return []string{"", "functions.bash:"}[call] + fmt.Sprintf("toolu_0a1b2c3d%d", n)
		},
	} {
		t.Run(name, func(t *testing.T) {
			use := func(n int) (blocks string) {
				for call := range 2 {
					blocks += fmt.Sprintf(`,{"type":"tool_use","id":%q,"name":"bash","input":{"n":"%d-%d"}}`, id(n, call), n, call)
				}
				return `[{"type":"text","text":"I look."}` + blocks + "]"
			}
			var got received
			w := beginWith(t, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				w.Header().Set("Content-Type", "application/json")
				_, _ = fmt.Fprintf(w, `{"id":"m","type":"message","role":"assistant","model":"m","content":%s}`, use(got.add(string(body))))
			}, gateway.Options{Mode: gateway.ModeCompact, Wait: patience}, compacting)
			history := []string{s.first}
			for n := range turns {
				body := "{" + s.others + `"messages":[` + strings.Join(history, ",") + "]}"
				if said := w.said(t, s.path, body); n > 1 && !strings.HasPrefix(said, "yes; ") {
					t.Fatalf("turn %d: %s\n%s", n, said, w.log)
				}
				pairs(t, got.last())
				var results []string
				for call := range 2 {
					result := fmt.Sprintf(`{"type":"tool_result","tool_use_id":%q,"content":%q}`, id(n, call), strings.Repeat("ok  \tshop/cart\t0.01s\n", 120))
					results = append([]string{result}, results...) // in another order than the calls
				}
				history = append(history, `{"role":"assistant","content":`+use(n)+"}", `{"role":"user","content":[`+strings.Join(results, ",")+"]}")
			}
		})
	}
}

// pairs holds the results of a request, in Anthropic's format, against the calls before them, which say in their arguments what a summary says of them.
func pairs(t *testing.T, request string) {
	t.Helper()
	var body struct {
		Messages []struct {
			Content jsontext.Value `json:"content"`
		} `json:"messages"`
	}
	if err := json.Unmarshal([]byte(request), &body); err != nil {
		t.Fatal(err)
	}
	calls := map[string]string{}
	for _, m := range body.Messages {
		if m.Content.Kind() != '[' {
			continue
		}
		var blocks []struct {
			Type, ID string
			ToolID   string            `json:"tool_use_id"`
			Input    map[string]string `json:"input"`
			Content  string            `json:"content"`
		}
		if err := json.Unmarshal(m.Content, &blocks); err != nil {
			t.Fatalf("%v: %s", err, m.Content)
		}
		for _, b := range blocks {
			switch b.Type {
			case "tool_use":
				calls[b.ID] = b.Input["n"]
			case "tool_result":
				of, ok := calls[b.ToolID]
				if delete(calls, b.ToolID); !ok || strings.Contains(b.Content, "Args: ") && !strings.Contains(b.Content, "Args: n="+of+" ") {
					t.Fatalf("the call %q (%s) has the result %q\n%s", b.ToolID, of, b.Content, request)
				}
			}
		}
	}
	if len(calls) > 0 {
		t.Fatalf("calls without results: %v\n%s", calls, request)
	}
}

// A processor of an older version refuses to leave out of a prompt what the client has, and is asked for all of it: twice for the first prompt, once for
// later ones. The provider gets the same.
func TestOlderProcessor(t *testing.T) {
	const turns = 12
	output := strings.Repeat("ok  \tshop/cart\t0.01s\n", 120)
	s, got, asked := sessions()["chat"], &received{}, &received{}
	var w *world
	var whole []byte // the last request's prompt, with all of its messages
	thread := []string{gateway.HeaderThread, "t1"}
	w = beginWith(t, func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		n := got.add(string(body))
		if n == turns-1 {
			p, err := w.api.Context(r.Context(), "t1", api.ContextRequest{Format: "openai", Explain: true})
			if err == nil {
				whole, err = json.Marshal(p)
			}
			if err != nil {
				t.Error(err)
			}
		}
		rw.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(rw, s.answer(n))
	}, gateway.Options{Mode: gateway.ModeCompact, Wait: patience}, compacting)
	history, body := []string{s.first}, ""
	for n := range turns {
		body = `{"model":"m","messages":[` + strings.Join(history, ",") + "]}"
		w.said(t, chatPath, body, thread...)
		history = append(append(history, s.back(n)...), s.result(n, output))
	}
	want := got.last()
	if err := w.stop(); err != nil {
		t.Fatal(err)
	}
	w.stopProcessor()
	older, err := w.broker.Conn().Subscribe("precis.thread.context.*", func(m *nats.Msg) {
		asked.add(string(m.Data))
		reply := &nats.Msg{Data: whole}
		if strings.Contains(string(m.Data), "only_summaries") {
			reply = &nats.Msg{Header: nats.Header{"Nats-Service-Error-Code": {"400"}, "Nats-Service-Error": {`unknown member "only_summaries"`}}}
		}
		if err := m.RespondMsg(reply); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = older.Unsubscribe() }()
	w.startGateway(gateway.Options{Mode: gateway.ModeCompact, Wait: patience, Conn: w.broker.Conn()})
	for range 3 {
		if said := w.said(t, chatPath, body, thread...); !strings.HasPrefix(said, "yes; summaries=") || got.last() != want {
			t.Errorf("%s: sent\n%s\nwant\n%s", said, got.last(), want)
		}
	}
	if list := asked.from(0); len(list) != 4 || strings.Count(strings.Join(list, "\n"), "only_summaries") != 1 {
		t.Errorf("asked %q", list)
	}
}
