package thread

import "precis/events"

// maxModel bounds a model's name, in bytes, as message ids are bounded: every event writes the row that holds it. A longer one counts
// as none.
const maxModel = events.MaxIDBytes

// Reported is what providers said about a thread's prompts, in the usage of assistant messages. It is part of the state, so that
// triggers measure with it and a rebuild finds the same.
type Reported struct {
	At    uint64            `json:"at"` // ordinal of the message that reported last; 0: none has
	Model string            `json:"model"`
	Last  events.TokenUsage `json:"last"` // of its call
	// Held is what the thread's compacted prompt held, by the tokenizer, when the call was made.
	Held  int64             `json:"held"`
	Calls uint64            `json:"calls"`
	Total events.TokenUsage `json:"total"` // of all calls
}

// Report notes a message's usage, before the message is counted. Publishers that split a call's answer into several messages
// repeat its usage on each: that is one call.
func (c *Compaction) Report(m *Message, u *events.TokenUsage, model string, held int64) {
	if u == nil || u.InputTokens == 0 {
		return
	}
	if len(model) > maxModel {
		model = ""
	}
	r := &c.Reported
	if r.At > 0 && r.At == c.Cut.LastAt && r.Last == *u && r.Model == model {
		r.At = m.Ordinal
		return
	}
	r.At, r.Model, r.Last, r.Held = m.Ordinal, model, *u, held
	r.Calls++
	sum(&r.Total.InputTokens, u.InputTokens)
	sum(&r.Total.OutputTokens, u.OutputTokens)
	sum(&r.Total.CachedInputTokens, u.CachedInputTokens)
	sum(&r.Total.CacheCreationInputTokens, u.CacheCreationInputTokens)
}

// sum adds a publisher's count, which may be any, and stops at the largest integer that JSON keeps exact.
func sum(to *int64, n int64) { *to = min(*to+n, 1<<53-1) }

// PromptTokens returns what the thread's next prompt weighs at its provider: what the last one weighed there, system prompt and
// tool definitions included, and what the thread has gained or lost since. live is what its compacted prompt holds now, by the
// tokenizer. 0: no provider has said anything.
func (r *Reported) PromptTokens(live int64) int64 {
	if r.At == 0 {
		return 0
	}
	return max(r.Last.InputTokens+live-r.Held, 1)
}
