package llm

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"precis/events"
)

func kindOfRequest(body string) string {
	switch {
	case strings.Contains(body, "This is part "):
		return "part"
	case strings.Contains(body, "consecutive parts"):
		return "merge"
	}
	return "whole"
}

func TestLongMaterialIsSummarizedInPartsAndMerged(t *testing.T) {
	for _, c := range []struct {
		name         string
		lines, input int
		kinds        map[string]int
	}{
		{"in one call", 100, 5000, map[string]int{"whole": 1}},
		{"no limit", 5000, 0, map[string]int{"whole": 1}},
		{"in three parts", 300, 5000, map[string]int{"part": 3, "merge": 1}},
		{"in so many that their summaries need parts", 3000, 3000, map[string]int{"part": 39 + 4, "merge": 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer(map[string][]act{OpenAI: {says(strings.Repeat("short ", 30))}})
				l := serve(t, s, Options{})
				job := testJob(OpenAI)
				job.Content = numberedLines(c.lines)
				job.MaxInputChars = c.input
				o := l.Run(t.Context(), job)
				if o.Method != events.MethodLLM {
					t.Fatalf("by %s: %s", o.Method, o.FallbackReason)
				}
				kinds := map[string]int{}
				var sent strings.Builder
				for _, q := range s.requests {
					kinds[kindOfRequest(q.body)]++
					if kindOfRequest(q.body) != "merge" {
						sent.WriteString(q.body)
					}
				}
				if fmt.Sprint(kinds) != fmt.Sprint(c.kinds) {
					t.Errorf("requests %v, want %v", kinds, c.kinds)
				}
				for i := range c.lines {
					if !strings.Contains(sent.String(), fmt.Sprintf("entry %05d ", i)) {
						t.Fatalf("entry %d was not sent", i)
					}
				}
				if len(o.Calls) != len(s.requests) || o.Usage().Attempts != len(s.requests) {
					t.Errorf("%d calls told, %d made", len(o.Calls), len(s.requests))
				}
			})
		})
	}
}

func numberedLines(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "entry %05d of a long log that goes on\n", i)
	}
	return b.String()
}

// windowed is a handler that knows its request's length.
type windowed struct {
	*server
	limit int
}

func (s windowed) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength > int64(s.limit) {
		fails(400, "invalid_request_error", "context_length_exceeded", "This model's maximum context length is 8192 tokens.")(w, r)
		return
	}
	s.server.ServeHTTP(w, r)
}

// Where the material is too long for the model, whatever the configuration says, it is parted.
func TestTooLongForTheModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := windowed{newServer(map[string][]act{OpenAI: {says("summary")}}), 9000}
		l := serveHandler(t, s, Options{})
		job := testJob(OpenAI)
		job.Content = numberedLines(600) // 22,800 characters: too long in one, and in halves; not in quarters
		o := l.Run(t.Context(), job)
		if o.Text != "summary" || o.Method != events.MethodLLM {
			t.Fatalf("%q by %s (%s)", o.Text, o.Method, o.FallbackReason)
		}
		var outcomes []string
		for _, c := range o.Calls {
			outcomes = append(outcomes, strings.TrimSuffix(c.Outcome+":"+c.Why, ":"))
		}
		want := "failed:context_too_long failed:context_too_long used used used used used"
		if got := strings.Join(outcomes, " "); got != want {
			t.Fatalf("calls %s\nwant  %s", got, want)
		}
	})
}

// A part that fails takes the whole rung with it; what its other parts cost is told, as not used.
func TestAFailedPartFailsTheRung(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(map[string][]act{OpenAI: {says("one"), says("")}, Anthropic: {says("two")}})
		l := serve(t, s, Options{})
		job := testJob(OpenAI, Anthropic)
		job.MaxInputChars = 3000
		o := l.Run(t.Context(), job)
		sameOutcome(t, o, Outcome{Text: "two", Method: events.MethodLLM, Provider: Anthropic, FallbackReason: "openai: empty (2 calls)"})
		sameCalls(t, o, []line{
			good(OpenAI, CallFailed, "not_used"), good(OpenAI, CallRefused, "empty"),
			good(Anthropic, CallUsed, ""), good(Anthropic, CallUsed, ""), good(Anthropic, CallUsed, ""),
		})
	})
}

// What goes over the wire, by provider.
func TestRequestsOnTheWire(t *testing.T) {
	for _, c := range []struct {
		kind, base, model string
		want              map[string]float64
	}{
		{OpenAI, "http://llm.test/v1", "gpt-4.1-mini", map[string]float64{"max_tokens": 704}},
		{OpenAI, "http://llm.test/v1/", "llama3", map[string]float64{"max_tokens": 704}},
		{OpenAI, "http://llm.test/v1", "gpt-5-mini", map[string]float64{"max_completion_tokens": 704 + roomToThink}},
		{Anthropic, "http://llm.test", "claude-haiku-4-5", map[string]float64{"max_tokens": 704}},
		{Anthropic, "http://llm.test/v1", "claude-haiku-5-5", map[string]float64{"max_tokens": 704 + roomToThink}},
	} {
		t.Run(c.model, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				t.Setenv("ANTHROPIC_BASE_URL", "http://elsewhere.test")
				t.Setenv("ANTHROPIC_API_KEY", "key-of-someone-else")
				s := newServer(map[string][]act{c.kind: {says("summary")}})
				l := serve(t, s, Options{Providers: with(c.kind, func(p *ProviderConfig) { p.BaseURL, p.Model = c.base, c.model })})
				if o := l.Run(t.Context(), testJob(c.kind)); o.Text != "summary" {
					t.Fatalf("%+v", o)
				}
				var body map[string]any
				if err := json.Unmarshal([]byte(s.requests[0].body), &body); err != nil {
					t.Fatal(err)
				}
				for key, want := range c.want {
					if body[key] != want {
						t.Errorf("%s is %v, want %v", key, body[key], want)
					}
				}
				if body["model"] != c.model || body["temperature"] != nil {
					t.Errorf("model %v, temperature %v", body["model"], body["temperature"])
				}
			})
		})
	}
}
