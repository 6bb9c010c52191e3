package audit_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"precis/api"
	"precis/events"
	"precis/internal/audit"
	"precis/internal/broker"
	"precis/internal/content"
	"precis/internal/processor"
	"precis/internal/service"
	"precis/state"
	"precis/summarize"
	"precis/summarize/tokens"
)

// What a replay and a what-if say of tokens is what messages and prompts hold, counted here from the texts alone: of a
// thread with leaves, nodes and many versions of the current summary, and of tool outputs beside it.
func TestTokensOfPrompts(t *testing.T) {
	w := newWorld(t)
	w.run(func(*processor.Processor) {
		for i := range 70 {
			w.put(line(i, []string{"user", "assistant"}[i%2]))
		}
		w.put([2]string{"message.edited.long", `{"message_id":"l2","content":"Line 2 says less."}`},
			[2]string{"message.edited.long", `{"message_id":"l69","deleted":true}`},
			[2]string{"tool.result.rules", `{"message_id":"r1","tool_name":"bash","content":` + fmt.Sprintf("%q", strings.Repeat("compiled one more part\n", 200)) + `}`},
			[2]string{"thread.message.rules", `{"message_id":"r2","role":"assistant","content":"It compiles."}`})
	})
	levels := 0
	for _, r := range w.rows(audit.Filter{Thread: "long"}, events.SummaryCreated) {
		levels = max(levels, r.Record.(*events.Summary).Level)
	}
	if levels < 2 {
		t.Fatalf("%d levels", levels)
	}
	want := map[string]audit.Tokens{"long": w.counted("long"), "rules": w.counted("rules")}
	sum := audit.Tokens{Total: want["long"].Total + want["rules"].Total, Live: want["long"].Live + want["rules"].Live}
	if sum.Live >= sum.Total {
		t.Fatalf("%+v: prompts hold no less", sum)
	}
	hold := func(name string, got audit.Totals) {
		if got.Tokens != sum {
			t.Errorf("%s: %+v, counted %+v", name, got.Tokens, sum)
		}
		for _, own := range got.Threads {
			if own.Tokens != want[own.Thread] {
				t.Errorf("%s: %s holds %+v, counted %+v", name, own.Thread, own.Tokens, want[own.Thread])
			}
		}
		if len(got.Threads) != len(want) {
			t.Errorf("%s: %+v", name, got.Threads)
		}
	}
	hold("replay", w.replay().Totals)
	same := w.imagine()
	hold("happened", same.Happened)
	hold("imagined the same", same.Imagined)
	w.config.Policies[0].Compaction.Trigger = summarize.Condition{}
	w.config.Policies[0].ToolOutput.OverChars = 0
	if got := w.imagine().Imagined.Tokens; got.Live != sum.Total || got.Total != sum.Total {
		t.Errorf("imagined without summaries: %+v, want all of %d", got, sum.Total)
	}
}

// counted are a thread's tokens, from the events and from the prompt that it would be given.
func (w *world) counted(name string) (sum audit.Tokens) {
	w.t.Helper()
	counter, err := tokens.For(summarize.TokenizerEstimate)
	if err != nil {
		w.t.Fatal(err)
	}
	texts := map[string]string{}
	for _, m := range w.messages(broker.StreamEvents) {
		var e struct {
			ID      string `json:"message_id"`
			Content string `json:"content"`
			Deleted bool   `json:"deleted"`
		}
		if err := json.Unmarshal(m.Data, &e); err == nil && strings.HasSuffix(m.Subject, "."+name) {
			texts[e.ID] = e.Content
		}
	}
	for _, text := range texts {
		sum.Total += int64(counter.Count(text))
	}
	w.tell(name, audit.Moment{}, func(s *audit.Story, store *state.Store) {
		reply, err := service.ReadContext(within(w.t), service.Reading{
			View: store.View(s.Partition), Policies: s.Policies,
			Log: content.Uncached{Log: broker.NewLogReader(w.broker.JetStream(), broker.StreamEvents)},
		}, name, api.ContextRequest{Format: "messages"})
		var prompt []struct {
			Content string `json:"content"`
		}
		if err == nil {
			err = json.Unmarshal(reply.Messages, &prompt)
		}
		if err != nil {
			w.t.Fatal(err)
		}
		for _, m := range prompt {
			text := strings.TrimPrefix(m.Content, w.config.Policies[0].Context.SummaryHeading)
			sum.Live += int64(counter.Count(strings.TrimSpace(text)))
		}
	})
	return sum
}
