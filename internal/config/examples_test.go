package config_test

import (
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"precis/internal/config"
	"precis/summarize"
)

// presets are the purposes of the policy examples, as differences from the default.
var presets = map[string]func(*summarize.Policy){
	"tool-outputs.yaml": func(p *summarize.Policy) {
		p.Mode, p.OnFailure, p.Provider = summarize.ModeLLM, "fallback", "summarizer"
		p.ToolOutput.OverChars, p.ToolOutput.MaxSummaryChars, p.ToolOutput.MaxInputChars = 1500, 800, 50_000
		p.Context.KeepOutputs = summarize.KeepOutputs{}
		p.Compaction.Trigger = summarize.Condition{}
	},
	"one-liners.yaml": func(p *summarize.Policy) {
		p.Name, p.Match.AgentID = "one-liners", "one-liners"
		p.ToolOutput.MaxSummaryChars = 200
		p.ToolOutput.PreserveErrors, p.ToolOutput.IncludeMetadata = true, true
		p.Compaction.Trigger = summarize.Condition{}
	},
	"rolling.yaml": func(p *summarize.Policy) {
		p.Compaction.Trigger = summarize.Condition{Any: []summarize.Condition{{Fraction: 0.8}}}
		p.Compaction.MaxSummaryTokens = 500
		p.Context.SummaryRole, p.Context.SummaryHeading = "system", "[Previous Conversation Summary]"
	},
	"provenance.yaml": func(p *summarize.Policy) {
		p.ToolOutput.OverTokens = 2000
		p.Compaction.Trigger = summarize.Condition{Any: []summarize.Condition{{Tokens: 100000}, {Messages: 200}}}
		p.History.Enabled, p.History.EveryMessages = true, 50
		p.Compaction.SummarizeSystem = false
		p.Staleness.TTL, p.Staleness.Action = 30*24*time.Hour, summarize.ActionRegenerate
		p.Staleness.Meanwhile = summarize.MeanwhileRaw
	},
	"strict-model.yaml": func(p *summarize.Policy) {
		p.Mode, p.OnFailure = summarize.ModeLLM, "fail"
		p.Compaction.Keep.Messages, p.Compaction.MaxSummaryTokens = 10, 1024
		p.Context.SummaryHeading = "[Summary of prior conversation]"
		p.Prompts = map[string]string{}
	},
}

// The example configurations are valid and do what they are for.
func TestExamples(t *testing.T) {
	files, err := filepath.Glob("../../examples/policies/*.yaml")
	if err != nil || len(files) < len(presets) {
		t.Fatalf("found %q: %v", files, err)
	}
	env := []string{"ANTHROPIC_API_KEY=a", "OPENAI_API_KEY=o"}
	for _, name := range files {
		c := load(t, config.Sources{File: name, Env: env})
		differ, ok := presets[filepath.Base(name)]
		if !ok {
			continue
		}
		want := summarize.Default()
		differ(&want)
		if got := c.Policies[0]; !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\ngot  %+v\nwant %+v", name, got, want)
		}
	}
}

// The examples name the expected models, and the files contain no keys.
func TestExampleProviders(t *testing.T) {
	env := []string{"ANTHROPIC_API_KEY=a", "OPENAI_API_KEY=o"}
	c := load(t, config.Sources{File: "../../examples/policies/tool-outputs.yaml", Env: env})
	for name, want := range map[string][3]string{
		"summarizer": {config.KindAnthropic, "claude-haiku-4-5-20251001", "a"},
		"main":       {config.KindOpenAI, "gpt-4.1-mini", "o"},
	} {
		p := c.Providers[name]
		if got := [3]string{p.Kind, p.Model, p.APIKey}; got != want {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
}
