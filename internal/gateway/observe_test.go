package gateway_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"precis/api"
	"precis/internal/gateway"
)

// scripted answers the nth request with the nth body: an event stream where it begins with "event:" or "data:".
func scripted(answers ...string) http.HandlerFunc {
	var n atomic.Int32
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		i := int(n.Add(1)) - 1
		media := "application/json"
		if strings.HasPrefix(answers[i], "event:") || strings.HasPrefix(answers[i], "data:") {
			media = "text/event-stream; charset=utf-8"
		}
		w.Header().Set("Content-Type", media)
		_, _ = io.WriteString(w, answers[i])
	}
}

func sse(events ...string) string {
	var b strings.Builder
	for _, e := range events {
		var typed struct {
			Type string `json:"type"`
		}
		if json.Unmarshal([]byte(e), &typed) == nil && typed.Type != "" {
			fmt.Fprintf(&b, "event: %s\n", typed.Type)
		}
		fmt.Fprintf(&b, "data: %s\n\n", e)
	}
	return b.String()
}

// turn is one request, its answer, and what the thread has then.
type turn struct {
	request, answer   string
	messages, results uint64
}

// Each API's conversation with a call and its result: what is new in each request is published once, and so is each answer with its usage.
func TestConversations(t *testing.T) {
	chatTools := `"tools":[{"type":"function","function":{"name":"ls","parameters":{"type":"object"}}}]`
	for _, test := range []struct {
		name, path, format string
		turns              []turn
		prompt             string
		reported           string // input and output tokens of the answers
	}{
		{"chat", "/v1/chat/completions", "openai", []turn{
			{
				`{"model":"m","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":[{"type":"text","text":"List."}]}],` + chatTools + `}`,
				`{"id":"c1","model":"m-1","choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant","content":null,"refusal":null,"tool_calls":[{"id":"t1","type":"function","function":{"name":"ls","arguments":"{}"}}]}}],"usage":{"prompt_tokens":20,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":8}}}`,
				3, 0,
			},
			{
				`{"model":"m","messages":[{"role":"system","content":"Be brief, at 12:01."},{"role":"user","content":"List."},{"role":"assistant","content":"","tool_calls":[{"id":"t1","type":"function","function":{"name":"ls","arguments":"{}"}}]},{"role":"tool","tool_call_id":"t1","content":"a.go"}],` + chatTools + `}`,
				`{"id":"c2","model":"m-1","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"One: a.go."}}],"usage":{"prompt_tokens":30,"completion_tokens":6}}`,
				4, 1,
			},
		}, `[{"content":"Be brief.","role":"system"},{"content":"List.","role":"user"},{"content":null,"refusal":null,"role":"assistant","tool_calls":[{"function":{"arguments":"{}","name":"ls"},"id":"t1","type":"function"}]},{"content":"a.go","role":"tool","tool_call_id":"t1"},{"content":"One: a.go.","role":"assistant"}]`, "50 11"},
		{"chat, streaming", "/v1/chat/completions", "openai", []turn{
			{
				`{"stream":true,"messages":[{"role":"user","content":"List."}]}`,
				sse(
					`{"id":"c1","model":"m-1","choices":[{"index":0,"delta":{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"t1","type":"function","function":{"name":"ls","arguments":""}}]}}]}`,
					`{"id":"c1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\":"}}]}}]}`,
					`{"id":"c1","choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"t2","type":"function","function":{"name":"pwd","arguments":"{}"}}]}}]}`,
					`{"id":"c1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"1}"}}]}}]}`,
					`{"id":"c1","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`,
					`{"id":"c1","choices":[],"usage":{"prompt_tokens":20,"completion_tokens":5}}`, `[DONE]`),
				2, 0,
			},
			{
				`{"stream":true,"messages":[{"role":"user","content":"List."},{"role":"assistant","tool_calls":[{"id":"t1","type":"function","function":{"name":"ls","arguments":"{\"a\":1}"}},{"id":"t2","type":"function","function":{"name":"pwd","arguments":"{}"}}]},{"role":"tool","tool_call_id":"t1","content":"a.go"},{"role":"tool","tool_call_id":"t2","content":"/"}]}`,
				sse(`{"id":"c2","model":"m-1","choices":[{"index":0,"delta":{"role":"assistant","content":"One: "}}]}`, `{"id":"c2","choices":[{"index":0,"delta":{"content":"a.go."}}]}`, `{"id":"c2","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`, `[DONE]`),
				3, 2,
			},
		}, `[{"content":"List.","role":"user"},{"content":null,"role":"assistant","tool_calls":[{"function":{"arguments":"{\"a\":1}","name":"ls"},"id":"t1","type":"function"},{"function":{"arguments":"{}","name":"pwd"},"id":"t2","type":"function"}]},{"content":"a.go","role":"tool","tool_call_id":"t1"},{"content":"/","role":"tool","tool_call_id":"t2"},{"content":"One: a.go.","role":"assistant"}]`, "20 5"},
		{"messages, streaming", "/v1/messages", "anthropic", []turn{
			{
				`{"stream":true,"max_tokens":9,"system":[{"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral"}}],"messages":[{"role":"user","content":[{"type":"text","text":"List.","cache_control":{"type":"ephemeral"}}]}]}`,
				sse(
					`{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-1","content":[],"stop_reason":null,"usage":{"input_tokens":4,"cache_read_input_tokens":10,"cache_creation_input_tokens":6,"output_tokens":1}}}`,
					`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`,
					`{"type":"ping"}`,
					`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Which "}}`,
					`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"files?"}}`,
					`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2ln"}}`,
					`{"type":"content_block_stop","index":0}`,
					`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t1","name":"ls","input":{}}}`,
					`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":""}}`,
					`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"path\": "}}`,
					`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"\".\"}"}}`,
					`{"type":"content_block_stop","index":1}`,
					`{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":12}}`,
					`{"type":"message_stop"}`),
				3, 0,
			},
			{
				`{"max_tokens":9,"system":"Be brief.","messages":[{"role":"user","content":"List."},{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"ls","input":{"path":"."}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":"a.go"}],"cache_control":{"type":"ephemeral"}}]}]}`,
				`{"id":"msg_2","type":"message","role":"assistant","model":"claude-1","content":[{"type":"text","text":"One: a.go.","citations":null}],"stop_reason":"end_turn","usage":{"input_tokens":30,"output_tokens":6}}`,
				4, 1,
			},
			{
				`{"max_tokens":9,"system":"Be brief.","messages":[{"role":"user","content":"List."},{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"ls","input":{"path":"."}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"a.go"}]},{"role":"assistant","content":"One: a.go."},{"role":"user","content":"Thanks."}]}`,
				`{"id":"msg_3","type":"message","role":"assistant","model":"claude-1","content":[{"type":"text","text":"Sure."}],"usage":{"input_tokens":30,"output_tokens":6}}`,
				6, 1,
			},
		}, `[{"content":"List.","role":"user"},{"content":[{"signature":"c2ln","thinking":"Which files?","type":"thinking"},{"id":"t1","input":{"path":"."},"name":"ls","type":"tool_use"}],"role":"assistant"},{"content":[{"content":"a.go","tool_use_id":"t1","type":"tool_result"}],"role":"user"},{"content":"One: a.go.","role":"assistant"},{"content":"Thanks.","role":"user"},{"content":"Sure.","role":"assistant"}]`, "80 24"},
		{"responses, streaming", "/v1/responses", "responses", []turn{
			{
				`{"stream":true,"store":false,"instructions":"Be brief.","input":"List."}`,
				sse(
					`{"type":"response.created","response":{"id":"resp_1","status":"in_progress","output":[]}}`,
					`{"type":"response.output_text.delta","delta":"x"}`,
					`{"type":"response.completed","response":{"id":"resp_1","status":"completed","model":"m-1","output":[{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gA"},{"type":"function_call","id":"fc_1","call_id":"t1","name":"ls","arguments":"{}","status":"completed"}],"usage":{"input_tokens":20,"output_tokens":5,"input_tokens_details":{"cached_tokens":8}}}}`),
				3, 0,
			},
			{
				`{"store":false,"instructions":"Be brief.","input":[{"role":"user","content":"List."},{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gA"},{"type":"function_call","call_id":"t1","name":"ls","arguments":"{}"},{"type":"function_call_output","call_id":"t1","output":"a.go"}]}`,
				`{"id":"resp_2","status":"completed","model":"m-1","output":[{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"One: a.go.","annotations":[]}]}],"usage":{"input_tokens":30,"output_tokens":6}}`,
				4, 1,
			},
			{ // what the provider keeps
				`{"previous_response_id":"resp_2","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"List."}]}]}`,
				`{"id":"resp_3","status":"completed","model":"m-1","output":[{"type":"message","id":"msg_2","role":"assistant","status":"completed","content":[{"type":"output_text","text":"One: a.go.","annotations":[]}]}],"usage":{"input_tokens":30,"output_tokens":6}}`,
				6, 1,
			},
		}, "", "80 17"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var answers []string
			for _, turn := range test.turns {
				answers = append(answers, turn.answer)
			}
			w := begin(t, scripted(answers...), gateway.Options{})
			var thread string
			for i, turn := range test.turns {
				if got := w.post(test.path, turn.request); got != turn.answer {
					t.Fatalf("got %s", got)
				}
				want := turn.messages + turn.results
				w.counts(float64(want), published)
				if i == 0 {
					thread = w.threads()[0]
				}
				w.prompt(thread, test.format, turn.messages, turn.results)
			}
			if list := w.threads(); len(list) != 1 {
				t.Errorf("threads %v", list)
			}
			last := test.turns[len(test.turns)-1]
			p := w.prompt(thread, test.format, last.messages, last.results)
			if got := canonical(p.Messages); test.prompt != "" && got != test.prompt {
				t.Errorf("prompt %s\nwant   %s", got, test.prompt)
			}
			if got := w.usage(); got != test.reported {
				t.Errorf("usage %s, want %s", got, test.reported)
			}
			if n := w.count(dropped); n != 0 {
				t.Errorf("%v dropped: %s", n, w.log)
			}
		})
	}
}

