package cut

import (
	"precis/events"
	"precis/summarize"
)

// Leads is the call of an assistant's message that is nothing but reasoning: the assistant's next message is its result, and no cut is made
// between the two.
const Leads = ""

// Item is one message as far as a cut needs to know it.
type Item struct {
	Ordinal   uint64   `json:"ordinal"` // grows within a thread, from 1
	MessageID string   `json:"message_id"`
	Role      string   `json:"role"`
	Calls     []string `json:"calls,omitempty"`   // ids of the tool calls it makes
	Results   []string `json:"results,omitempty"` // ids of the calls it is the result of
	Pinned    bool     `json:"pinned,omitempty"`
	Deleted   bool     `json:"deleted,omitempty"`
	Tokens    int64    `json:"tokens"` // what it weighs in the prompt now; not counted when deleted
}

// fixed says that an item stays verbatim whatever else happens.
func (it Item) fixed(summarizeSystem bool) bool {
	if it.Pinned {
		return true
	}
	system := it.Role == events.RoleSystem || it.Role == events.RoleDeveloper
	return system && !summarizeSystem
}

// Fixed says that a policy has an item stay verbatim whatever else happens: it is pinned, or a system message.
func (it Item) Fixed(c summarize.Compaction) bool { return it.fixed(c.SummarizeSystem) }

// weight is what an item adds to the counters: a deleted one keeps its place, and nothing else.
func (it Item) weight() weight {
	if it.Deleted {
		return weight{}
	}
	return weight{Tokens: it.Tokens, Messages: 1}
}

// free is what an item adds to what is not fixed.
func (it Item) free(c summarize.Compaction) weight {
	if it.fixed(c.SummarizeSystem) {
		return weight{}
	}
	return it.weight()
}

// weight is an amount of messages and of the tokens in them.
type weight struct {
	Tokens   int64 `json:"tokens"`
	Messages int64 `json:"messages"`
}

func (w weight) plus(o weight) weight {
	return weight{Tokens: w.Tokens + o.Tokens, Messages: w.Messages + o.Messages}
}

func (w weight) minus(o weight) weight {
	return weight{Tokens: w.Tokens - o.Tokens, Messages: w.Messages - o.Messages}
}
