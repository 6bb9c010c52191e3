package rest_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"precis/internal/rest"
)

// bearing adds a token to requests.
type bearing string

func (b bearing) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// tools begins a session of the SDK's own client.
func (w *world) tools(token string) *sdk.ClientSession {
	w.t.Helper()
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(within(w.t), &sdk.StreamableClientTransport{
		Endpoint: w.url + "/mcp", HTTPClient: &http.Client{Transport: bearing(token)}, DisableStandaloneSSE: true, MaxRetries: -1,
	}, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = session.Close() })
	return session
}

// call returns what a tool says; failed: as an error.
func (w *world) call(session *sdk.ClientSession, tool string, arguments map[string]any) (text string, failed bool) {
	w.t.Helper()
	result, err := session.CallTool(within(w.t), &sdk.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		return err.Error(), true
	}
	for _, c := range result.Content {
		text += c.(*sdk.TextContent).Text
	}
	if wrong := pluralOfOne.FindString(text); wrong != "" {
		w.t.Errorf("%s %v says %q:\n%.2000s", tool, arguments, wrong, text)
	}
	return text, result.IsError
}

// pluralOfOne is what no tool says.
var pluralOfOne = regexp.MustCompile(`\b1 (tool |more |older )?(messages|results|edits|duplicates|tokens|summaries|lines|ones|calls|times|parts)\b`)

// says holds what a tool says against parts of it.
func (w *world) says(session *sdk.ClientSession, tool string, arguments map[string]any, want ...string) {
	w.t.Helper()
	text, failed := w.call(session, tool, arguments)
	for _, part := range want {
		if failed || !strings.Contains(text, part) {
			w.t.Errorf("%s %v lacks %q (failed: %t):\n%.2000s", tool, arguments, part, failed, text)
		}
	}
}

func (w *world) refuses(session *sdk.ClientSession, tool string, arguments map[string]any, want string) {
	w.t.Helper()
	if text, failed := w.call(session, tool, arguments); !failed || !strings.Contains(text, want) {
		w.t.Errorf("%s %v: failed %t, %.500s, want %q", tool, arguments, failed, text, want)
	}
}

const mcpTokens = `tokens:
  - {name: all, token: operator-operator-operator, role: operator}
  - {name: team, token: team-team-team-team-team, role: agent, threads: team/}
  - {name: reader, token: auditor-auditor-auditor, role: auditor}
`

// lines are those of an output whose summary leaves most of them out.
func outputLines(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "step %d of the build compiled part%d.go\n", i, i*7)
	}
	return b.String()
}

