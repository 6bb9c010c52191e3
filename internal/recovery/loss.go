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
	Found      bool             `json:"found"`
	Unfinished bool             `json:"unfinished"`
	Partitions []*PartitionLoss `json:"partitions"`
	// Store says why the store can't continue; empty if it can, or if there is none.
	Store string `json:"store"`

	accepted *events.AcceptedLoss // of an acceptance that was interrupted
	digest   string
	rejected uint64
	config   *events.Config // the newest on record
	newer    error          // set if config has what this program does not know
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

	part     *state.Partition
	threads  map[string]bool // that lose events
	voids    []voidRecord
	chains   map[string]state.Link // ends of the chains that are extended
	claimed  uint64                // where the last own record took effect
	accepted bool                  // it has recorded the acceptance
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
func FindLoss(ctx context.Context, in Lossy) (*Loss, error) {
	l := &Loss{}
	var parts []*state.Partition
	for id := range in.Strays + 1 {
		part, err := in.Scratch.Partition(id)
		if err != nil {
			return nil, err
		}
		defer func() { _ = part.Close() }() // the scratch store is discarded
		parts = append(parts, part)
		l.Partitions = append(l.Partitions, &PartitionLoss{
			Partition: id, Records: map[string]uint64{}, Summaries: []string{}, part: part, threads: map[string]bool{}, chains: map[string]state.Link{},
		})
	}
	t, err := NewTail(parts)
	if err != nil {
		return nil, err
	}
	t.Unfinished = true
	if err := t.Read(ctx, in.Streams.Summaries, in.Streams.Rejected); err != nil {
		return nil, err
	}
	f := &finder{Lossy: in, Loss: l}
	if f.log, err = in.Streams.Events.State(ctx); err != nil {
		return nil, err
	}
	rejected, err := in.Streams.Rejected.State(ctx)
	if err != nil {
		return nil, err
	}
	l.EventsEnd, l.rejected = f.log.Last, rejected.Last
	for id, own := range l.Partitions {
		own.claimed, own.chains[""] = t.Effective(id), own.part.Meta().Own.Link()
		if err := f.gather(own); err != nil {
			return nil, err
		}
	}
	f.interrupted()
	if err := f.find(ctx); err != nil {
		return nil, err
	}
	return l, f.weigh(ctx)
}

// finder looks for a loss.
type finder struct {
	Lossy
	*Loss
	log   broker.StreamState
	known []evidence // in log order once it is sorted
}

// gather collects what a partition's records and rows say of events.
func (f *finder) gather(own *PartitionLoss) error {
	err := own.part.EachStaged(0, func(s *state.Staged) (bool, error) {
		if e, ok := evidenceOf(s); ok {
			f.known = append(f.known, e)
		}
		if !s.Void {
			own.AppliedSeq = max(own.AppliedSeq, s.EffectiveSeq)
		}
		if s.Type == events.ConfigApplied {
			f.configured(s.Data)
		}
		return true, nil
	})
	if err != nil || f.Lossy.Store == nil {
		return err
	}
	view := f.Lossy.Store.View(own.Partition)
	meta, err := view.Meta()
	if err != nil {
		return err
	}
	own.AppliedSeq = max(own.AppliedSeq, meta.Position)
	return view.Headers(func(h *thread.Header) (bool, error) {
		if h.Thread != "" && h.LastAt != 0 {
			f.known = append(f.known, evidence{seq: h.EventSeq, at: time.Unix(0, h.LastAt).UTC(), of: h.Thread})
		}
		return true, nil
	})
}

// configured notes a configuration on record, if it is the newest.
func (f *finder) configured(data []byte) {
	rec := new(events.Config)
	if json.Unmarshal(data, rec) != nil || f.config != nil && !rec.AppliedAt.After(f.config.AppliedAt) {
		return
	}
	f.config, f.newer = rec, nil
	if err := events.KnownConfig(data); errors.Is(err, events.ErrNewerConfig) {
		f.newer = err
	}
}

// interrupted finds an acceptance that only some partitions have recorded.
func (f *finder) interrupted() {
	for _, own := range f.Partitions {
		losses := own.part.Meta().Losses
		if n := len(losses); n > 0 && (f.accepted == nil || losses[n-1].At.After(f.accepted.AcceptedAt)) {
			last := losses[n-1]
			f.accepted = &events.AcceptedLoss{EventsSeq: last.Events, RejectedSeq: last.Rejected, AcceptedAt: last.At}
		}
	}
	if f.accepted == nil {
		return
	}
	for _, own := range f.Partitions {
		losses := own.part.Meta().Losses
		own.accepted = len(losses) > 0 && losses[len(losses)-1].At.Equal(f.accepted.AcceptedAt)
		f.Unfinished = f.Unfinished || !own.accepted
	}
	if f.Unfinished {
		return
	}
	f.accepted = nil
	for _, own := range f.Partitions {
		own.accepted = false
	}
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
	marked, err := f.marked(ctx)
	if err != nil {
		return err
	}
	applied := uint64(0)
	for _, own := range f.Partitions {
		applied = max(applied, own.AppliedSeq)
	}
	switch {
	case f.Unfinished:
		f.Found, f.EventsSeq = true, f.accepted.EventsSeq
	case first < len(f.known):
		// Events after the loss were stored later than any lost one.
		lost := f.known[first]
		f.Found = true
		f.EventsSeq, err = f.Streams.Events.SeqAt(ctx, f.log.First, min(f.log.Last, lost.seq-1), lost.at)
	case applied > f.log.Last:
		f.Found, f.EventsSeq = true, f.log.Last
	case marked && len(f.known) > 0:
		f.Found, f.EventsSeq = true, f.known[len(f.known)-1].seq
	case marked:
		f.Found = true
	default:
		f.EventsSeq = f.log.Last
	}
	return err
}

