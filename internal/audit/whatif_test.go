package audit_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"precis/internal/audit"
	"precis/internal/processor"
	"precis/state"
	"precis/summarize"
)

// imagine folds the log under the world's configuration as it is now.
func (w *world) imagine(set ...func(*audit.Options)) *audit.WhatIf {
	w.t.Helper()
	c, err := processor.FoldConfig(w.config, "dev")
	if err != nil {
		w.t.Fatal(err)
	}
	var res *audit.WhatIf
	w.scratch(func(o audit.Options) error {
		for _, f := range set {
			f(&o)
		}
		second, err := state.Open("second", state.Options{FS: state.Memory(), Logger: zerolog.Nop()})
		if err != nil {
			return err
		}
		res, err = audit.Imagine(within(w.t), o, second, c)
		return errors.Join(err, second.Close())
	})
	return res
}

func TestWhatIfNothingChanged(t *testing.T) {
	w := newWorld(t)
	w.config.Policies = w.config.Policies[:1]
	w.story()
	got := w.imagine()
	if !reflect.DeepEqual(got.Happened, got.Imagined) {
		t.Errorf("the same configuration comes to other totals:\nhappened %+v\nimagined %+v", got.Happened, got.Imagined)
	}
	if got.Happened.Saved() <= 0 || got.Findings != 0 {
		t.Errorf("%+v", got)
	}
}

// What a provider weighed is what the prompt of that time held. Under a policy that summarizes nothing, the same prompt would
// have weighed more, and with the same window fills where it is really full.
func TestWhatIfWeighsImaginedPrompts(t *testing.T) {
	w := newWorld(t)
	w.config.Policies = w.config.Policies[:1]
	p := &w.config.Policies[0]
	p.Compaction.Trigger, p.Compaction.ContextWindow, p.Context.KeepOutputs = summarize.Condition{Fraction: 0.7}, 20_000, summarize.KeepOutputs{}
	w.run(func(*processor.Processor) {
		output := strings.Repeat("ok  harbour/quay  0.01s\\n", 400) // some 3,000 tokens, which become 200
		for i := range 12 {
			w.put([2]string{"tool.result.t", fmt.Sprintf(`{"message_id":"r%d","tool_name":"Bash","content":"%s"}`, i, output)},
				[2]string{"thread.message.t", fmt.Sprintf(`{"message_id":"a%d","role":"assistant","content":"Run %d is done.","usage":{"input_tokens":%d}}`, i, i, 5000+100*i)})
		}
	})
	if got := w.imagine(); !reflect.DeepEqual(got.Happened, got.Imagined) || got.Happened.Summaries["compaction"] != nil {
		t.Errorf("the same configuration comes to other totals, or a window that is not full was compacted:\n%+v\n%+v", got.Happened, got.Imagined)
	}
	p.ToolOutput.OverChars = 0
	if got := w.imagine(); got.Imagined.Summaries["compaction"] == nil {
		t.Error("outputs that stand whole fill the window, and nothing was compacted")
	}
}

func TestWhatIf(t *testing.T) {
	w := newWorld(t)
	w.story()
	before := w.messages("SUMMARIES")
	w.config.Policies[0].ToolOutput.OverChars = 0
	w.config.Policies[1].ToolOutput.OverChars = 100
	w.config.Policies[0].Mode, w.config.Policies[0].Compaction.Trigger = summarize.ModeRules, summarize.Condition{Messages: 5}
	got := w.imagine()
	made := got.Imagined.Summaries["tool_result"]
	if made == nil || made.Count != 2 || made.Methods["llm"] != 2 {
		t.Errorf("tool results %+v, want the two by the model", made)
	}
	if got.Imagined.ModelCalls != 2 || got.Imagined.CostMicroUSD <= 0 {
		t.Errorf("calls are not priced: %+v", got.Imagined)
	}
	if a, b := got.Happened.Summaries["compaction"].Count, got.Imagined.Summaries["compaction"].Count; b <= a {
		t.Errorf("%d compactions where a thread is compacted sooner, %d before", b, a)
	}
	if len(got.Estimates) == 0 || got.Estimates[0].Calls != got.Imagined.Summaries["compaction"].Count {
		t.Errorf("estimates %+v", got.Estimates)
	}
	if after := w.messages("SUMMARIES"); len(after) != len(before) {
		t.Error("something was published")
	}
}