func canonical(v jsontext.Value) string {
	v = v.Clone()
	_ = v.Canonicalize()
	return string(v)
}

// usage is the sum of what events say that calls took.
func (w *world) usage() string {
	in, out := 0, 0
	for _, e := range w.events() {
		var m struct {
			Usage struct {
				In     int `json:"input_tokens"`
				Out    int `json:"output_tokens"`
				Prompt int `json:"prompt_tokens"`
				Compl  int `json:"completion_tokens"`
				Read   int `json:"cache_read_input_tokens"`
				Made   int `json:"cache_creation_input_tokens"`
			} `json:"usage"`
		}
		if err := json.Unmarshal([]byte(e.body), &m); err != nil {
			w.t.Fatal(err)
		}
		in += m.Usage.In + m.Usage.Prompt + m.Usage.Read + m.Usage.Made
		out += m.Usage.Out + m.Usage.Compl
	}
	return fmt.Sprint(in, " ", out)
}

func chat(text string) string {
	return fmt.Sprintf(`{"id":"c","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":%q}}]}`, text)
}

func ask(texts ...string) string {
	var list []string
	for i, text := range texts {
		list = append(list, fmt.Sprintf(`{"role":%q,"content":%q}`, []string{"user", "assistant"}[i%2], text))
	}
	return `{"messages":[` + strings.Join(list, ",") + `]}`
}

