package processor_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"precis/internal/broker"
	"precis/internal/config"
	"precis/internal/processor"
	"precis/internal/thread"
	"precis/summarize"
)

// badWays are what a provider may do with a call, how the job ends then, and what it is charged for. Attempts are
// one each: how they are repeated is the ladder's own test.
var badWays = []struct {
	name   string
	do     func(w http.ResponseWriter, kind string)
	reason string // empty: the model's text is adopted
	call   string // outcome of the paid call; empty where nothing is charged
}{
	{"well", answer("Compiled every part.", "end_turn", "stop"), "", "used"},
	{"busy", status(429), "rate_limited", ""},
	{"broken", status(500), "server_error", ""},
	{"overloaded", status(529), "overloaded", ""},
	// Five failures in a row would open the circuit.
	{"cut", answer("Compiled ev", "max_tokens", "length"), "cut_off", "refused"},
	{"unauthorized", status(401), "authentication", ""},
	{"reset", reset, "connection", "unknown"},
	{"garbage", func(w http.ResponseWriter, _ string) { _, _ = io.WriteString(w, `{"choices": [}`) }, "malformed_answer", "unknown"},
	{"empty", answer("", "end_turn", "stop"), "empty", "refused"},
	{"declined", answer("I can't.", "refusal", "content_filter"), "refused_by_model", "refused"},
	{"endless", answer(strings.Repeat("part ", 2000), "end_turn", "stop"), "not_shorter_than_source", "refused"},
}

func status(code int) func(http.ResponseWriter, string) {
	return func(w http.ResponseWriter, _ string) { w.WriteHeader(code) }
}

func reset(w http.ResponseWriter, _ string) {
	conn, buf, err := w.(http.Hijacker).Hijack()
	if err != nil {
		panic(err)
	}
	_, _ = buf.WriteString("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 5000\r\n\r\n{\"id\":")
	_ = buf.Flush()
	_ = conn.Close()
}

// answer is 1,000 tokens in, of these 200 from the cache, and 50 out.
func answer(text, claude, openai string) func(http.ResponseWriter, string) {
	return func(w http.ResponseWriter, kind string) {
		w.Header().Set("Content-Type", "application/json")
		body := map[string]any{
			"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-haiku-4-5-20251001",
			"content": []any{map[string]any{"type": "text", "text": text}}, "stop_reason": claude,
			"usage": map[string]any{"input_tokens": 800, "cache_read_input_tokens": 200, "output_tokens": 50},
		}
		if kind == config.KindOpenAI {
			body = map[string]any{
				"id": "c1", "object": "chat.completion", "model": "gpt-4.1-mini-2025-04-14",
				"choices": []any{map[string]any{"index": 0, "message": map[string]any{"role": "assistant", "content": text}, "finish_reason": openai}},
				"usage":   map[string]any{"prompt_tokens": 1000, "completion_tokens": 50, "prompt_tokens_details": map[string]any{"cached_tokens": 200}},
			}
		}
		_ = json.NewEncoder(w).Encode(body)
	}
}

// Whatever a provider does, what was started ends once, on the right rung, with what it cost on record: to
// the token, by call, by summary and by thread.
func TestEveryMisbehaviourOnRecord(t *testing.T) {
	cost := map[string]int64{config.KindAnthropic: 800 + 20 + 250, config.KindOpenAI: 320 + 20 + 80}
	for _, kind := range []string{config.KindAnthropic, config.KindOpenAI} {
		t.Run(kind, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				for _, way := range badWays {
					if strings.Contains(string(body), "way-"+way.name+"-") {
						way.do(w, kind)
						return
					}
				}
			}))
			defer server.Close()
			b := openBroker(t, t.TempDir())
			p := start(t, processor.Options{Config: oneAttempt(t, kind, server.URL), Logger: logger(t), Broker: b})
			for _, way := range badWays {
				body := strings.ReplaceAll(toolResult("m1", 100), "compiled pkg", "compiled way-"+way.name+"-/pkg")
				putEvent(t, b, "tool.result."+way.name, body)
				got := endedWith(t, p, way.name)
				checkWay(t, way.name, way.reason, way.call, cost[kind], got)
				h := headerOf(t, p, way.name)
				if sum := got[len(got)-1].Cost.AmountMicroUSD; sum == nil || h.CostMicroUSD != *sum || h.LLMInput != got[len(got)-1].Usage.InputTokens {
					t.Errorf("%s: the thread sums up to %d and %d tokens, its summary to %+v %+v", way.name, h.CostMicroUSD, h.LLMInput, sum, got[len(got)-1].Usage)
				}
			}
			p.end()
		})
	}
}

