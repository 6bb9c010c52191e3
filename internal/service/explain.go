package service

import (
	"precis/internal/thread"
	"precis/summarize/prompt"
)

// Source is what a message of a prompt is made of.
type Source struct {
	// MessageIDs are the thread's messages that stand in it: whole, as their summary, or as a mark. A format that joins
	// what one role says in a row has several in one; a text that no message has has none.
	MessageIDs []string `json:"message_ids"`
	SummaryIDs []string `json:"summary_ids"` // of the summaries in it
	Tokens     int      `json:"tokens"`      // with what a provider adds
}

// Explanation says why a prompt is as it is.
type Explanation struct {
	Tokens prompt.Parts `json:"tokens"` // token_count by what takes them
	// PromptTokens is what the prompt without a limit weighs at the thread's provider, by what it reported last, as in ThreadReply;
	// null where no usage was reported.
	PromptTokens *int64             `json:"prompt_tokens"`
	Summaries    []ExplainedSummary `json:"summaries"` // those of summary_ids
	// LeftOut are messages of the thread that stand in the prompt as a mark or not at all, at most 1,000 of them. Those
	// of a compaction without room are not named one by one.
	LeftOut []LeftOut `json:"left_out"`
	// Compaction is how far the next one is.
	Compaction NextCompaction `json:"compaction"`
}

// ExplainedSummary is a summary with the messages that it stands for.
type ExplainedSummary struct {
	ID               string           `json:"summary_id"`
	Kind             string           `json:"kind"`
	Slot             string           `json:"slot"`
	SourceSummaryIDs []string         `json:"source_summary_ids"` // what it was made from itself
	MessageCount     int              `json:"message_count"`
	MessageIDs       Nullable[string] `json:"message_ids"` // through all levels; null where they are more than 1,000
	TokensBefore     int64            `json:"token_count_before"`
	TokensAfter      int64            `json:"token_count_after"`
}

// LeftOut is a message, or the summary, that a prompt does without.
type LeftOut struct {
	ID     string `json:"id"`
	Reason string `json:"reason"`
}

// Reasons why something is left out.
const (
	leftMaxTokens = "max_tokens" // there is no room
	leftRetention = "retention"  // the log no longer holds it
	leftStale     = "stale"      // its summary is stale, and the policy says trim
	leftWaiting   = "waiting"    // for the results of its calls
)

// NextCompaction is what decides on the thread's next compaction, and the work under way.
type NextCompaction struct {
	Policy            string `json:"policy"`           // whose compaction.trigger decides
	RemovableTokens   int64  `json:"removable_tokens"` // what a compaction could replace now, which is what triggers count
	RemovableMessages int64  `json:"removable_messages"`
	// Jobs are those of the thread that a model works on, or that wait for one.
	Jobs []JobStatus `json:"jobs"`
}

// JobStatus is a summary in the making.
type JobStatus struct {
	SummaryID string `json:"summary_id"`
	Kind      string `json:"kind"`
	Slot      string `json:"slot"`
	Attempts  int    `json:"attempts"` // calls so far
	Calling   bool   `json:"calling"`  // one has no answer yet
}

func sources(of []prompt.Source) []Source {
	list := make([]Source, len(of))
	for i, s := range of {
		list[i] = Source{MessageIDs: orEmpty(s.MessageIDs), SummaryIDs: orEmpty(s.SummaryIDs), Tokens: s.Tokens}
	}
	return list
}

func systemSource(p prompt.Prompt) *Source {
	if p.SystemSource.Tokens == 0 {
		return nil
	}
	return &sources([]prompt.Source{p.SystemSource})[0]
}

// explain explains a prompt of messages, where the request asks for it.
func (r *reading) explain(req ContextRequest, messages []prompt.Message, p prompt.Prompt) (*Explanation, error) {
	if !req.Explain {
		return nil, nil
	}
	e := &Explanation{Tokens: p.Parts, Summaries: []ExplainedSummary{}, LeftOut: leftOut(messages, p)}
	if n := r.outputs.Reported.PromptTokens(r.header.TokensLive); n > 0 {
		e.PromptTokens = &n
	}
	for _, id := range p.SummaryIDs {
		sum, err := r.view.Summary(r.header.Thread, id)
		if err != nil {
			return nil, err
		}
		next := ExplainedSummary{
			ID: id, Kind: sum.Kind, Slot: sum.Slot, SourceSummaryIDs: orEmpty(sum.SourceSums), TokensBefore: sum.TokensBefore, TokensAfter: sum.TokensAfter,
		}
		if err := r.expand(&next, sum); err != nil {
			return nil, err
		}
		if next.MessageCount > namedAtMost {
			next.MessageIDs = nil
		}
		e.Summaries = append(e.Summaries, next)
	}
	var err error
	e.Compaction, err = r.next()
	return e, err
}

// expand adds the messages that a summary stands for, through the summaries that it was made from.
func (r *reading) expand(to *ExplainedSummary, sum *thread.Summary) error {
	to.MessageCount += len(sum.Sources)
	if room := namedAtMost - len(to.MessageIDs); room > 0 {
		to.MessageIDs = append(to.MessageIDs, sum.Sources[:min(room, len(sum.Sources))]...)
	}
	for _, id := range sum.SourceSums {
		from, err := r.view.Summary(r.header.Thread, id)
		if err != nil {
			return err
		}
		if from == nil { // SUMMARIES has a gap there
			continue
		}
		if err := r.expand(to, from); err != nil {
			return err
		}
	}
	return nil
}

// leftOut says why messages are left out of a prompt.
func leftOut(messages []prompt.Message, p prompt.Prompt) []LeftOut {
	dropped, waiting := setOf(p.DroppedMessageIDs), setOf(p.WaitingMessageIDs)
	list := []LeftOut{}
	for i := range messages {
		m := &messages[i]
		reason := ""
		switch {
		case waiting[m.MessageID]:
			reason = leftWaiting
		case !dropped[m.MessageID]:
			continue
		case m.Gone:
			reason = leftRetention
		case m.TrimmedAt > 0:
			reason = leftStale
		default:
			reason = leftMaxTokens
		}
		if len(list) == namedAtMost {
			break
		}
		list = append(list, LeftOut{ID: m.MessageID, Reason: reason})
	}
	return list
}

func setOf(ids []string) map[string]bool {
	set := make(map[string]bool, len(ids))
	for _, id := range ids {
		set[id] = true
	}
	return set
}

// next is how far the thread's next compaction is.
func (r *reading) next() (NextCompaction, error) {
	facts := r.outputs.Cut.Facts(r.policy.Compaction)
	n := NextCompaction{
		Policy: r.policy.Name, RemovableTokens: facts.RemovableTokens, RemovableMessages: facts.RemovableMessages, Jobs: []JobStatus{},
	}
	jobs, err := r.view.JobsOf(r.header.Thread)
	for _, j := range jobs {
		n.Jobs = append(n.Jobs, JobStatus{
			SummaryID: j.ID(), Kind: j.Started.Kind, Slot: j.Started.Slot, Attempts: j.Attempts, Calling: len(j.Calls) > 0,
		})
	}
	return n, err
}
