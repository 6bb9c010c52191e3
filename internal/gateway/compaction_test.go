package gateway_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/nats-io/nats.go"

	"precis/internal/gateway"
	"precis/summarize/prompt/valid"
)

// compacter sends a session to a gateway that answers compactions, and says what the provider got.
type compacter struct {
	*world
	got     *received
	history []string // of the session's messages
	s       session
}

func compactions(t *testing.T, name string, first ...string) *compacter {
	s, got := sessions()[name], &received{}
	w := beginWith(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		n := got.add(string(body))
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, s.answer(n))
	}, gateway.Options{Mode: gateway.ModeCompact, Compactions: true, Wait: patience}, compacting)
	c := &compacter{world: w, got: got, history: append(first, s.first), s: s}
	output := strings.Repeat("ok  \tshop/cart\t0.01s\n", 120) + "--- FAIL: TestTotal (0.00s)\n"
	for n := range 8 {
		w.post(s.path, c.request(""))
		c.history = append(append(c.history, s.back(n)...), s.result(n, output))
	}
	return c
}

// request is one with the session's messages and further members.
func (c *compacter) request(others string, more ...string) string {
	return "{" + others + c.s.others + `"` + c.s.list + `":[` + strings.Join(append(append([]string{}, c.history...), more...), ",") + "]}"
}

// ask sends a request and returns the answer with what the gateway says of it.
func (c *compacter) ask(t *testing.T, path, body string, header ...string) (said, media, answer string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := c.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s %s %v", resp.Status, text, err)
	}
	return resp.Header.Get("Precis-Compacted"), resp.Header.Get("Content-Type"), string(text)
}

// OpenAI's compaction is answered with items that the next request begins with, and the provider is not asked.
func TestResponsesCompaction(t *testing.T) {
	c := compactions(t, "responses", `{"type":"message","role":"developer","content":[{"type":"input_text","text":"No emoji."}]}`)
	before := len(c.got.from(0))
	said, media, answer := c.ask(t, "/v1/responses/compact", c.request(""))
	if !strings.HasPrefix(said, "answered; ") || media != "application/json" || len(c.got.from(0)) != before {
		t.Fatalf("%s %s %d requests\n%s", said, media, len(c.got.from(0))-before, c.log)
	}
	var reply struct {
		ID, Object string
		CreatedAt  int64 `json:"created_at"`
		Output     []json.RawMessage
		Usage      map[string]any
	}
	if err := json.Unmarshal([]byte(answer), &reply); err != nil {
		t.Fatal(err)
	}
	if reply.Object != "response.compaction" || reply.CreatedAt == 0 || !strings.HasPrefix(reply.ID, "resp_") || fmt.Sprint(reply.Usage["total_tokens"]) != "0" || len(reply.Output) != 2 {
		t.Errorf("%.2000s", answer)
	}
	if string(reply.Output[0]) != c.history[0] {
		t.Errorf("instructions changed: %s", reply.Output[0])
	}
	for _, want := range []string{"Fix the test.", "[calls bash {}]", "## result of bash", "FAIL: TestTotal"} {
		if !strings.Contains(answer, want) {
			t.Errorf("%q is not in it", want)
		}
	}
	if 2*len(answer) > len(c.request("")) || strings.Contains(answer, "Be brief.") {
		t.Errorf("%d of %d bytes: %s", len(answer), len(c.request("")), answer)
	}
	// The conversation goes on.
	c.history = []string{string(reply.Output[0]), string(reply.Output[1])}
	next := c.request("", `{"role":"user","content":"Go on."}`)
	c.post(c.s.path, next)
	var sent struct{ Input jsontext.Value }
	if err := json.Unmarshal([]byte(c.got.last()), &sent); err != nil || c.got.last() != next {
		t.Fatalf("%v %s", err, c.got.last())
	}
	if err := valid.Responses(sent.Input); err != nil {
		t.Error(err)
	}
}