const chatPath = "/v1/chat/completions"

// A request that is sent again, also by a gateway that remembers nothing, publishes nothing that counts.
func TestRepeatedRequest(t *testing.T) {
	w := begin(t, say("application/json", chat("Fine.")), gateway.Options{})
	request := ask("Hi.", "Hello.", "How are you?")
	w.post(chatPath, request)
	w.counts(4, published)
	w.post(chatPath, request)
	if err := w.stop(); err != nil {
		t.Fatal(err)
	}
	w.startAnother()
	w.post(chatPath, request)
	w.counts(8, published)
	thread := w.threads()[0]
	w.prompt(thread, "openai", 4, 0)
	w.eventually(func() error {
		r, err := w.api.Thread(within(t), thread, api.ThreadRequest{MinEventSeq: 8})
		if err == nil && r.Duplicates != 4 {
			err = fmt.Errorf("%d duplicates", r.Duplicates)
		}
		return err
	})
}

// Messages that say the same are as many as there are, and stay so in later requests.
func TestEqualMessages(t *testing.T) {
	w := begin(t, say("application/json", chat("b")), gateway.Options{})
	w.post(chatPath, ask("a", "b", "a", "b", "a"))
	w.counts(6, published)
	w.post(chatPath, ask("a", "b", "a", "b", "a", "b", "a"))
	w.counts(8, published)
	w.prompt(w.threads()[0], "openai", 8, 0)
}