func TestTools(t *testing.T) {
	w := begin(t, options{Options: rest.Options{Streams: 4}, tokens: mcpTokens})
	all := w.tools("operator-operator-operator")
	listed, err := all.ListTools(within(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(listed.Tools) != 4 {
		t.Errorf("%d tools", len(listed.Tools))
	}
	auth := []string{"Authorization", "Bearer operator-operator-operator"}
	w.put("/v1/threads/team%2Fa", fmt.Sprintf(`[
		{"type":"thread.message","message_id":"u","role":"user","content":"Build it, and keep the Zanzibar flag."},
		{"type":"thread.message","message_id":"c","role":"assistant","content":"","tool_calls":[{"id":"k","name":"bash","arguments":{"command":"make quagga"}}]},
		{"type":"tool.result","message_id":"out","tool_call_id":"k","content":%q},
		{"type":"tool.result","message_id":"wide","tool_name":"fetch","content":%q},
		{"type":"thread.message","message_id":"gone","role":"user","content":"Never mind the dodo."},
		{"type":"message.edited","message_id":"gone","deleted":true,"edit_id":"e"}]`,
		outputLines(3000), `{"data":"`+strings.Repeat("x", 9000)+`kakapo`+strings.Repeat("y", 9000)+`"}`), auth...)
	w.put("/v1/threads/other", `{"type":"thread.message","message_id":"m","role":"user","content":"secret of another team"}`, auth...)

	a := func(more ...any) map[string]any {
		m := map[string]any{"thread": "team/a"}
		for i := 0; i+1 < len(more); i += 2 {
			m[more[i].(string)] = more[i+1]
		}
		return m
	}
	w.eventually(func() error {
		if text, failed := w.call(all, "thread_status", a()); failed || !strings.Contains(text, "2 tool results, 1 edit;") {
			return fmt.Errorf("%s", text)
		}
		return nil
	})
	w.says(all, "thread_status", a(), "Thread team/a", "tokens in all", "summaries active")
	w.says(all, "read_original", a("message_id", "out"), "Message out (tool bash), lines 1-", "of 3000", "1|step 0 of the build", "(goes on with from_line ")
	w.says(all, "read_original", a("message_id", "out", "from_line", 2999), "lines 2999-3000 of 3000", "3000|step 2999 of the build compiled part20993.go\n")
	w.says(all, "read_original", a("message_id", "out", "search", "PART700.GO"), "1 of 3,000 lines contains", "101|step 100 of", "99|step 98", "103|step 102")
	w.says(all, "read_original", a("message_id", "out", "search", "nowhere"), "none of its 3,000 lines contains")
	w.says(all, "read_original", a("message_id", "out", "search", "part700.go", "from_line", 102, "to_line", 200), "none of its lines 102-200 of 3000 contains")
	w.says(all, "read_original", a("message_id", "out", "search", "part700.go", "to_line", 101), "1 of lines 1-101 of 3000 contains", "101|step 100 of")
	w.says(all, "read_original", a("message_id", "out", "from_line", 4000), "ends with line 3000")
	w.says(all, "read_original", a("message_id", "wide"), "(goes on with from_line 1, from_char 4001)")
	w.says(all, "read_original", a("message_id", "wide", "from_line", 1, "from_char", 9001), "kakapo")
	w.says(all, "read_original", a("message_id", "wide", "search", "kakapo"), "xkakapoy")
	w.says(all, "read_original", a("message_id", "c"), `call bash {"command":"make quagga"}`)
	w.says(all, "read_original", a("message_id", "gone"), "was deleted")
	w.says(all, "search_thread", a("query", "zanzibar"), "Message u (user), line 1: Build it")
	w.says(all, "search_thread", a("query", "quagga"), "Message c (assistant), calls bash")
	w.says(all, "search_thread", a("query", "part20993.go"), "Message out (tool bash), line 3000", "4 messages searched")
	w.says(all, "search_thread", a("query", "dodo"), `Nothing contains "dodo"`)
	w.says(all, "search_thread", a("query", "compiled", "max_matches", 3), "3 lines contain", "(2,997 more lines of it")
	w.says(all, "search_thread", a("query", "the", "max_matches", 3), "3 lines contain", "1 of them with lines that are not shown (max_matches)")
	w.says(all, "search_thread", a("query", "compiled"), "5 lines contain", "(2,995 more lines of it")
	w.says(all, "explain_prompt", a(), "Prompt of team/a", "tokens: system 0", "the next compaction")

	w.refuses(all, "read_original", a("message_id", "none"), `thread "team/a" has no message "none"; search_thread finds the id of a message by its text`)
	w.refuses(all, "read_original", a("message_id", "none", "search", "x"), `has no message "none"; search_thread finds`)
	w.refuses(all, "read_original", map[string]any{"thread": "nobody", "message_id": "m"}, `no thread "nobody"`)
	w.refuses(all, "read_original", a("id", "out"), `unknown argument "id"; read_original takes thread, message_id, from_line, to_line, from_char, search`)
	w.refuses(all, "read_original", a("messageId", "out"), `unknown argument "messageId": did you mean "message_id"?`)
	w.refuses(all, "thread_status", a("query", "out"), `unknown argument "query"; thread_status takes thread`)
	w.refuses(all, "read_original", a("message_id", 7), `message_id`)
	w.refuses(all, "read_original", a(), "message_id")
	w.refuses(all, "read_original", a("message_id", "out", "from_line", 9, "to_line", 3), "not behind")
	w.refuses(all, "read_original", a("message_id", "out", "lines", "1-2"), "lines")
	w.refuses(all, "read_original", a("message_id", "out", "search", "a\nb"), "one line")
	w.refuses(all, "search_thread", a("query", " "), "query")
	w.refuses(all, "thread_status", nil, "thread is missing")
	w.refuses(all, "thread_status", map[string]any{"thread": "nobody"}, "no thread")

	// A token sees its threads alone, in any way.
	team := w.tools("team-team-team-team-team")
	w.says(team, "search_thread", a("query", "zanzibar"), "Message u")
	for _, tool := range []string{"read_original", "search_thread", "explain_prompt", "thread_status"} {
		w.refuses(team, tool, map[string]any{"thread": "other", "message_id": "m", "query": "secret"}, "")
		if text, _ := w.call(team, tool, map[string]any{"thread": "other", "message_id": "m", "query": "secret"}); strings.Contains(text, "another team") {
			t.Errorf("%s tells another's text: %s", tool, text)
		}
	}
	w.says(w.tools("auditor-auditor-auditor"), "thread_status", a(), "Thread team/a")
	w.wants(http.StatusUnauthorized, "POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, "Authorization", "Bearer of-somebody-else-entirely")
	w.wants(http.StatusForbidden, "POST", "/mcp", `{}`, "Origin", "https://example.com")
	w.wants(http.StatusMethodNotAllowed, "GET", "/mcp", "", auth...)
}

// Of one, tools speak in the singular.
func TestToolsCount(t *testing.T) {
	w := begin(t, options{})
	image := `{"type":"image_url","image_url":{"url":"https://example.com/a.png"}}`
	w.put("/v1/threads/one", `[
		{"type":"thread.message","message_id":"m","role":"user","content":"The ibis."},
		{"type":"message.edited","message_id":"m","edit_id":"e","content":[{"type":"text","text":"The ibis flew."},`+image+`]}]`)
	session, one := w.tools(""), func(more ...string) map[string]any {
		m := map[string]any{"thread": "one"}
		for i := 0; i < len(more); i += 2 {
			m[more[i]] = more[i+1]
		}
		return m
	}
	w.eventually(func() error {
		if text, failed := w.call(session, "thread_status", one()); failed || !strings.Contains(text, "1 message, 0 tool results, 1 edit; not counted: 0 duplicates") {
			return fmt.Errorf("%s", text)
		}
		return nil
	})
	w.says(session, "read_original", one("message_id", "m"), "edited 1 time)", "1 part not text")
	w.says(session, "read_original", one("message_id", "m", "search", "ibis"), "1 of 2 lines contains")
	w.says(session, "search_thread", one("query", "ibis"), "1 line contains", "1 message searched")
	w.says(session, "explain_prompt", one(), "tokens in 1 message,", "could replace nothing yet")
}

// A search reads what compactions stand for, through all levels.
func TestSearchBehindCompactions(t *testing.T) {
	w := begin(t, options{})
	var list []string
	for i := range 400 {
		word := "ordinary"
		if i == 3 {
			word = "thylacine"
		}
		list = append(list, fmt.Sprintf(`{"type":"thread.message","message_id":"m%d","role":"user","content":"message %d about something %s, in some words"}`, i, i, word))
	}
	for i := 0; i < len(list); i += 100 {
		seq := w.put("/v1/threads/long", "["+strings.Join(list[i:i+100], ",")+"]")
		w.wants(http.StatusOK, "POST", "/v1/threads/long/summarize", fmt.Sprintf(`{"min_event_seq":%d}`, seq))
	}
	session := w.tools("")
	w.says(session, "explain_prompt", map[string]any{"thread": "long"}, "stands for 380 messages")
	w.says(session, "search_thread", map[string]any{"thread": "long", "query": "Thylacine"}, "Message m3 (user), line 1", "400 messages searched.")
}
