// Package whole holds a prompt to the promise that nothing vanishes: each message of a thread that is not deleted is,
// in every prompt, exactly one of verbatim, inside a summary that the prompt names, named as dropped, named as waiting.
// Tests and the load test hold replies against it, a replay holds the state that prompts are made from.
package whole

import (
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Prompt is what precis.thread.context answers in the format messages, which names what stands where. The lists are
// the same in every format.
type Prompt struct {
	Messages          jsontext.Value `json:"messages"`
	SummaryIDs        []string       `json:"summary_ids"`
	DroppedMessageIDs []string       `json:"dropped_message_ids"`
	DroppedRanges     []Range        `json:"dropped_ranges"` // instead of the ids where they are many
	WaitingMessageIDs []string       `json:"waiting_message_ids"`
}

// Range is a run of dropped messages.
type Range struct {
	First string `json:"first_message_id"`
	Last  string `json:"last_message_id"`
	Count int    `json:"count"`
}

// named is the prompt with its dropped messages named one by one. live are those of the thread, in order.
func (p Prompt) named(live []string) (Prompt, error) {
	p.DroppedMessageIDs = slices.Clone(p.DroppedMessageIDs)
	for _, r := range p.DroppedRanges {
		first, last := slices.Index(live, r.First), slices.Index(live, r.Last)
		if first < 0 || last < first || last-first+1 != r.Count {
			return p, fmt.Errorf("range of %d dropped messages from %q to %q: the thread has no such run", r.Count, r.First, r.Last)
		}
		p.DroppedMessageIDs = append(p.DroppedMessageIDs, live[first:last+1]...)
	}
	return p, nil
}

// Summary is what a summary was made from.
type Summary struct {
	Kind             string   `json:"kind"`
	SourceMessageIDs []string `json:"source_message_ids"`
	SourceSummaryIDs []string `json:"source_summary_ids"`
}

// Places of a message.
const (
	Verbatim = "verbatim"
	Inside   = "inside"
	Dropped  = "dropped"
	Waiting  = "waiting"
)

// Places says where each message stands that the prompt has or names; of finds a summary.
func Places(p Prompt, of func(id string) (Summary, error)) (map[string][]string, error) {
	places := map[string][]string{}
	var list []struct {
		MessageID string `json:"message_id"`
		SummaryID string `json:"summary_id"`
	}
	if err := json.Unmarshal(p.Messages, &list); err != nil {
		return nil, fmt.Errorf("read messages: %w", err)
	}
	for _, m := range list {
		named := slices.Contains(p.SummaryIDs, m.SummaryID)
		switch {
		case m.SummaryID != "" && !named:
			return nil, fmt.Errorf("summary %q stands in the prompt and is not named", m.SummaryID)
		case m.MessageID == "":
		case named:
			places[m.MessageID] = append(places[m.MessageID], Inside)
		case slices.Contains(p.DroppedMessageIDs, m.MessageID): // a mark stands for it
		default:
			places[m.MessageID] = append(places[m.MessageID], Verbatim)
		}
	}
	for place, ids := range map[string][]string{Dropped: p.DroppedMessageIDs, Waiting: p.WaitingMessageIDs} {
		for _, id := range ids {
			places[id] = append(places[id], place)
		}
	}
	for _, id := range p.SummaryIDs {
		messages, err := Under(id, of)
		if err != nil {
			return nil, err
		}
		for _, m := range messages {
			places[m] = append(places[m], Inside)
		}
	}
	return places, nil
}

// Under lists the messages that a compaction stands for, by the summaries that it was made from; each as often as it
// is there. It is empty for other kinds: their summaries stand in their message's place. of finds a summary.
func Under(id string, of func(id string) (Summary, error)) ([]string, error) {
	sum, err := of(id)
	if err != nil {
		return nil, fmt.Errorf("summary %q: %w", id, err)
	}
	if sum.Kind != "compaction" {
		return nil, nil
	}
	messages := slices.Clone(sum.SourceMessageIDs)
	for _, from := range sum.SourceSummaryIDs {
		more, err := Under(from, of)
		if err != nil {
			return nil, err
		}
		messages = append(messages, more...)
	}
	return messages, nil
}

// Check holds a prompt against the messages of its thread that are not deleted, in order. The error names each that
// vanished, and each that stands in more than one place.
func Check(live []string, p Prompt, of func(id string) (Summary, error)) error {
	p, err := p.named(live)
	if err != nil {
		return err
	}
	places, err := Places(p, of)
	if err != nil {
		return err
	}
	errs := Astray(live, places)
	for _, id := range slices.Concat(p.DroppedMessageIDs, p.WaitingMessageIDs) {
		if !slices.Contains(live, id) {
			errs = append(errs, fmt.Errorf("message %q is named, and is not there any more", id))
		}
	}
	return errors.Join(errs...)
}

// Astray names each of some messages that stands in no place, or in more than one.
func Astray(live []string, places map[string][]string) (errs []error) {
	for _, id := range live {
		if at := places[id]; len(at) != 1 {
			errs = append(errs, fmt.Errorf("message %q stands in %d places: %q", id, len(at), at))
		}
	}
	return errs
}