// A client that does not give back what the model thought gives back the same message.
func TestReasoningLeftOut(t *testing.T) {
	w := begin(t, say("application/json", `{"id":"m","type":"message","content":[{"type":"thinking","thinking":"Hm.","signature":"c2ln"},{"type":"text","text":"Yes."}]}`), gateway.Options{})
	w.post("/v1/messages", ask("Hi."))
	w.counts(2, published)
	w.post("/v1/messages", ask("Hi.", "Yes.", "Sure?"))
	w.counts(4, published)
	if p := w.prompt(w.threads()[0], "anthropic", 4, 0); strings.Count(string(p.Messages), `"signature"`) != 2 {
		t.Errorf("%s", p.Messages)
	}
}

// The same words to two providers are two conversations.
func TestTwoAPIs(t *testing.T) {
	w := begin(t, func(w http.ResponseWriter, r *http.Request) {
		answer := chat("b")
		if r.URL.Path == "/v1/messages" {
			answer = `{"id":"m","type":"message","content":[{"type":"text","text":"b"}]}`
		}
		say("application/json", answer)(w, r)
	}, gateway.Options{})
	w.post(chatPath, ask("a"))
	w.post("/v1/messages", ask("a"))
	w.counts(4, published)
	if list := w.threads(); len(list) != 2 {
		t.Errorf("threads %v", list)
	}
}

// Two agents that begin alike are two threads from their first answer on.
func TestOneBeginning(t *testing.T) {
	w := begin(t, scripted(chat("A."), chat("B."), chat("A2."), chat("B2.")), gateway.Options{})
	w.post(chatPath, ask("Hi."))
	w.post(chatPath, ask("Hi."))
	w.post(chatPath, ask("Hi.", "A.", "Go on."))
	w.post(chatPath, ask("Hi.", "B.", "Go on."))
	w.counts(8, published)
	list := w.threads()
	if len(list) != 2 {
		t.Fatalf("threads %v", list)
	}
	for i, last := range []string{"A2.", "B2."} {
		if p := w.prompt(list[i], "openai", 4, 0); !strings.Contains(string(p.Messages), last) {
			t.Errorf("%s: %s", list[i], p.Messages)
		}
	}
}

