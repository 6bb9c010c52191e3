package ui

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go/jetstream"

	"precis/events"
	"precis/internal/broker"
)

const (
	// hours of history that are kept.
	hours = 24
	// maxRecords bounds the records that one look reads: the latest ones.
	maxRecords = 50_000
	// readAtOnce is how many records one request asks for.
	readAtOnce = 256
	// fresh is how long what was read serves others.
	fresh = 2 * time.Second
	// maxNames bounds the models and policies that are told apart.
	maxNames = 100
)

// history is what the records of the last hours add up to. It is read from SUMMARIES when a page is looked at, and goes on where the last look ended: the
// path of events has no part in it, and a start needs nothing.
type history struct {
	summaries *broker.LogReader
	events    *broker.LogReader
	rejected  *broker.LogReader
	now       func() time.Time

	mu      sync.Mutex // held during a look
	at      time.Time  // of the last look
	err     error      // its outcome
	next    uint64     // of SUMMARIES; 0: nothing is read
	skipped bool       // older records of these hours are not read
	hours   map[int64]*hour
	begins  map[int64]uint64 // the last event before an hour
	streams [3]broker.StreamState
}

// hour is what happened in an hour.
type hour struct {
	Made, Stale, Failed uint64
	Before, After       int64 // tokens
	Cost                int64 // micro-dollars
	Models, Policies    map[string]*spent
}

// spent is of a model's calls, or of a policy's summaries.
type spent struct {
	Calls, Unknown uint64 // calls, or summaries
	Input, Output  int64
	Cost           int64
}

func newHistory(js jetstream.JetStream, now func() time.Time) *history {
	return &history{
		summaries: broker.NewLogReader(js, broker.StreamSummaries), events: broker.NewLogReader(js, broker.StreamEvents), rejected: broker.NewLogReader(js, broker.StreamRejected),
		now: now, hours: map[int64]*hour{}, begins: map[int64]uint64{},
	}
}

// past is a copy of the history, hour by hour, the oldest first.
type past struct {
	Begins   []time.Time
	Hours    []hour
	Events   []uint64
	Streams  [3]broker.StreamState // EVENTS, SUMMARIES, REJECTED
	Skipped  bool
	Models   map[string]spent
	Policies map[string]spent
}

// look reads what is new.
func (h *history) look(ctx context.Context) (*past, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if now := h.now(); now.Sub(h.at) >= fresh {
		h.err = h.read(ctx, now)
		if h.at = now; h.err != nil {
			h.at = time.Time{} // the next look tries again
		}
	}
	if h.err != nil {
		return nil, h.err
	}
	return h.past(), nil
}

func (h *history) read(ctx context.Context, now time.Time) (err error) {
	for i, r := range []*broker.LogReader{h.events, h.summaries, h.rejected} {
		if h.streams[i], err = r.State(ctx); err != nil {
			return err
		}
	}
	first := now.Truncate(time.Hour).Add(-(hours - 1) * time.Hour)
	maps.DeleteFunc(h.hours, func(at int64, _ *hour) bool { return at < first.Unix() })
	maps.DeleteFunc(h.begins, func(at int64, _ uint64) bool { return at < first.Unix() })
	if err := h.readBegins(ctx, first); err != nil {
		return err
	}
	at := h.streams[1]
	if h.next == 0 || h.next > at.Last+1 { // the first look, or another stream
		seq, err := h.summaries.SeqAt(ctx, at.First, at.Last, first)
		if err != nil {
			return err
		}
		h.next, h.skipped, h.hours = seq+1, false, map[int64]*hour{}
	}
	if at.Last >= maxRecords && h.next < at.Last-maxRecords+1 {
		h.next, h.skipped = at.Last-maxRecords+1, true
	}
	return h.readRecords(ctx, at.Last, first)
}

// readBegins finds with which event each hour begins; an hour that is over is looked up once.
func (h *history) readBegins(ctx context.Context, first time.Time) error {
	at, low := h.streams[0], h.streams[0].First
	for i := range hours {
		begin := first.Add(time.Duration(i) * time.Hour)
		if seq, ok := h.begins[begin.Unix()]; ok {
			low = max(low, seq)
			continue
		}
		seq, err := h.events.SeqAt(ctx, low, at.Last, begin)
		if err != nil {
			return err
		}
		h.begins[begin.Unix()], low = seq, max(low, seq)
	}
	return nil
}