// marked reports whether EVENTS is not the log at which the store stands, and notes if one of the streams is not.
func (f *finder) marked(ctx context.Context) (lost bool, err error) {
	if f.Lossy.Store == nil {
		return false, nil
	}
	summaries, err := f.Streams.Summaries.State(ctx)
	if err != nil {
		return false, err
	}
	var metas []state.Meta
	for _, own := range f.Partitions {
		meta, err := f.Lossy.Store.View(own.Partition).Meta()
		if err != nil {
			return false, err
		}
		metas = append(metas, meta)
		if err := CheckRecords(meta, summaries); err != nil && f.Loss.Store == "" {
			f.Loss.Store = errors.Unwrap(err).Error() + ": SUMMARIES"
		}
		if err := CheckLog(meta, f.log); err != nil {
			f.Loss.Store, lost = errors.Unwrap(err).Error()+": EVENTS", true
		}
	}
	if f.Loss.Store != "" {
		return lost, nil
	}
	for _, log := range []Readers{{Events: f.Streams.Events}, {Summaries: f.Streams.Summaries, Rejected: f.Streams.Rejected}} {
		if err := CheckMarks(ctx, metas, log); errors.Is(err, ErrRewritten) {
			f.Loss.Store, lost = ErrRewritten.Error(), lost || log.Events != nil
		} else if err != nil {
			return false, err
		}
	}
	return lost, nil
}

// weigh computes what the loss costs each partition.
func (f *finder) weigh(ctx context.Context) error {
	counts, err := f.count(ctx)
	if err != nil {
		return err
	}
	for _, own := range f.Partitions {
		if !f.Found || own.accepted {
			continue
		}
		if err := errors.Join(f.void(own), f.lost(own, counts)); err != nil {
			return err
		}
		own.Threads = len(own.threads)
	}
	if m, err := f.Streams.Events.Get(ctx, f.EventsSeq); f.EventsSeq > 0 && err == nil {
		f.digest = DigestOf(m)
	} else if f.EventsSeq > 0 && !errors.Is(err, broker.ErrGone) {
		return err
	}
	return nil
}

// void finds the records of a partition that rest on lost events, and what has to be announced about them. A summary
// that was announced and not invalidated is invalidated; a job that was announced and has not ended fails.
func (f *finder) void(own *PartitionLoss) error {
	open := map[string]*voidRecord{}
	var order []string
	announced := func(key string, v voidRecord) { open[key], order = &v, append(order, key) }
	err := own.part.EachStaged(f.EventsSeq+1, func(s *state.Staged) (bool, error) {
		own.Records[string(s.Type)]++
		if s.Thread == "" {
			return true, nil
		}
		own.threads[s.Thread] = true
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
		created, started := "created/"+id, "started/"+id
		switch s.Type {
		case events.SummaryCreated:
			own.Summaries = append(own.Summaries, id)
			announced(created, voidRecord{s.Thread, rec.Head, id, rec.Kind, false})
			delete(open, started)
		case events.SummaryStarted:
			announced(started, voidRecord{s.Thread, rec.Head, id, rec.Kind, true})
		case events.SummaryFailed:
			delete(open, started)
		case events.SummaryInvalidated:
			delete(open, created)
		}
		return true, nil
	})
	for _, key := range order {
		v := open[key]
		if v == nil || err != nil {
			continue
		}
		own.voids = append(own.voids, *v)
		delete(open, key)
		own.chains[v.thread], err = own.part.StagedTo(v.thread)
	}
	return err
}

// count is the number of events of each partition up to the loss; nil if it proves nothing.
func (f *finder) count(ctx context.Context) ([]uint64, error) {
	if !f.Found || f.Lossy.Store == nil || f.log.First > 1 || f.log.Holes() > 0 {
		return nil, nil
	}
	counts := make([]uint64, f.Strays+1)
	enough := errors.New("read enough")
	err := f.Streams.Events.Scan(ctx, 1, nil, func(m broker.Stored) error {
		if m.Seq > f.EventsSeq {
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

// lost counts the events that the store has counted in a partition and that are gone, and notes their threads.
func (f *finder) lost(own *PartitionLoss, counts []uint64) error {
	if f.Lossy.Store == nil {
		return nil
	}
	applied := uint64(0)
	err := f.Lossy.Store.View(own.Partition).Headers(func(h *thread.Header) (bool, error) {
		if h.Thread != "" {
			applied += h.Events
		}
		if h.Thread != "" && h.EventSeq > f.EventsSeq {
			own.threads[h.Thread] = true
		}
		return true, nil
	})
	if err == nil && counts != nil {
		gone := applied - min(applied, counts[own.Partition])
		own.EventsLost = &gone
	}
	return err
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
