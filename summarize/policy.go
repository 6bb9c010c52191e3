package summarize

import "time"

// Modes of summarizing.
const (
	ModeRules = "rules"
	ModeLLM   = "llm"
)

// Providers by name: the one that policies name by default, and the one that stands in for any that is not configured.
const (
	ProviderMain       = "main"
	ProviderSummarizer = "summarizer"
)

// Policy is one named set of rules for when and how threads are summarized. Its YAML keys are the
// configuration's; Default sets every default.
type Policy struct {
	Name       string            `yaml:"name" json:"name"`
	Enabled    bool              `yaml:"enabled" json:"enabled"`
	Match      Match             `yaml:"match" json:"match"`
	Mode       string            `yaml:"mode" json:"mode"`
	Tokenizer  string            `yaml:"tokenizer" json:"tokenizer"`
	ToolOutput ToolOutput        `yaml:"tool_output" json:"tool_output"`
	Tools      []Tool            `yaml:"tools" json:"tools,omitempty"`
	Compaction Compaction        `yaml:"compaction" json:"compaction"`
	History    History           `yaml:"history" json:"history"`
	Context    Context           `yaml:"context" json:"context"`
	Staleness  Staleness         `yaml:"staleness" json:"staleness"`
	OnFailure  string            `yaml:"on_failure" json:"on_failure"` // fallback or fail
	Provider   string            `yaml:"provider" json:"provider"`
	Prompts    map[string]string `yaml:"prompts" json:"prompts"`
}

// Match selects threads by globs on their first event (path.Match syntax, except that * and ? also match slashes); an empty glob matches all.
type Match struct {
	AgentID  string `yaml:"agent_id" json:"agent_id"`
	ThreadID string `yaml:"thread_id" json:"thread_id"`
}

// ToolOutput says when a tool output is summarized, and to which size. A threshold of 0 is off.
// Characters are Unicode code points.
type ToolOutput struct {
	OverChars       int  `yaml:"over_chars" json:"over_chars"`
	OverTokens      int  `yaml:"over_tokens" json:"over_tokens"`
	MaxSummaryChars Size `yaml:"max_summary_chars" json:"max_summary_chars"`
	MaxInputChars   int  `yaml:"max_input_chars" json:"max_input_chars"`
	PreserveErrors  bool `yaml:"preserve_errors" json:"preserve_errors"`
	IncludeMetadata bool `yaml:"include_metadata" json:"include_metadata"`
}

// Compaction says when and how older messages are summarized for the prompt.
type Compaction struct {
	Trigger          Condition `yaml:"trigger" json:"trigger"`
	ContextWindow    int       `yaml:"context_window" json:"context_window"` // tokens
	Window           string    `yaml:"window" json:"window"`                 // what its share is measured with: provider or tokenizer
	Keep             Keep      `yaml:"keep" json:"keep"`
	MaxSummaryTokens Size      `yaml:"max_summary_tokens" json:"max_summary_tokens"`
	// MaxSummaryChars bounds a summary in code points, in addition to its tokens; 0: four per token.
	MaxSummaryChars int  `yaml:"max_summary_chars" json:"max_summary_chars,omitzero"`
	SummarizeSystem bool `yaml:"summarize_system" json:"summarize_system"`
}

// WindowShare is the most tokens of a compaction, a tenth of the context window (seed 2), since its purpose is to make room.
func (c Compaction) WindowShare() int { return c.ContextWindow / 10 }

// Condition is a tree of thresholds: a leaf sets one of Tokens, Messages, Fraction and Idle, a node
// one of Any and All. The zero Condition never holds.
type Condition struct {
	Any      []Condition   `yaml:"any,omitempty" json:"any,omitempty"`
	All      []Condition   `yaml:"all,omitempty" json:"all,omitempty"`
	Tokens   int           `yaml:"tokens,omitempty" json:"tokens,omitempty"`
	Messages int           `yaml:"messages,omitempty" json:"messages,omitempty"`
	Fraction float64       `yaml:"fraction,omitempty" json:"fraction,omitempty"` // of the context window
	Idle     time.Duration `yaml:"idle,omitempty" json:"idle,omitzero"`
}

// never reports whether it is the zero Condition; an empty but present list is not.
func (c Condition) never() bool {
	return c.Any == nil && c.All == nil && len(setKeys(c)) == 0
}

// Keep says what stays verbatim: the newest Messages, or the newest messages within Tokens.
type Keep struct {
	Messages int `yaml:"messages,omitempty" json:"messages,omitempty"`
	Tokens   int `yaml:"tokens,omitempty" json:"tokens,omitempty"`
}