// What a client names tells threads apart.
func TestNamedThreads(t *testing.T) {
	every := make([]byte, 0, 256)
	for b := 1; b < 128; b++ {
		every = append(every, byte(b))
	}
	text := string(every) + "é/"
	var escaped strings.Builder
	for i := range len(text) {
		fmt.Fprintf(&escaped, "%%%02X", text[i])
	}
	session := "0b5c9f1e-4a58-4a6c-9f56-8f0e5e0f7b11"
	anthropic := `{"max_tokens":9,%s"messages":[{"role":"user","content":"Hi."}]}`
	for _, test := range []struct{ name, path, request, header, value, want string }{
		{"every byte", chatPath, ask("Hi."), gateway.HeaderThread, escaped.String(), text},
		{"metadata", chatPath, `{"metadata":{"precis_thread":"a b"},"messages":[{"role":"user","content":"Hi."}]}`, "", "", "a b"},
		{"header before metadata", chatPath, `{"metadata":{"precis_thread":"a b"},"messages":[{"role":"user","content":"Hi."}]}`, gateway.HeaderThread, "t1", "t1"},
		{"conversation", "/v1/responses", `{"conversation":{"id":"conv_1"},"input":"Hi."}`, "", "", "conv_1"},
		{"unknown response", "/v1/responses", `{"previous_response_id":"resp_0","input":"Hi."}`, "", "", "resp_0"},
		{"cache key", "/v1/responses", `{"prompt_cache_key":"k1","input":"Hi."}`, "", "", "k1-*"},
		{"session header", "/v1/responses", `{"prompt_cache_key":"k1","input":"Hi."}`, "session_id", "s1", "s1-*"},
		{"Codex's thread", "/v1/responses", `{"prompt_cache_key":"k1","input":"Hi."}`, "thread-id", "t1", "t1-*"},
		{"Claude Code", "/v1/messages", fmt.Sprintf(anthropic, `"metadata":{"user_id":"user_1_account_2_session_`+session+`"},`), "", "", session + "-*"},
		{"a user's JSON", "/v1/messages", fmt.Sprintf(anthropic, `"metadata":{"user_id":"{\"device_id\":\"d\",\"session_id\":\"`+session+`\"}"},`), "", "", session + "-*"},
		{"a person", "/v1/messages", fmt.Sprintf(anthropic, `"metadata":{"user_id":"ann@example.com"},`), "", "", "gw-*"},
		{"a long session", chatPath, ask("Hi."), "X-Session-Id", strings.Repeat("s", 300), "gw-*"},
		{"nothing", chatPath, ask("Hi."), "", "", "gw-*"},
		{"not a thread", chatPath, ask("Hi."), gateway.HeaderThread, "%ff", ""},
		{"too long", chatPath, ask("Hi."), gateway.HeaderThread, strings.Repeat("t", 257), ""},
		{"too long in metadata", chatPath, `{"metadata":{"precis_thread":"` + strings.Repeat("t", 257) + `"},"messages":[{"role":"user","content":"Hi."}]}`, "", "", ""},
		{"off", chatPath, ask("Hi."), gateway.HeaderMode, "off", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			answers := map[string]string{
				chatPath: chat("Yes."), "/v1/messages": `{"id":"m","type":"message","content":[{"type":"text","text":"Yes."}]}`,
				"/v1/responses": `{"id":"r","status":"completed","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Yes."}]}]}`,
			}
			w := begin(t, say("application/json", answers[test.path]), gateway.Options{})
			header := []string{}
			if test.header != "" {
				header = []string{test.header, test.value}
			}
			w.post(test.path, test.request, header...)
			if err := w.stop(); err != nil {
				t.Fatal(err)
			}
			list := w.threads()
			prefix, open := strings.CutSuffix(test.want, "*")
			switch {
			case test.want == "":
				if len(list) != 0 {
					t.Errorf("threads %q", list)
				}
				if want := map[bool]float64{true: 0, false: 1}[test.value == "off"]; min(w.count(dropped, "reason", "thread"), 1) != want {
					t.Errorf("dropped for their thread: %v", w.count(dropped, "reason", "thread"))
				}
			case len(list) != 1 || !strings.HasPrefix(list[0], prefix) || !open && list[0] != prefix:
				t.Errorf("threads %q, want %q", list, test.want)
			}
		})
	}
}

// Turns of a conversation that the provider keeps may say the same.
func TestKeptConversation(t *testing.T) {
	answer := func(id string) string {
		return `{"id":"` + id + `","status":"completed","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Yes."}]}]}`
	}
	w := begin(t, scripted(answer("r1"), answer("r2")), gateway.Options{})
	for range 2 {
		w.post("/v1/responses", `{"conversation":"conv_1","input":"Go on."}`)
	}
	w.counts(4, published)
	w.prompt("conv_1", "responses", 4, 0)
}

