package service

import (
	"precis/api"
	"precis/internal/thread"
	"precis/summarize/prompt"
)

// Reasons why something is left out.
const (
	leftMaxTokens = "max_tokens" // there is no room
	leftRetention = "retention"  // the log no longer holds it
	leftStale     = "stale"      // its summary is stale, and the policy says trim
	leftWaiting   = "waiting"    // for the results of its calls
)

func sources(of []prompt.Source) []api.Source {
	list := make([]api.Source, len(of))
	for i, s := range of {
		list[i] = api.Source{MessageIDs: orEmpty(s.MessageIDs), SummaryIDs: orEmpty(s.SummaryIDs), Tokens: s.Tokens}
	}
	return list
}

func systemSource(p prompt.Prompt) *api.Source {
	if p.SystemSource.Tokens == 0 {
		return nil
	}
	return &sources([]prompt.Source{p.SystemSource})[0]
}

// explain explains a prompt of messages, where the request asks for it.
func (r *reading) explain(req api.ContextRequest, messages []prompt.Message, p prompt.Prompt) (*api.Explanation, error) {
	if !req.Explain {
		return nil, nil
	}
	e := &api.Explanation{Tokens: api.Parts(p.Parts), Summaries: []api.ExplainedSummary{}, LeftOut: leftOut(messages, p)}
	if n := r.outputs.Reported.PromptTokens(r.header.TokensLive); n > 0 {
		e.PromptTokens = &n
	}
	for _, id := range p.SummaryIDs {
		sum, err := r.view.Summary(r.header.Thread, id)
		if err != nil {
			return nil, err
		}
		next := api.ExplainedSummary{
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
func (r *reading) expand(to *api.ExplainedSummary, sum *thread.Summary) error {
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
func leftOut(messages []prompt.Message, p prompt.Prompt) []api.LeftOut {
	dropped, waiting := setOf(p.DroppedMessageIDs), setOf(p.WaitingMessageIDs)
	list := []api.LeftOut{}
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
		list = append(list, api.LeftOut{ID: m.MessageID, Reason: reason})
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
func (r *reading) next() (api.NextCompaction, error) {
	facts := r.outputs.Cut.Facts(r.policy.Compaction)
	n := api.NextCompaction{
		Policy: r.policy.Name, RemovableTokens: facts.RemovableTokens, RemovableMessages: facts.RemovableMessages, Jobs: []api.JobStatus{},
	}
	jobs, err := r.view.JobsOf(r.header.Thread)
	for _, j := range jobs {
		n.Jobs = append(n.Jobs, api.JobStatus{
			SummaryID: j.ID(), Kind: j.Started.Kind, Slot: j.Started.Slot, Attempts: j.Attempts, Calling: len(j.Calls) > 0,
		})
	}
	return n, err
}
