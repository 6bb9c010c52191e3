package summarize

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"
)

// Tokenizers of a policy.
const (
	TokenizerO200k    = "o200k_base"
	TokenizerCL100k   = "cl100k_base"
	TokenizerClaude   = "claude"   // o200k_base, scaled as measured
	TokenizerEstimate = "estimate" // from bytes, fast
)

// What a policy does when its summarizer fails.
const (
	OnFailureFallback = "fallback"
	OnFailureFail     = "fail"
)

// maxConditionDepth bounds a trigger's tree.
const maxConditionDepth = 8

// most bounds the settings that count characters, tokens and messages: anything larger is a mistake.
const most = 1 << 30

// PolicyProblem is one invalid setting. Its Key is relative to the policy ("compaction.keep").
type PolicyProblem struct {
	Key     string
	Message string // what is wrong and what is allowed
}

// Validate returns a policy's problems; nil if it is valid.
func (p Policy) Validate() []PolicyProblem {
	v := &policyJudge{}
	v.names(p)
	v.toolOutput(p.ToolOutput)
	v.tools(p.Tools)
	v.compaction(p.Compaction)
	v.history(p.History)
	v.within("context.keep_outputs.turns", p.Context.KeepOutputs.Turns, 0)
	v.within("context.keep_outputs.tokens", p.Context.KeepOutputs.Tokens, 0)
	v.staleness(p.Staleness)
	return v.problems
}

type policyJudge struct {
	problems []PolicyProblem
}

func (v *policyJudge) wrong(key, format string, args ...any) {
	v.problems = append(v.problems, PolicyProblem{Key: key, Message: fmt.Sprintf(format, args...)})
}

func (v *policyJudge) oneOf(key, value string, allowed ...string) {
	if !slices.Contains(allowed, value) {
		v.wrong(key, "%q is not known; allowed: %s", value, strings.Join(allowed, ", "))
	}
}

func (v *policyJudge) within(key string, value, least int) {
	if value < least || value > most {
		v.wrong(key, "%d is out of range; allowed: %d to %d", value, least, most)
	}
}

func (v *policyJudge) size(key string, n Size) {
	if n < Auto || n > most {
		v.wrong(key, "%d is out of range; allowed: 1 to %d, or auto", int(n), most)
	}
}

func (v *policyJudge) names(p Policy) {
	if p.Name == "" {
		v.wrong("name", "must be given")
	}
	v.glob("match.agent_id", p.Match.AgentID)
	v.glob("match.thread_id", p.Match.ThreadID)
	v.oneOf("mode", p.Mode, ModeRules, ModeLLM)
	v.oneOf("tokenizer", p.Tokenizer, TokenizerO200k, TokenizerCL100k, TokenizerClaude, TokenizerEstimate)
	v.oneOf("on_failure", p.OnFailure, OnFailureFallback, OnFailureFail)
	// Some harnesses read summaries as system or developer messages; by default a summary gets no higher role than the
	// conversation that it replaces.
	v.oneOf("context.summary_role", p.Context.SummaryRole, "user", "assistant", "system", "developer")
	v.oneOf("context.retrieval", p.Context.Retrieval, RetrievalCLI, RetrievalMCP, RetrievalNone)
	if p.Mode == ModeLLM && p.Provider == "" {
		v.wrong("provider", "must be given where mode is llm")
	}
	for _, use := range slices.Sorted(maps.Keys(p.Prompts)) {
		v.prompt(use, p.Prompts[use])
	}
}

// prompt checks one custom prompt: its key, and that it is not empty.
func (v *policyJudge) prompt(use, text string) {
	allowed := append(slices.Clone(Categories), "tool_result", "compaction", "history")
	if !slices.Contains(allowed, use) {
		v.wrong("prompts."+use, "is neither a category nor a kind; allowed: %s", strings.Join(allowed, ", "))
	}
	if strings.TrimSpace(text) == "" {
		v.wrong("prompts."+use, "must hold the prompt's text; leave it out for the built-in one")
	}
}

func (v *policyJudge) glob(key, pattern string) {
	if _, err := path.Match(pattern, ""); err != nil {
		v.wrong(key, "%q is not a glob; allowed: *, ?, [a-z], and \\ before a literal one of them", pattern)
	}
}

func (v *policyJudge) toolOutput(t ToolOutput) {
	v.within("tool_output.over_chars", t.OverChars, 0)
	v.within("tool_output.over_tokens", t.OverTokens, 0)
	v.size("tool_output.max_summary_chars", t.MaxSummaryChars)
	v.within("tool_output.max_input_chars", t.MaxInputChars, 1)
}

