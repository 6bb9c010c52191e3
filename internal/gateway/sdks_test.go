package gateway_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/go-json-experiment/json/jsontext"

	"precis/internal/gateway"
	"precis/internal/race"
)

// sdkProvider answers the SDKs by the name of their scenario, and keeps what they sent.
type sdkProvider struct {
	mu   sync.Mutex
	sent []sent
}

// sent is a request as a provider gets it.
type sent struct {
	Scenario, Method, URI string
	Header                http.Header
	Body                  string
}

// from returns what was sent since the nth, without what a connection alone has to say.
func (p *sdkProvider) from(n int) []sent {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]sent{}, p.sent[n:]...)
}

func (p *sdkProvider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	header := r.Header.Clone()
	header.Del("Connection")
	sdk, name, _ := strings.Cut(r.Header.Get("X-Scenario"), ": ")
	p.mu.Lock()
	p.sent = append(p.sent, sent{sdk + ": " + name, r.Method, r.RequestURI, header, string(body)})
	p.mu.Unlock()
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Request-Id", "req_1")
	h.Set("X-Request-Id", "req_1")
	h.Set("X-Ratelimit-Remaining-Tokens", "17")
	h.Set("Openai-Processing-Ms", "12")
	retry, _ := strconv.Atoi(r.Header.Get("X-Stainless-Retry-Count"))
	kind, rest, _ := strings.Cut(name, " ")
	status, _ := strconv.Atoi(rest[strings.LastIndexByte(rest, ' ')+1:])
	switch {
	case kind == "error" && status == 0:
		h.Set("Content-Type", "text/html")
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, "<html>no</html>")
	case kind == "error", kind == "exhausted", kind == "retry" && retry == 0:
		h.Set("Retry-After-Ms", "1")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, sdkError(sdk, status))
	case kind == "hang" && !bytes.Contains(body, []byte(`"stream":true`)):
		<-r.Context().Done()
	default:
		p.answer(w, r, sdk, name, body)
	}
}

// answer is what a provider says where nothing is wrong at first.
func (p *sdkProvider) answer(w http.ResponseWriter, r *http.Request, sdk, name string, body []byte) {
	stream := bytes.Contains(body, []byte(`"stream":true`))
	events, whole := sdkAnswers(r.URL.Path, strings.Contains(name, "tools") && !bytes.Contains(body, []byte("Rain in Paris.")))
	if name == "message compaction" {
		whole = `{"id":"msg_1","type":"message","role":"assistant","model":"claude-test","content":[{"type":"compaction","content":"Short.","signature":"c2ln","encrypted_content":null}],"stop_reason":"compaction","stop_sequence":null,"usage":{"input_tokens":0,"output_tokens":0}}`
	}
	if !stream {
		packed := map[string]func(io.Writer) io.WriteCloser{
			"packed": func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) }, "brotli": func(w io.Writer) io.WriteCloser { return brotli.NewWriter(w) },
		}
		for end, pack := range packed {
			if strings.HasSuffix(name, end) {
				w.Header().Set("Content-Encoding", map[string]string{"packed": "gzip", "brotli": "br"}[end])
				z := pack(w)
				_, _ = io.WriteString(z, whole)
				_ = z.Close()
				return
			}
		}
		_, _ = io.WriteString(w, whole)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	write := func(text string) {
		_, _ = io.WriteString(w, text)
		_ = http.NewResponseController(w).Flush()
	}
	for i, event := range events {
		write(sse(event))
		switch {
		case i == 0 && strings.HasPrefix(name, "hang"):
			<-r.Context().Done()
			return
		case i == 1 && strings.Contains(name, "broken"):
			panic(http.ErrAbortHandler)
		case i == 1 && strings.Contains(name, "stream error"):
			if sdk == "anthropic" {
				write(sse(`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`))
			} else {
				write(sse(`{"error":{"message":"The server had an error","type":"server_error","code":null,"param":null}}`))
			}
			return
		case i == 1 && strings.Contains(name, "stream failed"):
			write(sse(`{"type":"response.failed","sequence_number":2,"response":{"id":"resp_1","object":"response","status":"failed","error":{"code":"server_error","message":"The server had an error"},"output":[]}}`))
			return
		}
	}
}