func oneAttempt(t *testing.T, kind, url string) *config.Config {
	c := settings(t)
	c.Policies[0].Mode = summarize.ModeLLM
	provider := config.DefaultProvider(kind)
	provider.BaseURL, provider.APIKey, provider.MaxAttempts = url, "key", 1
	if kind == config.KindOpenAI {
		provider.BaseURL += "/v1"
	}
	c.Providers = map[string]config.Provider{config.ProviderSummarizer: provider}
	return c
}

func putEvent(t *testing.T, b *broker.Broker, subject, body string) {
	t.Helper()
	if _, err := b.JetStream().PublishMsg(within(t), &nats.Msg{Subject: subject, Data: []byte(body)}); err != nil {
		t.Fatal(err)
	}
}

// endedWith is a thread's story when its summary is there.
func endedWith(t *testing.T, p *running, thread string) []record {
	for n := 2; ; n++ {
		if got := ended(t, p, thread, n); strings.HasSuffix(got[len(got)-1].Type, ".created") {
			return got
		}
	}
}

func checkWay(t *testing.T, name, reason, call string, price int64, got []record) {
	t.Helper()
	last := got[len(got)-1]
	method, why := "llm", ""
	if reason != "" {
		method, why = "rules", "summarizer: "+reason
	}
	said := ""
	if last.FallbackReason != nil {
		said = *last.FallbackReason
	}
	if got[0].Type != "summary.started" || last.ID != got[0].SummaryID || last.Method != method || said != why {
		t.Errorf("%s: ended with %s %q %q, want %s %q", name, last.Type, last.Method, said, method, why)
	}
	if last.Usage.Attempts != 1 {
		t.Errorf("%s: %d attempts", name, last.Usage.Attempts)
	}
	paid := got[1 : len(got)-1]
	if call == "" {
		if len(paid) != 0 || *last.Cost.AmountMicroUSD != 0 {
			t.Errorf("%s: nothing is charged, and on record are %+v and %+v", name, paid, last.Cost)
		}
		return
	}
	if len(paid) != 1 || paid[0].Outcome != call {
		t.Fatalf("%s: paid %+v, want one that is %s", name, paid, call)
	}
	if call == "unknown" {
		if paid[0].Usage.Source != "estimate" || paid[0].Usage.InputTokens == 0 {
			t.Errorf("%s: %+v", name, paid[0].Usage)
		}
		return
	}
	want := fmt.Sprint(int64(1000), int64(50), int64(200), price)
	if have := fmt.Sprint(paid[0].Usage.InputTokens, paid[0].Usage.OutputTokens, paid[0].Usage.CachedInputTokens, *paid[0].Cost.AmountMicroUSD); have != want {
		t.Errorf("%s: tokens and cost %s, want %s", name, have, want)
	}
}

func headerOf(t *testing.T, p *running, name string) *thread.Header {
	t.Helper()
	if err := p.Settled(within(t)); err != nil {
		t.Fatal(err)
	}
	for id := range p.Partitions() {
		if h, err := p.View(id).Header(name); err != nil {
			t.Fatal(err)
		} else if h != nil {
			return h
		}
	}
	t.Fatalf("no thread %s", name)
	return nil
}
