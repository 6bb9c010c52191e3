package gateway_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"precis/api"
	"precis/internal/gateway"
)

// calling is how a provider calls the tool for originals, and how a client gives call and result back.
var calling = map[string]struct {
	call   string   // of the arguments as JSON
	stream []string // the same as a stream's events
	back   string
	result string // of the text as JSON
}{
	"chat": {
		call: `{"id":"c99","model":"m","choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant","content":null,"tool_calls":[{"id":"call_99","type":"function","function":{"name":"read_original","arguments":%q}}]}}],"usage":{"prompt_tokens":7,"completion_tokens":3}}`,
		stream: []string{`{"id":"c99","model":"m","choices":[{"index":0,"delta":{"role":"assistant","tool_calls":[{"index":0,"id":"call_99","type":"function","function":{"name":"read_original","arguments":""}}]}}]}`,
			`{"id":"c99","model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":%q}}]},"finish_reason":"tool_calls"}]}`, `{"id":"c99","model":"m","choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3}}`, `[DONE]`},
		back:   `{"role":"assistant","content":null,"tool_calls":[{"id":"call_99","type":"function","function":{"name":"read_original","arguments":%q}}]}`,
		result: `{"role":"tool","tool_call_id":"call_99","content":%s}`,
	},
	"messages": {
		call: `{"id":"m99","type":"message","role":"assistant","model":"m","content":[{"type":"tool_use","id":"toolu_99","name":"read_original","input":%s}],"usage":{"input_tokens":7,"output_tokens":3}}`,
		stream: []string{`{"type":"message_start","message":{"id":"m99","type":"message","role":"assistant","model":"m","content":[],"usage":{"input_tokens":7,"output_tokens":1}}}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"toolu_99","name":"read_original","input":{}}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":%q}}`, `{"type":"content_block_stop","index":0}`,
			`{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":3}}`, `{"type":"message_stop"}`},
		back:   `{"role":"assistant","content":[{"type":"tool_use","id":"toolu_99","name":"read_original","input":%s}]}`,
		result: `{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_99","content":%s}]}`,
	},
	"responses": {
		call: `{"id":"r99","status":"completed","model":"m","output":[{"type":"function_call","id":"fc_99","call_id":"call_99","name":"read_original","arguments":%q,"status":"completed"}],"usage":{"input_tokens":7,"output_tokens":3}}`,
		stream: []string{`{"type":"response.created","response":{"id":"r99"}}`,
			`{"type":"response.completed","response":{"id":"r99","status":"completed","model":"m","output":[{"type":"function_call","id":"fc_99","call_id":"call_99","name":"read_original","arguments":%q,"status":"completed"}],"usage":{"input_tokens":7,"output_tokens":3}}}`},
		back:   `{"type":"function_call","id":"fc_99","call_id":"call_99","name":"read_original","arguments":%q,"status":"completed"}`,
		result: `{"type":"function_call_output","call_id":"call_99","output":%s}`,
	},
}

// filled puts arguments into a text that has at most one verb for them.
func filled(format, arguments string) string {
	if !strings.Contains(format, "%") {
		return format
	}
	return fmt.Sprintf(format, arguments)
}

