package processor_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"

	"precis/events"
	"precis/internal/broker"
)

// ask asks the service; an answer that is an error is its code.
func (s *staleness) ask(what, of, body string) (data []byte, code string) {
	t := s.schedule.t
	reply, err := s.schedule.broker.Conn().RequestWithContext(within(t), "precis."+what+"."+of, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return reply.Data, reply.Header.Get("Nats-Service-Error-Code")
}

// get asks for what stands of a thread, or for a summary.
func (s *staleness) get(what, of string, into any) {
	data, code := s.ask(what, of, "")
	if err := json.Unmarshal(data, into); code != "" || err != nil {
		s.schedule.t.Fatalf("%s of %s: %s %v", what, of, code, err)
	}
}

// shown is a summary as the service shows it.
type shown struct {
	events.Summary
	Status      string              `json:"status"`
	Invalidated *events.Invalidated `json:"invalidated"`
}

func (s *staleness) summary(id string) (sum shown) {
	s.get("summary.get", id, &sum)
	return sum
}

// shows says what stands for the cell's sources in a prompt; of a history, what has become of it.
func (s *staleness) shows(c cell) string {
	data, code := s.ask("thread.context", c.String(), "")
	if code != "" {
		return code
	}
	var p struct {
		Renewing []string `json:"renewing_summary_ids"`
		Messages []struct {
			MessageID string `json:"message_id"`
			SummaryID string `json:"summary_id"`
			Content   string `json:"content"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(data, &p); err != nil {
		s.schedule.t.Fatal(err)
	}
	if c.kind == events.KindHistory {
		return s.history(c, string(data))
	}
	said := "raw"
	for _, m := range p.Messages {
		switch {
		case m.SummaryID != "":
			sum := s.summary(m.SummaryID)
			if !strings.HasSuffix(m.Content, sum.Content) {
				s.schedule.t.Errorf("%v: a prompt holds %q for summary %s", c, m.Content, sum.ID)
			}
			serves := sum.Invalidated != nil && sum.Invalidated.Meanwhile == events.MeanwhileServe
			if renewing := slices.Contains(p.Renewing, sum.ID); renewing != (sum.Status != "active") || renewing && !serves {
				s.schedule.t.Errorf("%v: a prompt holds summary %s, which is %s; renewing: %v", c, sum.ID, sum.Status, renewing)
			}
			said = fmt.Sprintf("v%d %s", sum.Version, sum.Method)
		case strings.HasPrefix(m.Content, "[truncated - "):
			said = "truncated"
		case m.MessageID != "" && m.Content != c.text(m.MessageID, false) && (m.MessageID != c.edited() || m.Content != c.text(m.MessageID, true)):
			s.schedule.t.Errorf("%v: message %s says %q", c, m.MessageID, m.Content)
		}
	}
	return said
}

// history says what became of a thread's history, which no prompt may hold.
func (s *staleness) history(c cell, prompt string) string {
	id := ""
	for partition := range s.config.Partitions {
		slot, err := s.View(partition).Slot(c.String(), events.SlotHistory)
		if err != nil {
			s.schedule.t.Fatal(err)
		}
		id += slot.Holder
	}
	if id == "" {
		return "none"
	}
	sum := s.summary(id)
	if strings.Contains(prompt, sum.ID) {
		s.schedule.t.Errorf("%v: a prompt holds the history: %s", c, prompt)
	}
	return fmt.Sprintf("v%d %s %s", sum.Version, sum.Method, sum.Status)
}

// chained is how many records the cell's thread has.
func (s *staleness) chained(c cell) uint64 {
	var h struct {
		ChainSeq uint64 `json:"chain_seq"`
	}
	s.get("thread.get", c.String(), &h)
	return h.ChainSeq
}

// toldBehind are the records of the cells behind a place in their chains: those of each summary together,
// for two jobs at once may end in either order.
func (s *staleness) toldBehind(marks map[cell]uint64) map[cell][]string {
	t := s.schedule.t
	stories := map[string]*staleStory{}
	for c := range marks {
		stories[c.String()] = &staleStory{cell: c, slots: map[string]string{}, told: map[string][]string{}}
	}
	err := broker.NewLogReader(s.schedule.broker.JetStream(), broker.StreamSummaries).Scan(within(t), 1, nil, func(m broker.Stored) error {
		var r staleRecord
		if err := json.Unmarshal(m.Data, &r); err != nil || r.ThreadID == nil {
			return err
		}
		r.Type, _, _ = strings.Cut(m.Header.Get(nats.MsgIdHdr), "/")
		if story := stories[*r.ThreadID]; story != nil && story.take(&r) && r.ChainSeq > marks[story.cell] {
			s.hears(story, r)
		}
		return nil
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	told := map[cell][]string{}
	for _, story := range stories {
		for _, id := range story.ids {
			told[story.cell] = append(told[story.cell], story.told[id]...)
		}
	}
	return told
}

// staleStory is what is on record of a cell's thread.
type staleStory struct {
	cell  cell
	ids   []string            // of its summaries, in the order in which they come
	slots map[string]string   // by summary
	told  map[string][]string // by summary
	again bool                // something has been made again
}

// take notes whose record it is; false where it is none of the cell's kind.
func (y *staleStory) take(r *staleRecord) bool {
	id := r.ID + r.SummaryID
	if _, known := y.slots[id]; !known {
		y.ids, y.slots[id] = append(y.ids, id), r.Slot
	}
	r.Slot = y.slots[id]
	return y.cell.kind != events.KindHistory || r.Slot == events.SlotHistory
}

// hears has a record told, and holds it to what is true of all of its type.
func (s *staleness) hears(y *staleStory, r staleRecord) {
	id := r.ID + r.SummaryID
	switch {
	case r.Type == string(events.SummaryInvalidated):
		s.caused(y.cell, r)
		if y.again {
			s.schedule.t.Errorf("%v: %v, and something was made again before", y.cell, r)
		}
		if r.Reason == events.ReasonSourceInvalidated && (y.cell.reason == events.ReasonPolicyChanged || y.cell.reason == events.ReasonTTLExpired) {
			// Its own fault as well; which is told depends on which of the two a sweep comes upon first.
			r.Reason = y.cell.reason
		}
	case r.Trigger.Reason == events.TriggerRegenerated:
		y.again = true
	}
	y.told[id] = append(y.told[id], r.String())
}

// staleRecord is any record of a thread.
type staleRecord struct {
	events.Head
	Type      string         `json:"-"`
	ID        string         `json:"id"`
	SummaryID string         `json:"summary_id"`
	Kind      string         `json:"kind"`
	Slot      string         `json:"slot"`
	Version   uint64         `json:"version"`
	Method    string         `json:"method"`
	Trigger   events.Trigger `json:"trigger"`
	Reason    string         `json:"reason"`
	Cause     events.Cause   `json:"cause"`
	Action    string         `json:"action"`
	Code      string         `json:"code"`
	Outcome   string         `json:"outcome"`
}

// String is the record as the table has it.
func (r staleRecord) String() string {
	slot, _, _ := strings.Cut(r.Slot, ":")
	switch events.Type(r.Type) {
	case events.SummaryCreated:
		return fmt.Sprintf("created %s v%d %s %s", slot, r.Version, r.Method, r.Trigger.Reason)
	case events.SummaryStarted:
		return fmt.Sprintf("started %s v%d %s", slot, r.Version, r.Trigger.Reason)
	case events.SummaryInvalidated:
		return fmt.Sprintf("stale %s %s", slot, r.Reason)
	case events.SummaryFailed:
		return fmt.Sprintf("failed %s %s", slot, r.Code)
	}
	return fmt.Sprintf("paid %s %s", slot, r.Outcome)
}

// caused holds an invalidation to what the contract has it say: what caused it, and what is done.
func (s *staleness) caused(c cell, r staleRecord) {
	t := s.schedule.t
	action := c.action
	if r.Reason == events.ReasonSourceDeleted && r.Kind == events.KindToolResult {
		action = events.ActionTrim // there is nothing to make another from
	}
	if r.Action != action {
		t.Errorf("%v: %v, and then %s", c, r, r.Action)
	}
	sum, cause := s.summary(r.SummaryID), r.Cause
	if sum.Status == "active" || sum.Invalidated == nil || sum.Invalidated.Reason != r.Reason {
		t.Errorf("%v: %v, and summary.get says %s, %+v", c, r, sum.Status, sum.Invalidated)
	}
	switch r.Reason {
	case events.ReasonSourceEdited, events.ReasonSourceDeleted:
		if cause.MessageID == nil || *cause.MessageID != c.edited() || !slices.Contains(sum.SourceMessageIDs, c.edited()) {
			t.Errorf("%v: %v by %+v", c, r, cause)
		}
	case events.ReasonSourceInvalidated:
		if cause.SummaryID == nil || !slices.Contains(sum.SourceSummaryIDs, *cause.SummaryID) {
			t.Errorf("%v: %v by %+v", c, r, cause)
		}
	case events.ReasonTTLExpired:
		if cause.Setting == nil || cause.Old == nil || sum.ExpiresAt == nil || *cause.Old != sum.ExpiresAt.Format(time.RFC3339Nano) {
			t.Errorf("%v: %v by %+v", c, r, cause)
		}
	default:
		if cause.Setting == nil || cause.Old == nil || cause.New == nil || *cause.Old == *cause.New {
			t.Errorf("%v: %v by %+v", c, r, cause)
		}
	}
}
