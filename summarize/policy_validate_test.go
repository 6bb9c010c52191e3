package summarize_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"precis/summarize"
)

func TestDefaultIsValid(t *testing.T) {
	if problems := summarize.Default().Validate(); problems != nil {
		t.Errorf("got %v", problems)
	}
}

func TestValidateNamesTheSetting(t *testing.T) {
	type condition = summarize.Condition
	for _, c := range []struct {
		change func(*summarize.Policy)
		keys   []string
	}{
		{func(p *summarize.Policy) { p.Name = "" }, []string{"name"}},
		{func(p *summarize.Policy) { p.Match.AgentID = "[" }, []string{"match.agent_id"}},
		{func(p *summarize.Policy) { p.Mode = "" }, []string{"mode"}},
		{func(p *summarize.Policy) { p.Tokenizer = "gpt2" }, []string{"tokenizer"}},
		{func(p *summarize.Policy) { p.Mode, p.Provider = "llm", "" }, []string{"provider"}},
		{func(p *summarize.Policy) { p.ToolOutput.OverChars = -1 }, []string{"tool_output.over_chars"}},
		{func(p *summarize.Policy) { p.ToolOutput.MaxSummaryChars = -1 }, []string{"tool_output.max_summary_chars"}},
		{func(p *summarize.Policy) {
			p.Tools = []summarize.Tool{{Category: "x"}, {Match: "["}, {Match: "a", Keep: []string{"k", " "}, Drop: []string{"k", "a\nb"}}, {Match: "a", Keep: []string{strings.Repeat("x", 101)}}}
		}, []string{
			"tools[0].match", "tools[0].category", "tools[1].match", "tools[1]", "tools[2].keep[1]", "tools[2].drop[1]", "tools[2].drop", "tools[3].match", "tools[3].keep[0]",
		}},
		{func(p *summarize.Policy) { p.Tools = make([]summarize.Tool, 101) }, []string{"tools"}},
		{func(p *summarize.Policy) {
			p.Tools = []summarize.Tool{{Match: "a", Keep: strings.Split(strings.Repeat("k", 17), "")}}
		}, []string{"tools[0].keep"}},
		{func(p *summarize.Policy) { p.Compaction.Keep = summarize.Keep{} }, []string{"compaction.keep"}},
		{func(p *summarize.Policy) { p.Compaction.Trigger = condition{Tokens: -1} }, []string{"compaction.trigger.tokens"}},
		{func(p *summarize.Policy) { p.Compaction.Trigger = condition{Fraction: 1.01} }, []string{"compaction.trigger.fraction"}},
		{func(p *summarize.Policy) { p.Compaction.Trigger = condition{Idle: -time.Second} }, []string{"compaction.trigger.idle"}},
		{
			func(p *summarize.Policy) {
				p.Compaction.Trigger = condition{All: []condition{{}, {Any: []condition{{Tokens: 1, Idle: 1}}}}}
			},
			[]string{"compaction.trigger.all[0]", "compaction.trigger.all[1].any[0]"},
		},
		{func(p *summarize.Policy) { p.Compaction.Trigger = nested(20) }, []string{"compaction.trigger" + strings.Repeat(".any[0]", 8)}},
		{func(p *summarize.Policy) { p.History.EveryMessages = 0 }, []string{"history.every_messages"}},
		{func(p *summarize.Policy) { p.Context.SummaryRole = "tool" }, []string{"context.summary_role"}},
		{func(p *summarize.Policy) { p.Context.Retrieval = "http" }, []string{"context.retrieval"}},
		{func(p *summarize.Policy) { p.Staleness.On = []string{"source", "x"} }, []string{"staleness.on[1]"}},
		{func(p *summarize.Policy) { p.Staleness.TTL = -1 }, []string{"staleness.ttl"}},
		{func(p *summarize.Policy) { p.Staleness.Action = "" }, []string{"staleness.action"}},
		{func(p *summarize.Policy) { p.OnFailure = "panic" }, []string{"on_failure"}},
		{func(p *summarize.Policy) { p.Prompts = map[string]string{"poem": "x", "history": " "} }, []string{"prompts.history", "prompts.poem"}},
	} {
		p := summarize.Default()
		c.change(&p)
		var got []string
		for _, problem := range p.Validate() {
			got = append(got, problem.Key)
		}
		if !slices.Equal(got, c.keys) {
			t.Errorf("got %q, want %q", got, c.keys)
		}
	}
}

func nested(depth int) summarize.Condition {
	if depth == 0 {
		return summarize.Condition{Tokens: 1}
	}
	return summarize.Condition{Any: []summarize.Condition{nested(depth - 1)}}
}