func sdkError(sdk string, status int) string {
	if sdk == "anthropic" {
		return fmt.Sprintf(`{"type":"error","error":{"type":"error_%d","message":"It is %d."},"request_id":"req_1"}`, status, status)
	}
	return fmt.Sprintf(`{"error":{"message":"It is %d.","type":"error_%d","param":"model","code":"code_%d"}}`, status, status, status)
}

// sdkAnswers are an operation's answer as a stream's events and in one piece: a text, or a call.
func sdkAnswers(path string, calls bool) (events []string, whole string) {
	switch path {
	case "/v1/chat/completions":
		chunk := func(delta, finish string) string {
			return fmt.Sprintf(`{"id":"chatcmpl_1","object":"chat.completion.chunk","created":1,"model":"gpt-test","choices":[{"index":0,"delta":%s,"finish_reason":%s}]}`, delta, finish)
		}
		message, finish := `{"role":"assistant","content":"Hello there.","refusal":null}`, `"stop"`
		events = []string{chunk(`{"role":"assistant","content":""}`, "null"), chunk(`{"content":"Hello"}`, "null"), chunk(`{"content":" there."}`, "null")}
		if calls {
			message, finish = `{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"weather","arguments":"{\"city\":\"Paris\"}"}}]}`, `"tool_calls"`
			events = []string{chunk(`{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"weather","arguments":""}}]}`, "null"),
				chunk(`{"tool_calls":[{"index":0,"function":{"arguments":"{\"city\":"}}]}`, "null"), chunk(`{"tool_calls":[{"index":0,"function":{"arguments":"\"Paris\"}"}}]}`, "null")}
		}
		usage := `{"prompt_tokens":9,"completion_tokens":3,"total_tokens":12}`
		events = append(events, chunk("{}", finish), `{"id":"chatcmpl_1","object":"chat.completion.chunk","created":1,"model":"gpt-test","choices":[],"usage":`+usage+`}`, "[DONE]")
		return events, fmt.Sprintf(`{"id":"chatcmpl_1","object":"chat.completion","created":1,"model":"gpt-test","choices":[{"index":0,"message":%s,"finish_reason":%s}],"usage":%s}`, message, finish, usage)
	case "/v1/responses":
		output := `[{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAA"},{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"Hello there.","annotations":[]}]}]`
		if calls {
			output = `[{"type":"function_call","id":"fc_1","call_id":"call_1","name":"weather","arguments":"{\"city\":\"Paris\"}","status":"completed"}]`
		}
		whole = fmt.Sprintf(`{"id":"resp_1","object":"response","created_at":1,"status":"completed","model":"gpt-test","output":%s,"usage":{"input_tokens":9,"output_tokens":3,"total_tokens":12}}`, output)
		return []string{
			`{"type":"response.created","sequence_number":0,"response":{"id":"resp_1","object":"response","status":"in_progress","output":[]}}`,
			`{"type":"response.output_item.added","sequence_number":1,"output_index":0,"item":{"type":"message","id":"msg_1","role":"assistant","status":"in_progress","content":[]}}`,
			`{"type":"response.content_part.added","sequence_number":2,"item_id":"msg_1","output_index":0,"content_index":0,"part":{"type":"output_text","text":"","annotations":[]}}`,
			`{"type":"response.output_text.delta","sequence_number":3,"item_id":"msg_1","output_index":0,"content_index":0,"delta":"Hello there."}`,
			`{"type":"response.completed","sequence_number":4,"response":` + whole + `}`,
		}, whole
	case "/v1/messages":
		content, stop := `[{"type":"thinking","thinking":"Hm.","signature":"c2ln"},{"type":"text","text":"Hello there."}]`, "end_turn"
		blocks := []string{`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`, `{"type":"ping"}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hello"}}`, `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" there."}}`}
		if calls {
			content, stop = `[{"type":"tool_use","id":"toolu_1","name":"weather","input":{"city":"Paris"}}]`, "tool_use"
			blocks = []string{`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"toolu_1","name":"weather","input":{}}}`,
				`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"city\":"}}`, `{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"\"Paris\"}"}}`}
		}
		head := `"id":"msg_1","type":"message","role":"assistant","model":"claude-test","stop_sequence":null`
		events = append([]string{`{"type":"message_start","message":{` + head + `,"content":[],"stop_reason":null,"usage":{"input_tokens":9,"output_tokens":1}}}`}, blocks...)
		events = append(events, `{"type":"content_block_stop","index":0}`, `{"type":"message_delta","delta":{"stop_reason":"`+stop+`","stop_sequence":null},"usage":{"output_tokens":3}}`, `{"type":"message_stop"}`)
		return events, fmt.Sprintf(`{%s,"content":%s,"stop_reason":%q,"usage":{"input_tokens":9,"output_tokens":3}}`, head, content, stop)
	case "/v1/responses/compact":
		return nil, `{"id":"resp_2","object":"response.compaction","created_at":1,"output":[{"type":"compaction","id":"cmp_1","encrypted_content":"gAAA"}],"usage":{"input_tokens":9,"output_tokens":3,"total_tokens":12}}`
	case "/v1/messages/count_tokens":
		return nil, `{"input_tokens":9}`
	case "/v1/embeddings":
		return nil, `{"object":"list","data":[{"object":"embedding","index":0,"embedding":"AACAPw=="}],"model":"gpt-test","usage":{"prompt_tokens":1,"total_tokens":1}}`
	}
	return nil, `{"object":"list","data":[{"id":"a-model","type":"model","object":"model","display_name":"A","created":1,"created_at":"2026-01-01T00:00:00Z"}],"has_more":false,"first_id":"a-model","last_id":"a-model"}`
}