func (h *history) readRecords(ctx context.Context, last uint64, first time.Time) error {
	for h.next <= last {
		from := h.next
		err := h.summaries.Several(ctx, from, int(min(readAtOnce, last-from+1)), func(m broker.Stored) {
			h.next = m.Seq + 1
			if !m.Time.Before(first) {
				h.add(m)
			}
		})
		if err != nil {
			return err
		}
		if h.next > from {
			continue
		}
		m, err := h.summaries.Get(ctx, from)
		if err == nil && !m.Time.Before(first) {
			h.add(m)
		}
		if err != nil && !errors.Is(err, broker.ErrGone) {
			return err
		}
		h.next++
	}
	return nil
}

// add counts a record; one that can't be read counts for nothing.
func (h *history) add(m broker.Stored) {
	typ, _, ok := events.ParseSubject(m.Subject)
	if !ok {
		return
	}
	at := m.Time.Truncate(time.Hour).Unix()
	o := h.hours[at]
	if o == nil {
		o = &hour{Models: map[string]*spent{}, Policies: map[string]*spent{}}
		h.hours[at] = o
	}
	switch typ {
	case events.SummaryCreated:
		var r struct {
			Before int64  `json:"token_count_before"`
			After  int64  `json:"token_count_after"`
			Policy string `json:"policy"`
		}
		if json.Unmarshal(m.Data, &r) == nil {
			o.Made, o.Before, o.After = o.Made+1, o.Before+r.Before, o.After+r.After
			s := of(o.Policies, r.Policy)
			s.Calls, s.Input, s.Output = s.Calls+1, s.Input+r.Before, s.Output+r.After
		}
	case events.SummaryInvalidated:
		o.Stale++
	case events.SummaryFailed:
		o.Failed++
	case events.UsageRecorded:
		var r events.UsageRecord
		if json.Unmarshal(m.Data, &r) == nil {
			s := of(o.Models, r.Model)
			s.Calls, s.Input, s.Output = s.Calls+1, s.Input+r.Usage.InputTokens, s.Output+r.Usage.OutputTokens
			if c := r.Cost.AmountMicroUSD; c != nil {
				s.Cost, o.Cost = s.Cost+*c, o.Cost+*c
			} else {
				s.Unknown++
			}
		}
	}
}

// of is the entry of a name; beyond maxNames, that of all others.
func of(list map[string]*spent, name string) *spent {
	s := list[name]
	if s == nil && len(list) >= maxNames {
		name = "(others)"
		s = list[name]
	}
	if s == nil {
		s = &spent{}
		list[name] = s
	}
	return s
}

func (h *history) past() *past {
	p := &past{Streams: h.streams, Skipped: h.skipped, Models: map[string]spent{}, Policies: map[string]spent{}}
	first := h.now().Truncate(time.Hour).Add(-(hours - 1) * time.Hour)
	for i := range hours {
		begin := first.Add(time.Duration(i) * time.Hour)
		end, ok := h.begins[begin.Add(time.Hour).Unix()]
		if !ok {
			end = h.streams[0].Last
		}
		o := hour{}
		if have := h.hours[begin.Unix()]; have != nil {
			o = *have
		}
		p.Begins, p.Hours, p.Events = append(p.Begins, begin), append(p.Hours, o), append(p.Events, end-min(end, h.begins[begin.Unix()]))
		sum(p.Models, o.Models)
		sum(p.Policies, o.Policies)
	}
	return p
}

func sum(to map[string]spent, from map[string]*spent) {
	for name, s := range from {
		t := to[name]
		t.Calls, t.Unknown, t.Input, t.Output, t.Cost = t.Calls+s.Calls, t.Unknown+s.Unknown, t.Input+s.Input, t.Output+s.Output, t.Cost+s.Cost
		to[name] = t
	}
}

// sorted are the names of sums, the largest first.
func sorted[V any](list map[string]V, weight func(V) int64) []string {
	names := slices.Sorted(maps.Keys(list))
	slices.SortStableFunc(names, func(a, b string) int {
		x, y := weight(list[a]), weight(list[b])
		switch {
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return 0
	})
	return names
}
