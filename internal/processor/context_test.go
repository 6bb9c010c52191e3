package processor_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go/jetstream"

	"precis/events"
	"precis/internal/broker"
	"precis/internal/processor"
	"precis/internal/service"
	"precis/summarize"
	"precis/summarize/prompt"
)

// prompted is what tests look at of an answer of precis.thread.context.
type prompted struct {
	Messages     []promptMessage `json:"messages"`
	TokenCount   int             `json:"token_count"`
	WithinBudget bool            `json:"within_budget"`
	SummaryIDs   []string        `json:"summary_ids"`
	Dropped      []string        `json:"dropped_message_ids"`
}

type promptMessage struct {
	Role       string `json:"role"`
	Content    any    `json:"content"`
	ToolCallID string `json:"tool_call_id"`
	ToolCalls  []struct {
		ID string `json:"id"`
	} `json:"tool_calls"`
}

// context asks for a thread's prompt and returns it with its bytes.
func promptOf(t testing.TB, b *broker.Broker, thread string, request string) (prompted, string) {
	t.Helper()
	token, err := events.Token(thread)
	if err != nil {
		t.Fatal(err)
	}
	reply, err := b.Conn().RequestWithContext(within(t), "precis.thread.context."+token, []byte(request))
	if err != nil {
		t.Fatal(err)
	}
	if code := reply.Header.Get("Nats-Service-Error-Code"); code != "" {
		t.Fatalf("context of %s: %s %s", thread, code, reply.Header.Get("Nats-Service-Error"))
	}
	var p prompted
	if err := json.Unmarshal(reply.Data, &p); err != nil {
		t.Fatal(err)
	}
	return p, string(reply.Data)
}

// serving is a running processor that answers requests.
func serving(t testing.TB, o processor.Options) *running {
	t.Helper()
	p, stop := servingUntil(t, o)
	t.Cleanup(stop)
	return p
}

// servingUntil is a processor that answers until stop is called.
func servingUntil(t testing.TB, o processor.Options) (p *running, stop func()) {
	t.Helper()
	p = start(t, o)
	svc, err := service.Start(o.Broker.Conn(), p, service.Options{Logger: logger(t)})
	if err != nil {
		t.Fatal(err)
	}
	<-p.Ready()
	return p, func() {
		if err := svc.Stop(); err != nil {
			t.Errorf("stop service: %v", err)
		}
		p.end()
	}
}

func TestContextOfALongThread(t *testing.T) {
	c := settings(t)
	c.Policies[0].Compaction.Trigger = summarize.Condition{Messages: 20}
	c.Policies[0].Compaction.Keep = summarize.Keep{Messages: 6}
	b := openBroker(t, t.TempDir())
	p := serving(t, processor.Options{Config: c, Logger: logger(t), Broker: b})
	put(t, b.Conn(), "thread.message.t1", `{"message_id":"s","role":"system","content":"You build ships."}`)
	for i := range 100 {
		put(t, b.Conn(), "thread.message.t1",
			fmt.Sprintf(`{"message_id":"u%d","role":"user","content":"Please change file%d.go so that it floats better than before, number %d."}`, i, i, i),
			fmt.Sprintf(`{"message_id":"a%d","role":"assistant","content":"I will.","tool_calls":[{"id":"c%d","name":"Write","arguments":{"file_path":"/ship/file%d.go","content":"package ship"}}]}`, i, i, i))
		put(t, b.Conn(), "tool.result.t1", fmt.Sprintf(`{"message_id":"r%d","tool_call_id":"c%d","tool_name":"Write","content":"written"}`, i, i))
	}
	if err := p.Settled(within(t)); err != nil {
		t.Fatal(err)
	}
	got, first := promptOf(t, b, "t1", `{"format":"openai"}`)
	if _, again := promptOf(t, b, "t1", `{"format":"openai"}`); again != first {
		t.Error("the same context again is another one")
	}
	if got.Messages[0].Role != "system" || got.Messages[0].Content != "You build ships." {
		t.Errorf("begins with %+v", got.Messages[0])
	}
	if text, _ := got.Messages[1].Content.(string); !strings.HasPrefix(text, "[Previous Conversation Summary]\n") || !strings.Contains(text, "file90.go") {
		t.Errorf("then %+v", got.Messages[1])
	}
	if len(got.Messages) > 40 {
		t.Errorf("%d messages are left of 301", len(got.Messages))
	}
	checkPairs(t, got)
	if last, _ := promptOf(t, b, "t1", `{"format":"openai","max_tokens":400}`); last.WithinBudget && last.TokenCount > 400 {
		t.Errorf("%d tokens, at most 400", last.TokenCount)
	}
}

// Readers share what they read of the log: many at once, while the thread is edited, all get what stands.
func TestContextForManyReaders(t *testing.T) {
	b := openBroker(t, t.TempDir())
	serving(t, processor.Options{Config: settings(t), Logger: logger(t), Broker: b})
	for i := range 30 {
		put(t, b.Conn(), "thread.message.t1", fmt.Sprintf(`{"message_id":"u%d","role":"user","content":"Paint hull%d.go."}`, i, i))
	}
	for round := range 5 {
		seq := put(t, b.Conn(), "message.edited.t1", fmt.Sprintf(`{"message_id":"u3","content":"Sink hull%d.go."}`, 100+round))
		var readers sync.WaitGroup
		for range 8 {
			readers.Go(func() {
				reply, err := b.Conn().RequestWithContext(t.Context(), "precis.thread.context.t1", fmt.Appendf(nil, `{"min_event_seq":%d}`, seq))
				if err != nil {
					t.Errorf("context: %v", err)
					return
				}
				if body := string(reply.Data); !strings.Contains(body, fmt.Sprintf("hull%d.go", 100+round)) || strings.Contains(body, "hull3.go") {
					t.Errorf("round %d: %s", round, body)
				}
			})
		}
		readers.Wait()
	}
}

