package recovery

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sort"
	"time"

	"github.com/go-json-experiment/json"

	"precis/events"
	"precis/internal/broker"
	"precis/internal/thread"
	"precis/state"
)

// Loss is what EVENTS lacks of the applied events, and what is on record that rests on them.
type Loss struct {
	// EventsSeq is the last sequence up to which EVENTS holds what was applied, and EventsEnd the end of EVENTS.
	// Events between the two came after the loss, and are applied when the processor starts.
	EventsSeq uint64 `json:"events_seq"`
	EventsEnd uint64 `json:"events_end"`
	// Found means that EVENTS has lost something; Unfinished, that its loss was accepted and not yet recorded for
	// every partition.
	Found      bool            `json:"found"`
	Unfinished bool            `json:"unfinished"`
	Partitions []PartitionLoss `json:"partitions"`
	// Store says why the store can't continue; empty if it can, or if there is none.
	Store string `json:"store"`

	accepted *events.AcceptedLoss // of an acceptance that was interrupted
	digest   string
	rejected uint64
	chains   []map[string]state.Link // ends of the chains that are extended
	claimed  []uint64                // where the partitions' last own records took effect
	configs  []bool                  // partitions that have recorded the acceptance
	config   *events.Config          // the newest on record
	newer    error                   // set if config has what this program does not know
	voids    [][]voidRecord
}

// PartitionLoss is one partition's part of a loss.
type PartitionLoss struct {
	Partition  int    `json:"partition"`
	AppliedSeq uint64 `json:"applied_seq"` // the last event known to have been applied
	// EventsLost is the number of applied events that are gone; null if there is no store that tells, or if the log
	// has other gaps.
	EventsLost *uint64 `json:"events_lost"`
	// Threads is the number of threads that lose events, as far as the store and the records know.
	Threads int `json:"threads"`
	// Records counts the records that rest on lost events, by type, and Summaries lists the ids of the summaries among
	// them.
	Records   map[string]uint64 `json:"records"`
	Summaries []string          `json:"summaries"`
}

// voidRecord is what an acceptance has to announce about a record that it voids.
type voidRecord struct {
	thread string
	head   events.Head
	id     string
	kind   string
	ended  bool // it was started and has not ended
}

// Lossy is where FindLoss looks for a loss.
type Lossy struct {
	Streams Readers
	Scratch *state.Store // empty; the records are staged into it
	Store   *state.Store // nil if there is none
	Strays  int          // the number of the partition of strays, which is the last one
}