// Parallel requests of one conversation leave each message once.
func TestParallelRequests(t *testing.T) {
	w := begin(t, say("application/json", chat("Yes.")), gateway.Options{})
	done := make(chan error)
	const n = 16
	for range n {
		go func() {
			resp, err := w.client.Post(w.url+chatPath, "application/json", strings.NewReader(ask("Hi.", "Hello.", "Is it?")))
			if err != nil {
				done <- err
				return
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			done <- resp.Body.Close()
		}()
	}
	for range n {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	w.counts(4, published)
	w.prompt(w.threads()[0], "openai", 4, 0)
}

// Sub-agents that go on from the conversation of the agent that made them, as Codex's and Claude Code's may, are threads of their own.
func TestSubAgents(t *testing.T) {
	for _, test := range []struct {
		name         string
		agent, child []string
		threads      []string
	}{
		{"Codex", []string{"Session-Id", "s1", "Thread-Id", "s1"}, []string{"Session-Id", "s1", "Thread-Id", "c1"}, []string{"c1-", "s1-"}},
		{"Claude Code", []string{"X-Claude-Code-Session-Id", "s1"}, []string{"X-Claude-Code-Session-Id", "s1", "X-Claude-Code-Agent-Id", "c1"}, []string{"s1-", "s1/agent-c1-"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := begin(t, say("application/json", chat("Yes.")), gateway.Options{})
			w.post(chatPath, ask("Hi.", "Yes.", "Go on."), test.agent...)
			w.post(chatPath, ask("Hi.", "Yes.", "Check it."), test.child...)
			w.counts(8, published)
			list := w.threads()
			slices.Sort(list)
			for i, prefix := range test.threads {
				if len(list) != 2 || !strings.HasPrefix(list[i], prefix) {
					t.Errorf("threads %q, want %q", list, test.threads)
				}
			}
		})
	}
}

// An answer that the client makes up behind the context that it gives does not tell conversations apart.
func TestMadeUpAnswers(t *testing.T) {
	w := begin(t, say("application/json", chat("Yes.")), gateway.Options{})
	for _, question := range []string{"Which test fails?", "Who wrote it?"} {
		w.post(chatPath, ask("We are in shop.", "Got it. Thanks for the context!", question))
		w.post(chatPath, ask("We are in shop.", "Got it. Thanks for the context!", question, "Yes.", "Go on."))
	}
	w.counts(12, published)
	if list := w.threads(); len(list) != 2 {
		t.Errorf("threads %q", list)
	}
}

// A base URL with one /v1 too few or too many is the likeliest mistake, and the provider's answer says nothing of it.
func TestMisplacedBaseURL(t *testing.T) {
	w := begin(t, say("application/json", chat("Yes.")), gateway.Options{})
	for _, path := range []string{"/chat/completions", "/v1/v1/messages", "//v1/responses"} {
		w.post(path, ask("Hi."))
	}
	if got := strings.Count(w.log.String(), "passed on unread"); got != 3 {
		t.Errorf("%d are reported: %s", got, w.log)
	}
	for _, path := range []string{chatPath, "/v1/threads/t/messages", "/v1/responses/resp_1/cancel", "/v1/messages/count_tokens"} {
		w.post(path, ask("Hi.", "Yes.", "Go on."))
	}
	if got := strings.Count(w.log.String(), "passed on unread"); got != 3 {
		t.Errorf("%d are reported: %s", got, w.log)
	}

	w = begin(t, say("application/json", chat("Yes.")), gateway.Options{Mode: gateway.ModeCompact})
	for path, want := range map[string]string{"/chat/completions": "no; reason=path", "/v1/v1/messages": "no; reason=path", "/v1/embeddings": ""} {
		if got := w.said(t, path, ask("Hi.")); got != want {
			t.Errorf("mode compact, %s: %q, want %q", path, got, want)
		}
	}
}