// checkPairs holds every call to its result and every result to its call.
func checkPairs(t *testing.T, p prompted) {
	t.Helper()
	open := map[string]bool{}
	for _, m := range p.Messages {
		for _, call := range m.ToolCalls {
			open[call.ID] = true
		}
		if m.Role == "tool" {
			if !open[m.ToolCallID] {
				t.Errorf("result of %q without its call", m.ToolCallID)
			}
			delete(open, m.ToolCallID)
		}
	}
	for id := range open {
		t.Errorf("call %q without its result", id)
	}
}

func TestContextAfterAnEditOfWhatIsSummarized(t *testing.T) {
	c := settings(t)
	c.Policies[0].Compaction.Trigger = summarize.Condition{Messages: 8}
	c.Policies[0].Compaction.Keep = summarize.Keep{Messages: 3}
	b := openBroker(t, t.TempDir())
	p := serving(t, processor.Options{Config: c, Logger: logger(t), Broker: b})
	for i := range 40 {
		put(t, b.Conn(), "thread.message.t1", fmt.Sprintf(`{"message_id":"u%d","role":"user","content":"Wish %d: paint hull%d.go in a colour that lasts."}`, i, i, i))
	}
	seq := put(t, b.Conn(), "message.edited.t1", `{"message_id":"u2","content":"Wish 2: burn secretplan.go at once."}`)
	_, body := promptOf(t, b, "t1", fmt.Sprintf(`{"format":"openai","min_event_seq":%d}`, seq))
	if strings.Contains(body, "hull2.go") {
		t.Errorf("after the edit the prompt says: %s", body)
	}
	if err := p.Settled(within(t)); err != nil {
		t.Fatal(err)
	}
	var leaves, again int
	for _, r := range story(t, b, "t1") {
		if r.Type != "summary.created" {
			continue
		}
		leaves++
		if r.Version > 1 {
			again++
		}
	}
	if leaves < 4 || again == 0 {
		t.Errorf("%d summaries, %d made again", leaves, again)
	}
}

// A prompt that had a message before retention took it has it no longer a few seconds later.
func TestContextForgetsWhatRetentionTakes(t *testing.T) {
	b, clock := openBroker(t, t.TempDir()), &clockAhead{}
	p := serving(t, processor.Options{Config: settings(t), Broker: b, Logger: logger(t), Now: clock.now})
	put(t, b.Conn(), "thread.message.t", `{"message_id":"first","role":"user","content":"The first."}`)
	last := put(t, b.Conn(), "thread.message.t", `{"message_id":"last","role":"user","content":"The last."}`)
	if err := p.Settled(within(t)); err != nil {
		t.Fatal(err)
	}
	if _, text := promptOf(t, b, "t", `{}`); !strings.Contains(text, "The first.") {
		t.Fatalf("before: %s", text)
	}
	stream, err := b.JetStream().Stream(within(t), broker.StreamEvents)
	if err == nil {
		err = stream.Purge(within(t), jetstream.WithPurgeSequence(last))
	}
	if err != nil {
		t.Fatal(err)
	}
	clock.forward(10 * time.Second)
	if got, text := promptOf(t, b, "t", `{}`); strings.Contains(text, "The first.") || !strings.Contains(text, "The last.") || !slices.Equal(got.Dropped, []string{"first"}) {
		t.Errorf("dropped %q, and the prompt is %s", got.Dropped, text)
	}
}

// What retention has taken stands in no prompt, is named, and is not counted; summaries and what is left stay.
func TestContextBeyondRetention(t *testing.T) {
	b := openBroker(t, t.TempDir())
	p := serving(t, processor.Options{Config: settings(t), Broker: b, Logger: logger(t)})
	nc := b.Conn()
	put(t, nc, "thread.message.t", `{"message_id":"system","role":"system","content":"Be careful."}`,
		`{"message_id":"pinned","role":"user","content":"Keep this.","pinned":true}`,
		`{"message_id":"call","role":"assistant","content":null,"tool_calls":[{"id":"c1","name":"bash","arguments":{}}]}`)
	put(t, nc, "tool.result.t", `{"message_id":"small","tool_call_id":"c1","tool_name":"bash","content":"done"}`,
		`{"message_id":"large","tool_name":"bash","content":"`+strings.Repeat("a line of output\\n", 300)+`"}`)
	asked := put(t, nc, "thread.message.t", `{"message_id":"asked","role":"user","content":"And now?"}`)
	if err := p.Settled(within(t)); err != nil {
		t.Fatal(err)
	}
	stream, err := b.JetStream().Stream(within(t), "EVENTS")
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Purge(within(t), jetstream.WithPurgeSequence(asked)); err != nil {
		t.Fatal(err)
	}
	for _, format := range prompt.Formats() {
		got, text := promptOf(t, b, "t", fmt.Sprintf(`{"format":%q}`, format))
		if want := []string{"system", "pinned", "call", "small"}; !slices.Equal(got.Dropped, want) {
			t.Errorf("%s: dropped %q, want %q", format, got.Dropped, want)
		}
		if len(got.SummaryIDs) != 1 || len(got.Messages) != 3 || !strings.Contains(text, "And now?") {
			t.Errorf("%s: %s", format, text)
		}
	}
}