// A client that runs the tool for originals gets its definition with each prompt that has summaries, behind its own tools. A call reaches it as the
// provider made it, in one piece or as a stream, is a turn like any other, and the conversation goes on.
func TestOriginals(t *testing.T) {
	for name, s := range sessions() {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprint(name, stream), func(t *testing.T) {
				provider := &received{}
				var calls atomic.Pointer[string] // the provider's answer, if it calls
				w := beginWith(t, func(w http.ResponseWriter, r *http.Request) {
					body, _ := io.ReadAll(r.Body)
					n := provider.add(string(body))
					call := calls.Load()
					if call == nil {
						_, _ = io.WriteString(w, s.answer(n))
						return
					}
					w.Header().Set("Content-Type", map[bool]string{false: "application/json", true: "text/event-stream"}[stream])
					_, _ = io.WriteString(w, *call)
				}, gateway.Options{Mode: gateway.ModeCompact, Wait: patience}, compacting)
				c := &compacter{world: w, got: provider, history: []string{s.first}, s: s}
				var lines strings.Builder
				for n := range 120 {
					fmt.Fprintf(&lines, "The %dth order of customer %d went to %c street.\n", n, n*7919%1009, 'A'+n%26)
				}
				output := lines.String()
				for n := range 8 {
					c.post(s.path, c.request(""), gateway.HeaderTools, "read_original")
					c.history = append(append(c.history, s.back(n)...), s.result(n, output))
				}
				last := c.got.last()
				thread := c.threads()[0]
				tools := membersOf(t, last, "tools")
				if len(tools) != 2 || tools[0] != membersOf(t, c.request(""), "tools")[0] || !strings.Contains(tools[1], "read_original") || !strings.Contains(tools[1], "from_char") || !strings.Contains(tools[1], thread) {
					t.Fatalf("%s", tools)
				}
				mark := regexp.MustCompile(`message (…[0-9a-f]+)`).FindStringSubmatch(last)
				if mark == nil {
					t.Fatalf("no mark in %.3000s", last)
				}
				arguments := fmt.Sprintf(`{"thread":%q,"message_id":%q}`, thread, mark[1])
				call := calling[name]
				answer := filled(call.call, arguments)
				if stream {
					var events []string
					for _, e := range call.stream {
						events = append(events, filled(e, arguments))
					}
					answer = sse(events...)
				}
				calls.Store(&answer)
				said, _, got := c.ask(t, s.path, c.request(""), gateway.HeaderTools, "read_original")
				if got != answer || !strings.Contains(said, "; tool=read_original; ") {
					t.Fatalf("%s\n%s", said, got)
				}
				original, err := c.api.Message(within(t), thread, api.MessageRequest{MessageID: mark[1]})
				if err != nil || original.Content == nil || *original.Content != output {
					t.Fatalf("%v %v", original, err)
				}
				calls.Store(nil)
				c.history = append(c.history, fmt.Sprintf(call.back, arguments), fmt.Sprintf(call.result, quoted(*original.Content)))
				if said, _, _ := c.ask(t, s.path, c.request(""), gateway.HeaderTools, "read_original"); !strings.HasPrefix(said, "yes; ") {
					t.Fatalf("%s\n%s", said, c.log)
				}
				var sent map[string]jsontext.Value
				if err := json.Unmarshal([]byte(c.got.last()), &sent); err != nil {
					t.Fatal(err)
				}
				if err := s.valid(sent[s.list]); err != nil || !strings.Contains(c.got.last(), string(quoted(*original.Content))) {
					t.Errorf("%v\n%s", err, c.got.last())
				}
				if r, err := c.api.Thread(within(t), thread, api.ThreadRequest{}); err != nil || r.Reported == nil || r.Rejected != 0 {
					t.Errorf("%+v %v", r, err)
				}
			})
		}
	}
}

// Without its word a client's tools stay as they are, and so does a request that is not compacted, has no tools, or has this one.
func TestOriginalsOnlyWhereAskedFor(t *testing.T) {
	for _, test := range []struct {
		config bool
		header string
		tools  string
		added  bool
	}{
		{false, "", `"tools":[{"name":"bash"}],`, false}, {false, "none", `"tools":[{"name":"bash"}],`, false}, {false, "web", `"tools":[{"name":"bash"}],`, false},
		{false, "web, Read_Original", `"tools":[{"name":"bash"}],`, true}, {true, "", `"tools" : [ {"name":"bash"} ] ,`, true}, {true, "none", `"tools":[{"name":"bash"}],`, false},
		{true, "", ``, false}, {true, "", `"tools":[],`, false}, {true, "", `"tools":[{"name":"bash"},{"name":"mcp__precis__read_original"}],`, false},
	} {
		c := compactions(t, "messages")
		if err := c.stop(); err != nil {
			t.Fatal(err)
		}
		c.startGateway(gateway.Options{Conn: c.broker.Conn(), Mode: gateway.ModeCompact, Wait: patience, Originals: test.config})
		c.s.others = test.tools
		said, _, _ := c.ask(t, c.s.path, c.request(""), gateway.HeaderTools, test.header)
		if added := strings.Contains(c.got.last(), `"enum"`); added != test.added || added != strings.Contains(said, "tool=read_original") || !strings.HasPrefix(said, "yes; ") {
			t.Errorf("%+v: %s\n%.400s", test, said, c.got.last())
		}
		if !test.added && !strings.HasPrefix(c.got.last(), "{"+test.tools) {
			t.Errorf("%+v: %.400s", test, c.got.last())
		}
		first := `{"tools":[{"name":"bash"}],"messages":[{"role":"user","content":"Another."}]}`
		if c.post(c.s.path, first, gateway.HeaderTools, "read_original"); c.got.last() != first {
			t.Errorf("not compacted, and changed: %s", c.got.last())
		}
	}
}

// membersOf are the elements of a list in a body.
func membersOf(t *testing.T, body, name string) (list []string) {
	t.Helper()
	var o map[string]json.RawMessage
	var raw []json.RawMessage
	if err := json.Unmarshal([]byte(body), &o); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(o[name], &raw); err != nil {
		t.Fatal(err)
	}
	for _, r := range raw {
		list = append(list, string(r))
	}
	return list
}
