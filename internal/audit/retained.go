package audit

import (
	"fmt"
	"hash/maphash"
	"slices"
	"sync"
	"time"

	"precis/events"
	"precis/internal/broker"
	"precis/internal/thread"
	"precis/state"
)

// retained is what retention may have removed at the start of EVENTS, and which threads lost their beginning to it. A
// removal is excused only if the log itself accounts for it: a config.applied records a retention, and no record shows
// that the removed events were younger. Anything else that is missing is a finding, and excuses nothing.
type retained struct {
	first  uint64    // the first sequence that EVENTS holds
	cutoff time.Time // no retention on record has removed anything stored later; zero: there was none
	young  uint64    // first sequence known to have been stored after the cutoff; 0: none is known

	// began is where threads began, by a hash of their names: all threads of the store or, without one, those that have a
	// record. It is filled only if EVENTS has lost its beginning.
	began map[uint64]uint64
	seed  maphash.Seed
	store bool

	// forks are the parents of threads that began as forks.
	mu    sync.Mutex
	forks map[string]string
}

// forked notes what a thread was forked from: what its parent has lost, it has lost as well.
func (r *retained) forked(name, parent string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forks[name] = parent
}

func (r *retained) parentOf(name string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.forks[name]
}

func newRetained(log broker.StreamState, c configs, now time.Time, store *state.Store, partitions int) (*retained, error) {
	r := &retained{
		first: max(log.First, 1), cutoff: c.cutoff(now), began: map[uint64]uint64{}, forks: map[string]string{}, seed: maphash.MakeSeed(), store: store != nil,
	}
	r.known(1, log.Created) // no event is older than its stream
	if log.Msgs == 0 {
		r.known(log.Last, log.LastTime)
	}
	for id := 0; r.store && r.first > 1 && id < partitions; id++ {
		err := store.View(id).Headers(func(h *thread.Header) (bool, error) {
			if h.Thread != "" {
				r.began[r.key(h.Thread)] = h.FirstSeq
				if h.EventSeq > 0 {
					r.known(h.EventSeq, time.Unix(0, h.LastAt))
				}
			}
			return true, nil
		})
		if err != nil {
			return nil, err
		}
	}
	return r, nil
}

func (r *retained) key(thread string) uint64 { return maphash.String(r.seed, thread) }

// known notes when an event was stored, or the earliest time at which it can have been.
func (r *retained) known(seq uint64, at time.Time) {
	if r.cutoff.IsZero() || seq >= r.first || !at.After(r.cutoff) {
		return
	}
	if r.young == 0 || seq < r.young {
		r.young = seq
	}
}

// saw inspects a record of SUMMARIES for what it says of events that are gone.
func (r *retained) saw(head events.Head) {
	if r.first <= 1 || head.ThreadID == nil {
		return
	}
	if head.EventAt != nil {
		r.known(head.EventSeq, *head.EventAt)
	}
	if r.store {
		return
	}
	key := r.key(*head.ThreadID)
	if at, known := r.began[key]; !known || head.FirstEventSeq < at {
		r.began[key] = head.FirstEventSeq
	}
}

// to is the last sequence whose removal is excused; 0 if none.
func (r *retained) to() uint64 {
	switch {
	case r.first <= 1 || r.cutoff.IsZero():
		return 0
	case r.young > 0:
		return r.young - 1
	}
	return r.first - 1
}

// unexcused returns what is missing at the start of EVENTS although no retention on record can have removed it, and
// why not; why is empty if nothing is.
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

// byState are the checks that depend on the state of a thread: everything before it must have been folded. The others
// compare records with each other.
var byState = []string{
	CheckTrigger, CheckMissed, CheckInvalidations, CheckSources, CheckPlaces, CheckRemade, CheckCounter, CheckStore,
}

// excuses reports whether retention may explain a finding.
func (r *retained) excuses(f Finding) bool {
	return slices.Contains(byState, f.Check) && r.cut(string(f.Thread))
}

// rejects reports the same of a rejection that depends on earlier events of its thread.
func (r *retained) rejects(name, code string) bool {
	return (code == events.CodeUnknownMessage || code == events.CodeMessageConflict) && r.cut(name)
}

// cut reports whether retention has removed a thread's beginning. Without a store the thread's records tell; a thread
// without records may be cut.
func (r *retained) cut(name string) bool {
	to := r.to()
	if to == 0 || name == "" {
		return false
	}
	for range maxForks { // of threads that fork each other
		if at, known := r.began[r.key(name)]; known && at <= to || !known && !r.store {
			return true
		}
		if name = r.parentOf(name); name == "" {
			return false
		}
	}
	return false
}

// maxForks bounds how many ancestors of a thread are looked at.
const maxForks = 1000

// count is the number of threads known to have lost their beginning.
func (r *retained) count() (n uint64) {
	to := r.to()
	for _, at := range r.began {
		if to > 0 && at <= to {
			n++
		}
	}
	return n
}