// sdkRun is what a scenario came to.
type sdkRun struct {
	Name            string
	Direct, Through map[string]json.RawMessage
}

// runSDKs runs the scenarios of testdata/sdks.
func runSDKs(t *testing.T, direct, through string) (runs []sdkRun) {
	t.Helper()
	out := runNode(t, "sdks.mjs", direct, through)
	for line := range strings.Lines(string(out)) {
		var r sdkRun
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		runs = append(runs, r)
	}
	return runs
}

// runNode runs a program of testdata/sdks; the test is skipped where the SDKs are not installed.
func runNode(t *testing.T, args ...string) []byte {
	t.Helper()
	if _, err := os.Stat("testdata/sdks/node_modules"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip("the providers' SDKs are not installed: npm ci --prefix internal/gateway/testdata/sdks")
	}
	cmd := exec.CommandContext(within(t), "node", args...)
	cmd.Dir = "testdata/sdks"
	var failed bytes.Buffer
	cmd.Stderr = &failed
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, failed.String())
	}
	return out
}

// The providers' own SDKs stream, call tools, retry, report errors, time out and break off through the gateway as they do without it: the program
// gets the same, the SDK the same bytes, and the provider the same requests.
func TestSDKs(t *testing.T) {
	race.Slow(t)
	for _, mode := range gateway.Modes {
		t.Run(mode, func(t *testing.T) {
			provider := &sdkProvider{}
			w := begin(t, provider.ServeHTTP, gateway.Options{Mode: mode})
			w.upstream.Config.ErrorLog = nil
			runs := runSDKs(t, w.upstream.URL, w.url)
			values, errors := 0, 0
			for _, r := range runs {
				if mode == gateway.ModeCompact {
					withoutHeader(t, r.Through, "precis-compacted")
				}
				if len(r.Direct) != 2 || !sameJSON(t, r.Direct, r.Through) {
					t.Errorf("%s\ndirect  %s\nthrough %s", r.Name, r.Direct, r.Through)
				}
				if len(r.Direct["value"]) > 0 {
					values++
				} else if len(r.Direct["error"]) > 0 {
					errors++
				}
			}
			if values < 35 || errors < 18 {
				t.Errorf("%d scenarios, %d of them errors", values+errors, errors)
			}
			requests := map[string][2][]sent{}
			half := 0
			for i, s := range provider.from(0) {
				two := requests[s.Scenario]
				// Each scenario runs directly first, then through the gateway.
				two[0] = append(two[0], s)
				requests[s.Scenario] = two
				half = i
			}
			for name, two := range requests {
				n := len(two[0])
				if n%2 != 0 || !reflect.DeepEqual(two[0][:n/2], two[0][n/2:]) {
					t.Errorf("%s\ndirect  %v\nthrough %v", name, two[0][:n/2], two[0][n/2:])
				}
			}
			if half < 100 {
				t.Errorf("%d requests", half)
			}
			w.counts(0, dropped, "reason", "request")
			w.counts(0, dropped, "reason", "answer")
		})
	}
}

