package processor_test

import (
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"

	"precis/api"
	"precis/internal/service"
)

// Every answer of precis.thread.context counts, by what became of it, with what its prompt and its thread hold. An explained one says
// what the provider's last report makes of it.
func TestServedPromptsAreCounted(t *testing.T) {
	s := stage(t, settings(t))
	defer s.finish()
	b := s.schedule.broker
	var mu sync.Mutex
	got, held, whole := map[string]int{}, int64(0), int64(0)
	<-s.Ready()
	svc, err := service.Start(b.Conn(), s.Processor, service.Options{Logger: logger(t), Served: func(served service.Served) {
		mu.Lock()
		defer mu.Unlock()
		got[served.Policy+" "+served.Outcome]++
		held, whole = held+served.Held, whole+served.Whole
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = svc.Stop() }()
	put(t, b.Conn(), "thread.message.w", `{"message_id":"u1","role":"user","content":"Look at the harbour."}`)
	seq := put(t, b.Conn(), "thread.message.w", `{"message_id":"a1","role":"assistant","content":"It is calm.","usage":{"input_tokens":4000}}`)
	of := counted(t, b, "w", seq)
	ask := func(name, body string) (r api.ContextReply) {
		m, err := b.Conn().RequestWithContext(within(t), api.ThreadContext+name, []byte(body))
		if err != nil {
			t.Fatal(err)
		}
		if m.Header.Get("Nats-Service-Error-Code") == "" {
			if err := json.Unmarshal(m.Data, &r); err != nil {
				t.Fatal(err)
			}
		}
		return r
	}
	r := ask("w", `{"explain":true}`)
	if n := r.Explain.PromptTokens; n == nil || *n != *of.PromptTokens || *n <= 4000 {
		t.Errorf("explained: %v, precis.thread.get says %d", n, *of.PromptTokens)
	}
	over := ask("w", `{"max_tokens":1}`)
	for i := range 9 { // more than the server takes
		seq = put(t, b.Conn(), "thread.message.large", fmt.Sprintf(`{"message_id":"m%d","role":"user","content":%q}`, i, strings.Repeat("word ", 200_000)))
	}
	ask("large", fmt.Sprintf(`{"min_event_seq":%d}`, seq))
	ask("nobody", "")
	ask("w", `{"format":"xml"}`)
	mu.Lock()
	defer mu.Unlock()
	if want := map[string]int{"default served": 1, "default over_budget": 1, "default failed": 1, " refused": 2}; !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if held != int64(r.TokenCount+over.TokenCount) || whole != 2*of.TokensTotal {
		t.Errorf("prompts of %d tokens, threads of %d", held, whole)
	}
}