// Anthropic's compaction, in one piece and as a stream. Its block comes back as a text, which every model takes.
func TestAnthropicCompaction(t *testing.T) {
	c := compactions(t, "messages")
	before := len(c.got.from(0))
	said, media, answer := c.ask(t, c.s.path, c.request(`"compaction":{"type":"summarize"},`), "Anthropic-Beta", "compact-2026-09-04")
	var reply struct {
		Type, Role string
		Model      string
		StopReason string `json:"stop_reason"`
		Content    []struct{ Type, Content, Signature string }
	}
	if err := json.Unmarshal([]byte(answer), &reply); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(said, "answered; ") || media != "application/json" || len(c.got.from(0)) != before || reply.Type != "message" || reply.Role != "assistant" ||
		reply.Model != "m" || reply.StopReason != "compaction" || len(reply.Content) != 1 || reply.Content[0].Type != "compaction" {
		t.Fatalf("%s %s %.2000s\n%s", said, media, answer, c.log)
	}
	text := reply.Content[0].Content
	for _, want := range []string{"Fix the test.", "[calls bash {}]", "FAIL: TestTotal"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in it", want)
		}
	}
	if strings.Contains(text, "Hm.") || strings.Contains(text, "Be brief.") || 2*len(text) > len(c.request("")) {
		t.Errorf("%s", text)
	}
	_, media, stream := c.ask(t, c.s.path, c.request(`"stream":true,"compaction":{"type":"summarize"},`))
	if got := gateway.ReadAnswer("/v1/messages", media, []byte(stream)); !strings.Contains(got, `"type":"compaction"`) || !strings.Contains(got, reply.Content[0].Signature) ||
		!strings.Contains(got, `"content":`+string(quoted(text))) {
		t.Errorf("%s\n%s", media, got)
	}
	block, _ := json.Marshal(map[string]any{"type": "compaction", "content": text, "signature": reply.Content[0].Signature, "encrypted_content": nil, "cache_control": map[string]any{"type": "ephemeral"}})
	c.history = []string{`{"role":"assistant","content":[` + string(block) + `]}`}
	c.post(c.s.path, c.request("", `{"role":"user","content":"Go on."}`))
	want := c.s.list + `":[{"content":[{"cache_control":{"type":"ephemeral"},"text":` + string(quoted(text)) + `,"type":"text"},{"text":"Go on.","type":"text"}],"role":"user"}]`
	if got := c.got.last(); !strings.Contains(got, want) {
		t.Errorf("%s", got)
	}
	// Whatever stands behind it, and where the client wants its requests as they are.
	for _, next := range []string{`{"role":"user","content":[{"type":"text","text":"Go on."}]}`, `{"role":"assistant","content":"Yes."},{"role":"user","content":"Go on."}`, ``} {
		body := c.request("")
		if next != "" {
			body = c.request("", next)
		}
		c.post(c.s.path, body, gateway.HeaderMode, "observe")
		var sent struct{ Messages jsontext.Value }
		if err := json.Unmarshal([]byte(c.got.last()), &sent); err != nil {
			t.Fatal(err)
		}
		if err := c.s.valid(sent.Messages); err != nil || !strings.Contains(c.got.last(), string(quoted(text))) {
			t.Errorf("%s: %v %s", next, err, sent.Messages)
		}
	}
	// Also where the gateway only passes the request on.
	next := c.request("", `{"role":"user","content":"Go on."}`)
	if said, _, _ := c.ask(t, c.s.path, next, gateway.HeaderMode, "off"); said != "no; reason=mode" || !strings.Contains(c.got.last(), want) {
		t.Errorf("%s\n%s", said, c.got.last())
	}
	if said, _, _ := c.ask(t, c.s.path+"/count_tokens", next); said != "" || !strings.Contains(c.got.last(), want) {
		t.Errorf("%s\n%s", said, c.got.last())
	}
	odd := ` {"messages" :[{"role":"user","content":"` + gateway.OwnSignature + `"} ]}`
	if c.ask(t, c.s.path, odd, gateway.HeaderMode, "off"); c.got.last() != odd {
		t.Errorf("%s", c.got.last())
	}
	// A client that keeps what the compaction stands for sends it again.
	block1 := c.history[0]
	c.history = []string{`{"role":"user","content":"Fix the test, at once."}`, block1}
	if c.post(c.s.path, c.request("", `{"role":"user","content":"Go on."}`)); strings.Contains(c.got.last(), "at once") || !strings.Contains(c.got.last(), want) {
		t.Errorf("%s", c.got.last())
	}
	c.history = []string{block1}
	// A block that the client changed is the client's own.
	c.history = []string{strings.Replace(c.history[0], "Fix", "Break", 1)}
	changed := c.request("", `{"role":"user","content":"Go on."}`)
	if said, _, _ := c.ask(t, c.s.path, changed); said != "no; reason=provider_compacted" || c.got.last() != changed {
		t.Errorf("%s %s", said, c.got.last())
	}
}

func quoted(s string) []byte {
	b, _ := jsontext.AppendQuote(nil, s)
	return b
}