func sameJSON(t *testing.T, a, b map[string]json.RawMessage) bool {
	t.Helper()
	decode := func(m map[string]json.RawMessage) (v any) {
		text, _ := json.Marshal(m)
		if err := json.Unmarshal(text, &v); err != nil {
			t.Fatal(err)
		}
		return v
	}
	return reflect.DeepEqual(decode(a), decode(b))
}

// withoutHeader removes a header from recorded exchanges.
func withoutHeader(t *testing.T, run map[string]json.RawMessage, name string) {
	t.Helper()
	var exchanges []map[string]any
	if json.Unmarshal(run["exchanges"], &exchanges) == nil {
		for _, x := range exchanges {
			kept := []any{}
			headers, _ := x["headers"].([]any)
			for _, h := range headers {
				if h.([]any)[0] != name {
					kept = append(kept, h)
				}
			}
			x["headers"] = kept
		}
		run["exchanges"], _ = json.Marshal(exchanges)
	}
	var value []json.RawMessage // a scenario that returns headers
	if json.Unmarshal(run["value"], &value) == nil {
		for i, v := range value {
			var headers [][]string
			if json.Unmarshal(v, &headers) == nil && headers != nil {
				kept := [][]string{}
				for _, h := range headers {
					if len(h) != 2 || h[0] != name {
						kept = append(kept, h)
					}
				}
				value[i], _ = json.Marshal(kept)
			}
		}
		run["value"], _ = json.Marshal(value)
	}
}

// What the SDKs sent, recorded and sent again with every kind of answer: the client sees the same through the gateway, and the provider sees the same request.
func TestRecordedByteForByte(t *testing.T) {
	race.Slow(t)
	provider := &sdkProvider{}
	recorder := begin(t, provider.ServeHTTP, gateway.Options{})
	recorder.upstream.Config.ErrorLog = nil
	runSDKs(t, recorder.upstream.URL, recorder.url)
	w := begin(t, random, gateway.Options{})
	w.upstream.Config.ErrorLog = nil
	seed, broken := 0, 0
	for seed < 1000 {
		for _, s := range provider.from(0) {
			seed++
			header := s.Header.Clone()
			header.Del("Content-Length")
			header.Set("X-Seed", strconv.Itoa(seed))
			direct := w.see(w.upstream.URL, s.Method, s.URI, s.Body, header)
			through := w.see(w.url, s.Method, s.URI, s.Body, header)
			if direct.Broken && through.Broken { // how much of half an answer comes is the network's affair
				broken++
				n := min(len(direct.Body), len(through.Body))
				direct.Body, through.Body = direct.Body[:n], through.Body[:n]
			}
			if !reflect.DeepEqual(direct, through) {
				t.Fatalf("%d: %s %s\ndirect  %+v\nthrough %+v", seed, s.Method, s.URI, direct, through)
			}
		}
	}
	if broken > seed/10 {
		t.Errorf("%d of %d answers broke off", broken, seed)
	}
}

// The SDKs take the compactions that precis answers, and what they send behind one a provider takes.
func TestSDKsCompactions(t *testing.T) {
	race.Slow(t)
	var got received
	w := beginWith(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		name := map[string]string{"/v1/responses": "responses", "/v1/messages": "messages"}[r.URL.Path]
		var request map[string]jsontext.Value
		if err := json.Unmarshal(body, &request); err != nil || name == "" {
			t.Errorf("%s %v", r.URL.Path, err)
			return
		}
		if err := sessions()[name].valid(request[sessions()[name].list]); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		_, _ = io.WriteString(w, sessions()[name].answer(got.add(string(body))))
	}, gateway.Options{Mode: gateway.ModeCompact, Compactions: true, Wait: patience}, compacting)
	var runs map[string]struct {
		Object, Next  string
		Before, After int
		Same          bool
	}
	if err := json.Unmarshal(runNode(t, "compactions.mjs", w.url), &runs); err != nil {
		t.Fatal(err)
	}
	if r := runs["responses"]; r.Object != "response.compaction" || r.Next != "completed" || 2*r.After > r.Before {
		t.Errorf("%+v", r)
	}
	if r := runs["messages"]; r.Object != "compaction" || r.Next != "message" || !r.Same || 2*r.After > r.Before {
		t.Errorf("%+v", r)
	}
	if len(got.bodies) != 2*9 || w.count("precis_gateway_compacted_total", "outcome", "answered") != 3 {
		t.Errorf("%d requests: the provider was asked for a compaction", len(got.bodies))
	}
}