// History says when a history, a summary for people, is computed.
type History struct {
	Enabled          bool `yaml:"enabled" json:"enabled"`
	EveryMessages    int  `yaml:"every_messages" json:"every_messages"`
	MaxSummaryTokens int  `yaml:"max_summary_tokens" json:"max_summary_tokens"`
}

// Context shapes the compacted prompt.
type Context struct {
	SummaryRole    string      `yaml:"summary_role" json:"summary_role"`
	SummaryHeading string      `yaml:"summary_heading" json:"summary_heading"`
	KeepOutputs    KeepOutputs `yaml:"keep_outputs" json:"keep_outputs,omitzero"`
	// Retrieval is how an agent's model gets at what summaries leave out; their marks say it.
	Retrieval string `yaml:"retrieval" json:"retrieval"`
}

// Ways to an original.
const (
	RetrievalCLI  = "cli"  // by the message's id: over the API, or a command
	RetrievalMCP  = "mcp"  // by the tool read_original
	RetrievalNone = "none" // none: marks have no id
)

// KeepOutputs says which tool outputs stand whole in prompts although they have a summary: those that fewer than Turns of
// the assistant's turns have followed, and of the others the newest within Tokens. The zero KeepOutputs keeps none: a
// summary stands in for its output at once.
type KeepOutputs struct {
	Turns  int `yaml:"turns" json:"turns"`
	Tokens int `yaml:"tokens" json:"tokens"`
}

// None reports whether no output is kept.
func (k KeepOutputs) None() bool { return k == KeepOutputs{} }

// Staleness says what makes a summary stale and what happens then.
type Staleness struct {
	On     []string      `yaml:"on" json:"on"` // of source, policy, prompt, model, ttl
	TTL    time.Duration `yaml:"ttl" json:"ttl"`
	Action string        `yaml:"action" json:"action"` // regenerate, trim or fail
	// Meanwhile says what prompts contain until a summary is recomputed that a policy, a prompt, a model or its age
	// has made stale: the stale summary (serve), or its sources (raw). With a changed source it is never served.
	Meanwhile string `yaml:"meanwhile" json:"meanwhile"`
}

// Default is the policy in force without configuration.
func Default() Policy {
	return Policy{
		Name:      "default",
		Enabled:   true,
		Match:     Match{AgentID: "*"},
		Mode:      ModeRules,
		Tokenizer: "o200k_base",
		ToolOutput: ToolOutput{
			OverChars: 1500, MaxSummaryChars: 800, MaxInputChars: 50000,
			PreserveErrors: true, IncludeMetadata: true,
		},
		Compaction: Compaction{
			Trigger:          Condition{Any: []Condition{{Tokens: 100000}, {Fraction: 0.7}}},
			ContextWindow:    200000,
			Window:           WindowProvider,
			Keep:             Keep{Messages: 20},
			MaxSummaryTokens: Auto,
		},
		History:   History{EveryMessages: 50, MaxSummaryTokens: 200},
		Context:   Context{SummaryRole: "user", SummaryHeading: "[Previous Conversation Summary]", KeepOutputs: KeepOutputs{Turns: 1}, Retrieval: RetrievalCLI},
		Staleness: Staleness{On: StaleCauses(), Action: ActionRegenerate, Meanwhile: MeanwhileServe},
		OnFailure: "fallback",
		Provider:  ProviderSummarizer,
	}
}

// What the share of the context window is measured with.
const (
	// WindowProvider: what the provider said the prompt weighed, and what the thread has gained or lost since. Where it has said
	// nothing, as WindowTokenizer.
	WindowProvider = "provider"
	// WindowTokenizer: what a compaction can remove, by the policy's tokenizer.
	WindowTokenizer = "tokenizer"
)

// Causes that make a summary stale, which staleness.on names.
const (
	StaleSource = "source" // an event changed what it was made from
	StalePolicy = "policy" // its policy's settings changed
	StalePrompt = "prompt" // a model's prompt has another version
	StaleModel  = "model"  // another model would make it
	StaleTTL    = "ttl"    // it is older than staleness.ttl
)

// StaleCauses returns all causes, which are those of the default policy.
func StaleCauses() []string {
	return []string{StaleSource, StalePolicy, StalePrompt, StaleModel, StaleTTL}
}

// What prompts contain until a stale summary is recomputed.
const (
	MeanwhileServe = "serve"
	MeanwhileRaw   = "raw"
)

// Actions on a stale summary.
const (
	ActionRegenerate = "regenerate"
	ActionTrim       = "trim"
	ActionFail       = "fail"
)
