package processor_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"precis/api"
	"precis/internal/broker"
	"precis/internal/config"
	"precis/internal/processor"
	"precis/internal/service"
	"precis/summarize"
)

// counted is a thread's answer of precis.thread.get after an event.
func counted(t *testing.T, b *broker.Broker, name string, seq uint64) (r api.ThreadReply) {
	t.Helper()
	m, err := b.Conn().RequestWithContext(within(t), "precis.thread.get."+name, []byte(fmt.Sprintf(`{"min_event_seq":%d}`, seq)))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(m.Data, &r); err != nil {
		t.Fatalf("%v: %s", err, m.Data)
	}
	return r
}

// What a provider said of a prompt is corrected by all that changes the thread's prompt since: messages, edits, deletions,
// summaries, compactions.
func TestPromptWeighsWhatProviderSays(t *testing.T) {
	c := settings(t)
	c.Policies[0].Compaction.Trigger = summarize.Condition{}
	c.Policies[0].Compaction.Keep = summarize.Keep{Messages: 2}
	s := stage(t, c)
	defer s.finish()
	b := s.schedule.broker
	svc, err := service.Start(b.Conn(), s.Processor, service.Options{Logger: logger(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = svc.Stop() }()
	say := func(kind, body string) api.ThreadReply {
		return counted(t, b, "w", put(t, b.Conn(), kind+".w", body))
	}

	if r := say("thread.message", `{"message_id":"u1","role":"user","content":"Look at the harbour.","usage":{"input_tokens":77}}`); r.PromptTokens != nil || r.Reported != nil {
		t.Errorf("only an assistant's usage counts: %+v", r.Reported)
	}
	before := counted(t, b, "w", 0).TokensLive
	r := say("thread.message", `{"message_id":"a1","role":"assistant","content":"I look.","tool_calls":[{"id":"c1","name":"Read","arguments":{}}],"model":"sea-1",
		"usage":{"input_tokens":100,"cache_read_input_tokens":9000,"cache_creation_input_tokens":400,"output_tokens":5}}`)
	weighs := func(r api.ThreadReply, step string) {
		t.Helper()
		if r.PromptTokens == nil {
			t.Fatalf("%s: nothing is reported", step)
		}
		if got, want := *r.PromptTokens, 9500+r.TokensLive-before; got != want {
			t.Errorf("%s: %d tokens in the prompt, want %d", step, got, want)
		}
	}
	weighs(r, "the call's own answer is in the next prompt")
	want := api.ProviderUsage{InputTokens: 9500, OutputTokens: 5, CachedInputTokens: 9000, CacheCreationInputTokens: 400}
	if got := r.Reported; got == nil || got.MessageID != "a1" || *got.Model != "sea-1" || got.Usage != want || got.Total != want || got.Calls != 1 {
		t.Fatalf("reported: %+v", got)
	}
	output := strings.Repeat("ok  harbour/quay  0.01s\n", 200)
	whole := say("tool.result", fmt.Sprintf(`{"message_id":"r1","tool_call_id":"c1","tool_name":"Read","content":%q}`, output))
	weighs(whole, "an output that stands whole")
	r = say("thread.message", `{"message_id":"a2","role":"assistant","content":"All is well there."}`)
	if weighs(r, "an output that was read"); r.TokensLive >= whole.TokensLive {
		t.Error("the output's summary does not stand in for it")
	}
	weighs(say("message.edited", `{"message_id":"u1","content":"Look at the harbour, and then at the whole of the coast."}`), "an edit")
	weighs(say("message.edited", `{"message_id":"a2","deleted":true}`), "a deletion")
	weighs(say("thread.message", `{"message_id":"u2","role":"user","content":"Go on."}`), "a message")
	weighs(say("thread.message", `{"message_id":"a3","role":"assistant","content":"I go on."}`), "and its answer without usage")
	held := counted(t, b, "w", 0)
	if _, err := b.Conn().RequestWithContext(within(t), "precis.thread.summarize.w", nil); err != nil {
		t.Fatal(err)
	}
	if r = counted(t, b, "w", 0); r.TokensLive >= held.TokensLive {
		t.Fatal("nothing was compacted")
	}
	weighs(r, "a compaction")
	r = say("thread.message", `{"message_id":"a4","role":"assistant","content":"Done.","usage":{"prompt_tokens":8000,"completion_tokens":2}}`)
	if *r.PromptTokens != 8000+1 && *r.PromptTokens != 8000+2 || r.Reported.Calls != 2 || r.Reported.Model != nil || r.Reported.Total.InputTokens != 17_500 {
		t.Errorf("the next call: %d tokens, %+v", *r.PromptTokens, r.Reported)
	}
}

// The window is full when the provider says so, whatever the thread alone weighs: its system prompt and tools count. By the
// tokenizer it is not, and so it is where no usage is reported.
func TestWindowFillsByProvider(t *testing.T) {
	for name, test := range map[string]struct {
		window string
		usage  string
		cuts   bool
	}{
		"provider":            {summarize.WindowProvider, `{"input_tokens":15000}`, true},
		"the provider's room": {summarize.WindowProvider, `{"input_tokens":9000}`, false},
		"no usage":            {summarize.WindowProvider, `null`, false},
		"tokenizer":           {summarize.WindowTokenizer, `{"input_tokens":15000}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			c := settings(t)
			p := &c.Policies[0]
			p.Compaction.Trigger, p.Compaction.ContextWindow = summarize.Condition{Fraction: 0.7}, 20_000
			p.Compaction.Keep, p.Compaction.Window = summarize.Keep{Messages: 4}, test.window
			if name == "provider" {
				p.Compaction.Window = config.Default().Policies[0].Compaction.Window
			}
			s := stage(t, c)
			defer s.finish() // replays, and makes the store again
			b := s.schedule.broker
			text := strings.Repeat("On this leg the wind is north and the log says six knots. ", 16)
			for i := range 20 {
				put(t, b.Conn(), "thread.message.v", fmt.Sprintf(`{"message_id":"u%d","role":"user","content":%q}`, i, text))
				put(t, b.Conn(), "thread.message.v", fmt.Sprintf(`{"message_id":"a%d","role":"assistant","content":%q,"usage":%s}`, i, text, test.usage))
			}
			s.settled()
			sum, _, err := holder(s.View(s.partition("v")), "v", "current")
			if err != nil || (sum != nil) != test.cuts {
				t.Fatalf("compacted %t, %v", sum != nil, err)
			}
			if sum != nil && !strings.Contains(string(sum.Record), `"reason":"window_fraction"`) {
				t.Errorf("%s", sum.Record)
			}
		})
	}
}

// Tokens of prompts count for the thread's first agent, its policy and the model that its messages reported last.
func TestPromptTokensByAgentAndModel(t *testing.T) {
	c := settings(t)
	b := openBroker(t, processor.BrokerDir(c.DataDir))
	p := start(t, processor.Options{Config: c, Logger: logger(t), Broker: b})
	svc, err := service.Start(b.Conn(), p, service.Options{Logger: logger(t), Served: p.CountServed})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = svc.Stop()
		p.end()
	}()
	<-p.Ready()
	put(t, b.Conn(), "tool.result.s", fmt.Sprintf(`{"message_id":"r1","tool_name":"Read","agent_id":"coder","content":%q}`, strings.Repeat("ok  harbour/quay  0.01s\n", 400)))
	put(t, b.Conn(), "thread.message.s", `{"message_id":"a1","role":"assistant","content":"Fine.","agent_id":"other","model":"sea-1","usage":{"input_tokens":9500,"output_tokens":5}}`)
	if err := p.Settled(within(t)); err != nil {
		t.Fatal(err)
	}
	served(t, b.Conn(), "thread.context", "s", "")
	var held, whole float64
	await(t, "the prompt's tokens", func() bool {
		families, err := p.Registry().Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range families {
			for _, of := range f.GetMetric() {
				label := map[string]string{}
				for _, l := range of.GetLabel() {
					label[l.GetName()] = l.GetValue()
				}
				if f.GetName() != "precis_prompt_tokens_total" || label["agent"] != "coder" || label["model"] != "sea-1" || label["policy"] != c.Policies[0].Name {
					continue
				}
				if n := of.GetCounter().GetValue(); label["side"] == "held" {
					held = n
				} else {
					whole = n
				}
			}
		}
		return whole > 0
	})
	if held <= 0 || held >= whole {
		t.Errorf("%v of %v tokens", held, whole)
	}
}
