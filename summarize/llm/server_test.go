package llm

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// An act is what the server does with one request.
type act func(w http.ResponseWriter, r *http.Request)

// server speaks both wire formats: it answers each provider's requests by that provider's script, and
// the last act stands for all that follow.
type server struct {
	mu       sync.Mutex
	scripts  map[string][]act // by kind
	requests []seen
	calls    map[string]int
}

// seen is a request as it arrived.
type seen struct {
	kind, body string
	at         time.Time
}

func newServer(scripts map[string][]act) *server {
	return &server{scripts: scripts, calls: map[string]int{}}
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	kind := kindByPath(r)
	s.mu.Lock()
	s.requests = append(s.requests, seen{kind, string(body), time.Now()})
	script, n := s.scripts[kind], s.calls[kind]
	s.calls[kind]++
	s.mu.Unlock()
	if len(script) == 0 {
		http.Error(w, "no script for "+r.URL.Path, http.StatusNotFound)
		return
	}
	script[min(n, len(script)-1)](w, r)
}

func kindByPath(r *http.Request) string {
	switch {
	case r.URL.Path == "/v1/chat/completions" && r.Header.Get("Authorization") == "Bearer key-openai":
		return OpenAI
	case r.URL.Path == "/v1/messages" && r.Header.Get("X-Api-Key") == "key-anthropic":
		return Anthropic
	}
	return ""
}

// pipes is a network in memory, so that a test's clock can be the bubble's.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), done: make(chan struct{})} }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case p.conns <- far:
		return near, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { close(p.done); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipes"} }

// serve runs the server and gives a ladder whose providers reach it; both end with the test.
func serve(t *testing.T, s *server, o Options) *Ladder { return serveHandler(t, s, o) }

func serveHandler(t *testing.T, s http.Handler, o Options) *Ladder {
	t.Helper()
	if o.Providers == nil {
		o.Providers = bothProviders()
	}
	if o.Random == nil {
		o.Random = func() float64 { return 1 }
	}
	network := newPipes()
	h := &http.Server{Handler: s}
	stopped := make(chan struct{})
	go func() { defer close(stopped); _ = h.Serve(network) }()
	l, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range l.endpoints {
		transportOf(e.provider).base.DialContext = network.dial
	}
	t.Cleanup(func() { l.Close(); _ = h.Close(); <-stopped })
	return l
}

func transportOf(p Provider) transport {
	if c, ok := p.(*claude); ok {
		return c.transport
	}
	return p.(*openAI).transport
}

func bothProviders() map[string]ProviderConfig {
	return map[string]ProviderConfig{
		OpenAI:    {Kind: OpenAI, BaseURL: "http://llm.test/v1", Model: "gpt-4.1-mini", APIKey: "key-openai"},
		Anthropic: {Kind: Anthropic, BaseURL: "http://llm.test", Model: "claude-haiku-4-5-20251001", APIKey: "key-anthropic"},
	}
}

// says answers well: 1,000 tokens in, 200 of them cached, 50 out.
func says(text string) act { return answers(text, FinishStop) }

func answers(text string, finish FinishReason) act {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(answerFor(kindByPath(r), text, finish))
	}
}

type object = map[string]any

func answerFor(kind, text string, finish FinishReason) object {
	if kind == Anthropic {
		reason := map[FinishReason]string{FinishStop: "end_turn", FinishLength: "max_tokens", FinishRefusal: "refusal", FinishOther: "pause_turn"}[finish]
		content := []object{{"type": "text", "text": text}}
		if text == "" {
			content = []object{}
		}
		return object{
			"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-haiku-4-5-20251001", "content": content, "stop_reason": reason,
			"usage": object{"input_tokens": 800, "cache_read_input_tokens": 200, "cache_creation_input_tokens": 0, "output_tokens": 50},
		}
	}
	message := object{"role": "assistant", "content": text}
	reason := map[FinishReason]string{FinishStop: "stop", FinishLength: "length", FinishRefusal: "content_filter", FinishOther: "tool_calls"}[finish]
	return object{
		"id": "chatcmpl-1", "object": "chat.completion", "model": "gpt-4.1-mini-2025-04-14",
		"choices": []object{{"index": 0, "message": message, "finish_reason": reason}},
		"usage":   object{"prompt_tokens": 1000, "completion_tokens": 50, "total_tokens": 1050, "prompt_tokens_details": object{"cached_tokens": 200}},
	}
}

// fails answers with a status and the provider's own words for it.
func fails(status int, errorType, code, message string, headers ...string) act {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(object{"type": "error", "error": object{"type": errorType, "code": code, "message": message}})
	}
}

// later gives a Retry-After as an HTTP date, so many seconds ahead of the server's clock.
func later(status, seconds int) act {
	return func(w http.ResponseWriter, r *http.Request) {
		at := time.Now().Add(time.Duration(seconds) * time.Second).UTC().Format(http.TimeFormat)
		fails(status, "rate_limit_error", "", "slow down", "Retry-After", at)(w, r)
	}
}

// sleeps never answers; it ends when the client has gone.
func sleeps(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

// breaksOff promises a long body, sends a little of it and drops the connection.
func breaksOff(w http.ResponseWriter, _ *http.Request) {
	conn, buf, err := w.(http.Hijacker).Hijack()
	if err != nil {
		panic(err)
	}
	fmt.Fprintf(buf, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 5000\r\n\r\n{\"id\":")
	_ = buf.Flush()
	_ = conn.Close()
}

// raw answers 200 with whatever bytes.
func raw(contentType, body string) act {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		_, _ = io.WriteString(w, body)
	}
}

// endless sends more than anyone wants to read.
func endless(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"id":"`)
	chunk := strings.Repeat("x", 1<<20)
	for range 20 {
		if _, err := io.WriteString(w, chunk); err != nil {
			return
		}
	}
}
