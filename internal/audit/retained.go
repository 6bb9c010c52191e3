package audit

import (
	"fmt"
	"hash/maphash"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"precis/events"
	"precis/internal/broker"
	"precis/internal/thread"
	"precis/state"
)

// retained says what a retention may have removed at the start of EVENTS, and which threads have lost their
// beginning by it. A removal is excused only where the log itself accounts for it: a retention stands on record in
// config.applied, and nothing on record shows that what is gone was younger. Everything else that is missing is a
// finding, and excuses nothing.
type retained struct {
	first  uint64    // the first sequence that EVENTS holds
	cutoff time.Time // what was stored later, no retention on record has removed; zero: there was none
	young  uint64    // the first sequence known to have been stored behind the cutoff; 0: none is known

	store      *state.Store // knows where threads began; nil where there is none
	partitions int          // of the store, the strays' included
	// began says where threads that have a record began, by a hash of their names. It is filled while SUMMARIES is
	// read, where no store is at hand.
	began   map[uint64]uint64
	seed    maphash.Seed
	configs configs

	mu   sync.Mutex
	last struct { // one thread's findings come together
		thread string
		cut    bool
	}
}

func newRetained(log broker.StreamState, c configs, now time.Time, store *state.Store, partitions int) *retained {
	r := &retained{
		first: max(log.First, 1), cutoff: c.cutoff(now), configs: c, store: store, partitions: partitions,
		began: map[uint64]uint64{}, seed: maphash.MakeSeed(),
	}
	r.known(1, log.Created) // no event is older than its stream
	if log.Msgs == 0 {
		r.known(log.Last, log.LastTime)
	}
	return r
}

// known notes when an event was stored, or at the earliest.
func (r *retained) known(seq uint64, at time.Time) {
	if r.cutoff.IsZero() || seq >= r.first || !at.After(r.cutoff) {
		return
	}
	if r.young == 0 || seq < r.young {
		r.young = seq
	}
}

// saw looks at a record of SUMMARIES for what it says of events that are gone.
func (r *retained) saw(head events.Head) {
	if r.first <= 1 || head.ThreadID == nil {
		return
	}
	if head.EventAt != nil {
		r.known(head.EventSeq, *head.EventAt)
	}
	if r.store == nil {
		key := maphash.String(r.seed, *head.ThreadID)
		if at, known := r.began[key]; !known || head.FirstEventSeq < at {
			r.began[key] = head.FirstEventSeq
		}
	}
}

// record is saw for a message as it was read.
func (r *retained) record(m broker.Stored) {
	var head events.Head
	if json.Unmarshal(m.Data, &head) == nil && !r.configs.void(m.Seq, head) { // what does not decode is reported where it is adopted
		r.saw(head)
	}
}

// stored looks at the store for what it says of events that are gone.
func (r *retained) stored() error {
	if r.store == nil || r.first <= 1 || r.cutoff.IsZero() {
		return nil
	}
	for id := range r.partitions {
		err := r.store.View(id).Headers(func(h *thread.Header) (bool, error) {
			if h.Thread != "" && h.EventSeq > 0 && h.EventSeq < r.first {
				r.known(h.EventSeq, time.Unix(0, h.LastAt))
			}
			return true, nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// to is the last sequence whose removal is excused; 0 where none is.
func (r *retained) to() uint64 {
	switch {
	case r.first <= 1 || r.cutoff.IsZero():
		return 0
	case r.young > 0:
		return r.young - 1
	}
	return r.first - 1
}

// unexcused is what is missing at the start of EVENTS though no retention on record can have removed it, and why
// not; why is empty where nothing is.
func (r *retained) unexcused() (gone broker.Missing, why string) {
	gone = broker.Missing{Stream: broker.StreamEvents, From: r.to() + 1, To: r.first - 1}
	switch {
	case gone.From > gone.To:
		return gone, ""
	case r.cutoff.IsZero():
		return gone, "removed, and no retention is on record (config.applied)"
	}
	return gone, fmt.Sprintf("removed, and the retention on record reaches no further than %s", r.cutoff.UTC().Format(time.RFC3339))
}

// byState are the checks that hold a record or a row against the state of its thread: what was there
// before it must all have been folded. The others hold records against each other.
var byState = []string{
	CheckTrigger, CheckMissed, CheckInvalidations, CheckSources, CheckPlaces, CheckRemade, CheckCounter, CheckStore,
}

// excuses says that a finding may come from what retention has removed.
func (r *retained) excuses(f Finding) bool {
	return slices.Contains(byState, f.Check) && r.cut(string(f.Thread))
}

// rejects says the same of a rejection that depends on what came before in its thread.
func (r *retained) rejects(name, code string) bool {
	return (code == events.CodeUnknownMessage || code == events.CodeMessageConflict) && r.cut(name)
}

// cut says that retention has removed a thread's beginning. Without a store the thread's records say so; of one that
// has no record at all nobody knows. What can't be read shows elsewhere.
func (r *retained) cut(name string) bool {
	to := r.to()
	if to == 0 || name == "" {
		return false
	}
	if r.store == nil {
		at, known := r.began[maphash.String(r.seed, name)]
		return !known || at <= to
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last.thread != name {
		r.last.thread, r.last.cut = name, r.lost(name, to)
	}
	return r.last.cut
}

// lost says that the store knows a thread from before what is left.
func (r *retained) lost(name string, to uint64) bool {
	for id := range r.partitions {
		if h, err := r.store.View(id).Header(name); err == nil && h != nil && h.FirstSeq <= to {
			return true
		}
	}
	return false
}

// without leaves out the problems of threads that have lost their beginning.
func (r *retained) without(report func(state.Problem)) func(state.Problem) {
	return func(p state.Problem) {
		if !r.cut(p.Thread) {
			report(p)
		}
	}
}

// count is how many threads are known to have lost their beginning.
func (r *retained) count() (n uint64, err error) {
	to := r.to()
	if to == 0 {
		return 0, nil
	}
	for _, at := range r.began {
		if at <= to {
			n++
		}
	}
	if r.store == nil {
		return n, nil
	}
	for id := range r.partitions {
		err := r.store.View(id).Headers(func(h *thread.Header) (bool, error) {
			if h.Thread != "" && h.FirstSeq <= to {
				n++
			}
			return true, nil
		})
		if err != nil {
			return n, err
		}
	}
	return n, nil
}