// FindLoss compares the records and the store with EVENTS. It writes nothing but the scratch store.
func FindLoss(ctx context.Context, l Lossy) (*Loss, error) {
	f := &finder{Lossy: l, loss: &Loss{}, threads: make([]map[string]bool, l.Strays+1)}
	var parts []*state.Partition
	for id := range l.Strays + 1 {
		part, err := l.Scratch.Partition(id)
		if err != nil {
			return nil, err
		}
		defer func() { _ = part.Close() }() // the scratch store is discarded
		parts, f.threads[id] = append(parts, part), map[string]bool{}
	}
	t, err := NewTail(parts)
	if err != nil {
		return nil, err
	}
	t.Unfinished = true
	if err := t.Read(ctx, l.Streams.Summaries, l.Streams.Rejected); err != nil {
		return nil, err
	}
	if f.log, err = l.Streams.Events.State(ctx); err != nil {
		return nil, err
	}
	rejected, err := l.Streams.Rejected.State(ctx)
	if err != nil {
		return nil, err
	}
	f.loss.EventsEnd, f.loss.rejected = f.log.Last, rejected.Last
	for id, part := range parts {
		f.loss.claimed = append(f.loss.claimed, t.Effective(id))
		if err := f.gather(id, part); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(f.interrupted(parts), f.find(ctx)); err != nil {
		return nil, err
	}
	return f.loss, f.weigh(ctx, parts)
}

// finder looks for a loss.
type finder struct {
	Lossy
	log     broker.StreamState
	loss    *Loss
	known   []evidence        // in log order once it is sorted
	applied []uint64          // by partition
	threads []map[string]bool // that lose events, by partition
}

// gather collects what a partition's records and rows say of events.
func (f *finder) gather(id int, part *state.Partition) error {
	applied := uint64(0)
	err := part.EachStaged(0, func(s *state.Staged) (bool, error) {
		if e, ok := evidenceOf(s); ok {
			f.known = append(f.known, e)
		}
		if !s.Void {
			applied = max(applied, s.EffectiveSeq)
		}
		if s.Type == events.ConfigApplied {
			rec := new(events.Config)
			if json.Unmarshal(s.Data, rec) == nil && (f.loss.config == nil || rec.AppliedAt.After(f.loss.config.AppliedAt)) {
				f.loss.config, f.loss.newer = rec, nil
				if err := events.KnownConfig(s.Data); errors.Is(err, events.ErrNewerConfig) {
					f.loss.newer = err
				}
			}
		}
		return true, nil
	})
	if err != nil || f.Store == nil {
		f.applied = append(f.applied, applied)
		return err
	}
	view := f.Store.View(id)
	meta, err := view.Meta()
	if err != nil {
		return err
	}
	f.applied = append(f.applied, max(applied, meta.Position))
	return view.Headers(func(h *thread.Header) (bool, error) {
		if h.Thread != "" && h.LastAt != 0 {
			f.known = append(f.known, evidence{seq: h.EventSeq, at: time.Unix(0, h.LastAt).UTC(), of: h.Thread})
		}
		return true, nil
	})
}

// interrupted finds an acceptance that only some partitions have recorded.
func (f *finder) interrupted(parts []*state.Partition) error {
	for _, part := range parts {
		losses := part.Meta().Losses
		if n := len(losses); n > 0 && (f.loss.accepted == nil || losses[n-1].At.After(f.loss.accepted.AcceptedAt)) {
			last := losses[n-1]
			f.loss.accepted = &events.AcceptedLoss{EventsSeq: last.Events, RejectedSeq: last.Rejected, AcceptedAt: last.At}
		}
	}
	for _, part := range parts {
		losses := part.Meta().Losses
		has := f.loss.accepted != nil && len(losses) > 0 && losses[len(losses)-1].At.Equal(f.loss.accepted.AcceptedAt)
		f.loss.configs = append(f.loss.configs, has)
		f.loss.Unfinished = f.loss.Unfinished || f.loss.accepted != nil && !has
	}
	if !f.loss.Unfinished {
		f.loss.accepted = nil
		clear(f.loss.configs)
	}
	return nil
}

// find finds the last applied event that EVENTS still holds. A log that was rolled back holds what came before that
// event and nothing of what came after, so one probe tells on which side an event stood.
func (f *finder) find(ctx context.Context) error {
	slices.SortFunc(f.known, func(a, b evidence) int { return cmp.Compare(a.seq, b.seq) })
	var failed error
	first := sort.Search(len(f.known), func(i int) bool {
		for _, e := range f.known[i:] {
			holds, known, err := e.holds(ctx, f.Streams.Events, f.log.Last)
			failed = errors.Join(failed, err)
			if known || err != nil {
				return !holds
			}
		}
		return false
	})
	if failed != nil {
		return failed
	}
	marked, err := f.store(ctx)
	if err != nil {
		return err
	}
	switch beyond := slices.Max(f.applied) > f.log.Last; {
	case f.loss.Unfinished:
		f.loss.Found, f.loss.EventsSeq = true, f.loss.accepted.EventsSeq
	case first < len(f.known):
		// Events after the loss were stored later than any lost one.
		lost := f.known[first]
		at, err := f.Streams.Events.SeqAt(ctx, f.log.First, min(f.log.Last, lost.seq-1), lost.at)
		if err != nil {
			return err
		}
		f.loss.Found, f.loss.EventsSeq = true, at
	case beyond:
		f.loss.Found, f.loss.EventsSeq = true, f.log.Last
	case marked && len(f.known) > 0:
		f.loss.Found, f.loss.EventsSeq = true, f.known[len(f.known)-1].seq
	case marked:
		f.loss.Found = true
	default:
		f.loss.EventsSeq = f.log.Last
	}
	return nil
}

// store reports whether EVENTS is not the log at which the store stands, and notes if one of the streams is not.
func (f *finder) store(ctx context.Context) (lost bool, err error) {
	if f.Store == nil {
		return false, nil
	}
	summaries, err := f.Streams.Summaries.State(ctx)
	if err != nil {
		return false, err
	}
	var metas []state.Meta
	for id := range f.Strays + 1 {
		meta, err := f.Store.View(id).Meta()
		if err != nil {
			return false, err
		}
		metas = append(metas, meta)
		if err := CheckRecords(meta, summaries); err != nil && f.loss.Store == "" {
			f.loss.Store = errors.Unwrap(err).Error() + ": SUMMARIES"
		}
		if err := CheckLog(meta, f.log); err != nil {
			f.loss.Store, lost = errors.Unwrap(err).Error()+": EVENTS", true
		}
	}
	if f.loss.Store != "" {
		return lost, nil
	}
	only := make([]state.Meta, len(metas))
	for i, m := range metas {
		only[i] = state.Meta{Position: m.Position, EventsMark: m.EventsMark}
	}
	for _, list := range [][]state.Meta{only, metas} {
		if err := CheckMarks(ctx, list, f.Streams); errors.Is(err, ErrRewritten) {
			f.loss.Store, lost = ErrRewritten.Error(), lost || &list[0] == &only[0]
		} else if err != nil {
			return false, err
		}
	}
	return lost, nil
}

// weigh computes what the loss costs each partition.
func (f *finder) weigh(ctx context.Context, parts []*state.Partition) error {
	l := f.loss
	counts, err := f.count(ctx)
	if err != nil {
		return err
	}
	for id, part := range parts {
		own := PartitionLoss{Partition: id, AppliedSeq: f.applied[id], Records: map[string]uint64{}, Summaries: []string{}}
		voids, chains := []voidRecord{}, map[string]state.Link{}
		if l.Found && !l.configs[id] {
			if err := f.void(part, &own, &voids); err != nil {
				return err
			}
			if own.EventsLost, err = f.lost(id, counts); err != nil {
				return err
			}
		}
		own.Threads = len(f.threads[id])
		chains[""] = part.Meta().Own.Link()
		for _, name := range threadsOf(voids) {
			if chains[name], err = part.StagedTo(name); err != nil {
				return err
			}
		}
		l.Partitions, l.voids, l.chains = append(l.Partitions, own), append(l.voids, voids), append(l.chains, chains)
	}
	if m, err := f.Streams.Events.Get(ctx, l.EventsSeq); l.EventsSeq > 0 && err == nil {
		l.digest = DigestOf(m)
	} else if l.EventsSeq > 0 && !errors.Is(err, broker.ErrGone) {
		return err
	}
	return nil
}

// void finds the records of a partition that rest on lost events, and what has to be announced about them. A summary
// that was announced and not invalidated is invalidated; a job that was announced and has not ended fails.
func (f *finder) void(part *state.Partition, own *PartitionLoss, voids *[]voidRecord) error {
	open := map[string]*voidRecord{}
	var order []string
	err := part.EachStaged(f.loss.EventsSeq+1, func(s *state.Staged) (bool, error) {
		own.Records[string(s.Type)]++
		if s.Thread == "" {
			return true, nil
		}
		f.threads[part.ID()][s.Thread] = true
		var rec struct {
			events.Head
			ID        string `json:"id"`
			SummaryID string `json:"summary_id"`
			Kind      string `json:"kind"`
		}
		if err := json.Unmarshal(s.Data, &rec); err != nil {
			return true, nil // it keeps its place in the chain, and announces nothing
		}
		id := rec.ID + rec.SummaryID
		switch s.Type {
		case events.SummaryCreated:
			own.Summaries = append(own.Summaries, id)
			open["created/"+id], order = &voidRecord{s.Thread, rec.Head, id, rec.Kind, false}, append(order, "created/"+id)
			delete(open, "started/"+id)
		case events.SummaryStarted:
			open["started/"+id], order = &voidRecord{s.Thread, rec.Head, id, rec.Kind, true}, append(order, "started/"+id)
		case events.SummaryFailed:
			delete(open, "started/"+id)
		case events.SummaryInvalidated:
			delete(open, "created/"+id)
		}
		return true, nil
	})
	for _, key := range order {
		if v := open[key]; v != nil {
			*voids = append(*voids, *v)
			delete(open, key)
		}
	}
	return err
}

// count is the number of events of each partition up to the loss; nil if it proves nothing.
func (f *finder) count(ctx context.Context) ([]uint64, error) {
	if !f.loss.Found || f.Store == nil || f.log.First > 1 || f.log.Holes() > 0 {
		return nil, nil
	}
	counts := make([]uint64, f.Strays+1)
	enough := errors.New("read enough")
	err := f.Streams.Events.Scan(ctx, 1, nil, func(m broker.Stored) error {
		if m.Seq > f.loss.EventsSeq {
			return enough
		}
		counts[PartitionOf(m.Subject, f.Strays)]++
		return nil
	}, nil)
	if errors.Is(err, enough) {
		err = nil
	}
	return counts, err
}

// lost is the number of events that the store has counted in a partition and that are gone; it also notes their
// threads.
func (f *finder) lost(id int, counts []uint64) (*uint64, error) {
	if f.Store == nil {
		return nil, nil
	}
	applied := uint64(0)
	err := f.Store.View(id).Headers(func(h *thread.Header) (bool, error) {
		if h.Thread != "" {
			applied += h.Events
		}
		if h.Thread != "" && h.EventSeq > f.loss.EventsSeq {
			f.threads[id][h.Thread] = true
		}
		return true, nil
	})
	if err != nil || counts == nil {
		return nil, err
	}
	gone := applied - min(applied, counts[id])
	return &gone, nil
}

func threadsOf(voids []voidRecord) []string {
	names := make([]string, 0, len(voids))
	for _, v := range voids {
		names = append(names, v.thread)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Nothing reports whether there is nothing to accept: EVENTS holds what was applied, and the store matches the
// streams.
func (l *Loss) Nothing() bool { return !l.Found && l.Store == "" }

// Records is the number of void records.
func (l *Loss) Records() (n uint64) {
	for _, p := range l.Partitions {
		for _, of := range p.Records {
			n += of
		}
	}
	return n
}

// Summaries is the number of void summaries.
func (l *Loss) Summaries() (n int) {
	for _, p := range l.Partitions {
		n += len(p.Summaries)
	}
	return n
}