// In doubt the provider compacts.
func TestCompactionsOfTheProvider(t *testing.T) {
	responses, messages := compactions(t, "responses"), compactions(t, "messages")
	waiting, showing := compactions(t, "messages"), compactions(t, "messages")
	// The provider still compacts what is too long for it, and gets precis's prompt before that.
	for c, management := range map[*compacter]string{
		messages:  `"context_management":{"edits":[{"type":"compact_20260112","trigger":{"type":"input_tokens","value":150000}}]},`,
		responses: `"context_management":[{"type":"compaction","compact_threshold":200000}],`,
	} {
		if said, _, _ := c.ask(t, c.s.path, c.request(management)); !strings.HasPrefix(said, "yes; ") || !strings.HasPrefix(c.got.last(), "{"+management) {
			t.Errorf("%s\n%.300s", said, c.got.last())
		}
	}
	summarize := `"compaction":{"type":"summarize"},`
	image := `{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="}}]}`
	for _, test := range []struct {
		c            *compacter
		reason, path string
		body         string
		header       []string
	}{
		{responses, "mode", "/v1/responses/compact", responses.request(""), []string{gateway.HeaderMode, "observe"}},
		{responses, "kept_by_provider", "/v1/responses/compact", `{"model":"m","previous_response_id":"r1"}`, nil},
		{responses, "kept_by_provider", "/v1/responses/compact", `{"model":"m","previous_response_id":"r1","input":[]}`, nil},
		{responses, "nothing_to_shrink", "/v1/responses/compact", `{"model":"m","input":[{"role":"user","content":"Hi."},{"role":"assistant","content":"Yes."}]}`, nil},
		{responses, "new_conversation", "/v1/responses/compact", `{"model":"m","input":[{"role":"user","content":"Hi."}]}`, nil},
		{responses, "shape", "/v1/responses/compact", `{"model":"m","input":7}`, nil},
		{responses, "provider_compacted", "/v1/responses", responses.request("", `{"type":"compaction_trigger"}`), nil},
		{responses, "provider_compacted", "/v1/responses", responses.request("", `{"type":"compaction","encrypted_content":"gA"}`), nil},
		{responses, "unknown_field; member=context_management", "/v1/responses", responses.request(`"context_management":[{"type":"other"}],`), nil},
		{messages, "mode", "/v1/messages", messages.request(summarize), []string{gateway.HeaderMode, "off"}},
		{messages, "unknown_field; member=compaction", "/v1/messages", messages.request(`"compaction":{"type":"summarize","instructions":"Only names."},`), nil},
		{waiting, "diverged", "/v1/messages", waiting.request(summarize, waiting.s.back(99)...), nil}, // a call that has no result
		{showing, "media", "/v1/messages", showing.request(summarize, `{"role":"assistant","content":"Done."}`, image), nil},
		{messages, "unknown_field; member=context_management", "/v1/messages", messages.request(`"context_management":{"edits":[{"type":"clear_tool_uses_20250919"},{"type":"other"}]},`), nil},
	} {
		said, _, _ := test.c.ask(t, test.path, test.body, test.header...)
		if said != "no; reason="+test.reason || test.c.got.last() != test.body {
			t.Errorf("%s %.200s: %s, want %s\n%s", test.path, test.body, said, test.reason, test.c.log)
		}
	}
}

// Where it is not configured, everything of it passes.
func TestCompactionsNotConfigured(t *testing.T) {
	var got received
	w := begin(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got.add(string(body))
		_, _ = io.WriteString(w, `{"id":"m","type":"message","role":"assistant","content":[{"type":"compaction","content":"Short."}],"stop_reason":"compaction"}`)
	}, gateway.Options{Mode: gateway.ModeCompact, Wait: patience})
	for _, path := range []string{"/v1/responses/compact", "/v1/messages"} {
		body := `{"compaction":{"type":"summarize"},"messages":[{"role":"user","content":"Hi."},{"role":"assistant","content":"Yes."},{"role":"user","content":"Go on."}]}`
		if answer := w.post(path, body); got.last() != body || !strings.Contains(answer, "Short.") {
			t.Errorf("%s: %s", path, answer)
		}
	}
	w.counts(3, published) // the compaction is no turn
}

// A compaction leaves a precis that hangs alone as other requests do, and does not end that others leave it alone.
func TestCompactionBehind(t *testing.T) {
	w := begin(t, say("application/json", chat("Fine.")), gateway.Options{Mode: gateway.ModeCompact, Compactions: true, Wait: time.Second,
		Now: func() time.Time { return time.Unix(1, 0) }})
	w.stopProcessor()
	silent, err := w.broker.Conn().Subscribe("precis.>", func(*nats.Msg) {})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Unsubscribe() }()
	if said := w.said(t, chatPath, ask("Hi.", "Yes.", "Go on.")); said != "no; reason=behind" {
		t.Error(said)
	}
	w.eventually(func() error {
		if !w.server.Hangs() {
			return errors.New("nobody has noticed")
		}
		return nil
	})
	body := `{"model":"m","input":[{"role":"user","content":"Hi."},{"role":"assistant","content":"Yes."},{"role":"user","content":"Go on."}]}`
	begun := time.Now()
	for range 3 {
		if said := w.said(t, "/v1/responses/compact", body); said != "no; reason=behind" {
			t.Error(said)
		}
	}
	if took := time.Since(begun); took > 10*time.Second || !w.server.Hangs() {
		t.Errorf("three compactions took %s", took)
	}
}