func (v *policyJudge) tools(list []Tool) {
	if len(list) > mostTools {
		v.wrong("tools", "has %d entries; allowed: up to %d", len(list), mostTools)
		return
	}
	seen := map[string]int{}
	for i, t := range list {
		key := fmt.Sprintf("tools[%d].", i)
		if t.Match == "" {
			v.wrong(key+"match", `must be given: a glob on the tool's name, such as "mcp__jira__*"`)
		}
		v.glob(key+"match", t.Match)
		if first, twice := seen[t.Match]; twice {
			v.wrong(key+"match", "%q is that of tools[%d] too, which applies", t.Match, first)
		} else {
			seen[t.Match] = i
		}
		if t.Category != "" {
			v.oneOf(key+"category", t.Category, Categories...)
		}
		if t.Category == "" && len(t.Keep)+len(t.Drop) == 0 {
			v.wrong(strings.TrimSuffix(key, "."), "sets none of category, keep and drop")
		}
		v.texts(key+"keep", t.Keep)
		v.texts(key+"drop", t.Drop)
		for _, text := range t.Keep {
			if slices.Contains(t.Drop, text) {
				v.wrong(key+"drop", "%q is in keep too", text)
			}
		}
	}
}

func (v *policyJudge) texts(key string, list []string) {
	if len(list) > mostToolTexts {
		v.wrong(key, "has %d texts; allowed: up to %d", len(list), mostToolTexts)
	}
	for i, text := range list {
		if strings.TrimSpace(text) == "" || len(text) > longestText || strings.ContainsAny(text, "\r\n") {
			v.wrong(fmt.Sprintf("%s[%d]", key, i), "%q can't be searched for; allowed: 1 to %d bytes in one line, not blank", text, longestText)
		}
	}
}

func (v *policyJudge) compaction(c Compaction) {
	if !c.Trigger.never() {
		v.condition("compaction.trigger", c.Trigger, 1)
	}
	v.within("compaction.context_window", c.ContextWindow, 1)
	v.oneOf("compaction.window", c.Window, WindowProvider, WindowTokenizer)
	v.size("compaction.max_summary_tokens", c.MaxSummaryTokens)
	v.within("compaction.max_summary_chars", c.MaxSummaryChars, 0)
	v.within("compaction.keep.messages", c.Keep.Messages, 0)
	v.within("compaction.keep.tokens", c.Keep.Tokens, 0)
	if (c.Keep.Messages == 0) == (c.Keep.Tokens == 0) {
		v.wrong("compaction.keep", "takes one of messages and tokens, more than 0")
	}
}

// condition checks one node: it must set exactly one field, or its meaning would be undefined.
func (v *policyJudge) condition(key string, c Condition, depth int) {
	if depth > maxConditionDepth {
		v.wrong(key, "is nested deeper than %d", maxConditionDepth)
		return
	}
	set := setKeys(c)
	if len(set) != 1 {
		v.wrong(key, "sets %s; allowed: one of any, all (lists that are not empty), tokens, messages, fraction, idle (more than 0)", listed(set))
	}
	v.within(key+".tokens", c.Tokens, 0)
	v.within(key+".messages", c.Messages, 0)
	if c.Fraction < 0 || c.Fraction > 1 {
		v.wrong(key+".fraction", "%g is out of range; allowed: more than 0, up to 1 (the whole context window)", c.Fraction)
	}
	v.duration(key+".idle", c.Idle)
	for i, child := range c.Any {
		v.condition(fmt.Sprintf("%s.any[%d]", key, i), child, depth+1)
	}
	for i, child := range c.All {
		v.condition(fmt.Sprintf("%s.all[%d]", key, i), child, depth+1)
	}
}

func setKeys(c Condition) []string {
	var set []string
	for _, key := range []struct {
		name string
		set  bool
	}{
		{"any", len(c.Any) > 0}, {"all", len(c.All) > 0}, {"tokens", c.Tokens != 0},
		{"messages", c.Messages != 0}, {"fraction", c.Fraction != 0}, {"idle", c.Idle != 0},
	} {
		if key.set {
			set = append(set, key.name)
		}
	}
	return set
}

func listed(keys []string) string {
	if len(keys) == 0 {
		return "nothing"
	}
	return strings.Join(keys, " and ")
}

func (v *policyJudge) history(h History) {
	v.within("history.every_messages", h.EveryMessages, 1)
	v.within("history.max_summary_tokens", h.MaxSummaryTokens, 1)
}

func (v *policyJudge) staleness(s Staleness) {
	for i, cause := range s.On {
		v.oneOf(fmt.Sprintf("staleness.on[%d]", i), cause, StaleCauses()...)
	}
	v.duration("staleness.ttl", s.TTL)
	v.oneOf("staleness.action", s.Action, ActionRegenerate, ActionTrim, ActionFail)
	v.oneOf("staleness.meanwhile", s.Meanwhile, MeanwhileServe, MeanwhileRaw)
}

func (v *policyJudge) duration(key string, d time.Duration) {
	if d < 0 {
		v.wrong(key, "%s is out of range; allowed: 0s and more", d)
	}
}
