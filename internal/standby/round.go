package standby

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"precis/events"
	"precis/handlers"
	"precis/internal/broker"
	"precis/internal/fold"
	"precis/internal/recovery"
	"precis/internal/thread"
	"precis/state"
)

// replica is a partition that is followed. A round's scan and its goroutine use it at the same time, but not the same fields.
type replica struct {
	id     int
	part   *state.Partition
	fold   *fold.Fold
	handed []state.Handed // to forks, until they have it
	last   broker.Stored  // the last event that was folded, since the last commit
	events int            // since the last commit
	failed error
	folded progress

	to   uint64        // how far this round may fold
	left uint64        // the partition's first event behind that; 0: the scan has met none
	up   broker.Stored // the last message of the log before left, of any partition; the last one at all if there is no such event
	// orphan is why the partition can't be followed any further: behind a fork of a thread of the partition parent.
	orphan error
	parent int
	// lacks is the partition that has handed over what the partition lacks; negative: none.
	lacks int
	// halted: it has not folded all that it was dealt.
	halted bool
}

// progress is how far a replica has folded, for the partitions of forks that wait.
type progress struct {
	mu    sync.Mutex
	moved chan struct{} // closed at the next change
	at    uint64
	ended bool
}

func (p *progress) begin(at uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.moved, p.at, p.ended = make(chan struct{}), at, false
}

// tell notes a progress, or with ended that there will be none.
func (p *progress) tell(at uint64, ended bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.at, p.ended = max(p.at, at), ended
	close(p.moved)
	p.moved = make(chan struct{})
}

// wait reports whether a sequence has been reached, once that is known.
func (p *progress) wait(seq uint64) bool {
	for {
		p.mu.Lock()
		at, ended, moved := p.at, p.ended, p.moved
		p.mu.Unlock()
		if at >= seq || ended {
			return at >= seq
		}
		<-moved
	}
}

var (
	// errEnough ends a scan.
	errEnough = errors.New("read enough")
	// errDecides: the fold decides something that is not on record.
	errDecides = errors.New("what follows from its events is not on record")
	// errNotHanded: the parent's partition has not come to a fork in this round.
	errNotHanded = errors.New("what a fork begins with is not handed over")
)

// follow brings partitions to where they are to be in this round.
func (f *Follower) follow(ctx context.Context, list []*replica) error {
	if len(list) == 0 {
		return nil
	}
	// A round moves the marks by which a rewritten log is known: what it leaves can't be told from rows of the log as it is.
	stood := make([]state.Meta, len(list))
	for i, r := range list {
		stood[i] = r.part.Meta()
	}
	if err := f.opts.Same(ctx, stood); err != nil {
		return err
	}
	if err := f.read(ctx, list); err != nil {
		return err
	}
	from := ^uint64(0)
	for _, r := range list {
		if at := r.part.Meta().Position; at < r.to && f.parts[r.id] == r {
			from = min(from, at+1)
		}
	}
	// One that has nothing to fold moves on with the others, so that what is read again later is little.
	list = slices.DeleteFunc(list, func(r *replica) bool { return f.parts[r.id] != r || r.part.Meta().Position+1 < from })
	if len(list) == 0 {
		return nil
	}
	end, err := f.scan(ctx, list, from)
	if err == nil {
		err = f.opts.Same(ctx, stood)
	}
	if err != nil && ctx.Err() == nil {
		for _, r := range list {
			f.close(r.id)
		}
		return err
	}
	for _, r := range list {
		if r.failed == nil {
			at, position := r.up, cmp.Or(r.left, end+1)-1
			if r.halted || ctx.Err() != nil {
				at, position = r.last, r.last.Seq
			}
			r.failed = cmp.Or(f.commit(r, at, position), r.orphan)
		}
		if r.orphan != nil {
			f.opts.Orphan(ctx, r.id, r.parent)
		}
		if r.failed != nil {
			f.giveUp(ctx, r.id, r.failed)
		}
	}
	return f.again(list)
}

// again drops the rows of partitions that have handed over to forks what these have lost since.
func (f *Follower) again(list []*replica) error {
	for _, r := range list {
		if r.lacks < 0 || f.parts[r.lacks] == nil {
			continue
		}
		f.close(r.lacks)
		if err := f.drop(r.lacks, r.failed); err != nil {
			return err
		}
	}
	return nil
}

// read stages what is on record. Partitions that can't be followed from what they have are closed.
func (f *Follower) read(ctx context.Context, list []*replica) error {
	err := f.stage(ctx, list)
	if err == nil {
		return nil
	}
	for _, r := range list { // it is unknown what is in their open batches
		f.close(r.id)
	}
	if !errors.Is(err, recovery.ErrOtherWriter) {
		return err
	}
	for _, r := range list { // which one is it
		if !f.opts.Enter(r.id) {
			continue
		}
		alone, err := f.begin(ctx, r.id)
		if err == nil {
			err = f.stage(ctx, []*replica{alone})
		}
		if errors.Is(err, recovery.ErrOtherWriter) {
			err = f.drop(r.id, err)
		}
		f.opts.Leave(r.id)
		if err != nil {
			return err
		}
	}
	return nil
}

func (f *Follower) stage(ctx context.Context, list []*replica) error {
	parts := make([]*state.Partition, f.opts.Strays+1)
	for _, r := range list {
		parts[r.id] = r.part
	}
	t, err := recovery.NewTail(parts)
	if err != nil {
		return err
	}
	if err := t.Read(ctx, f.opts.Log.Summaries, f.opts.Log.Rejected); err != nil {
		return err
	}
	if t.Staged > 0 {
		if err := recovery.CheckBasis(ctx, parts, f.opts.Log.Events); err != nil {
			return err
		}
	}
	for _, r := range list {
		rows, err := r.part.Outbox()
		if err != nil {
			return err
		}
		// The owner has claimed the partition before it reported anything, and what stood in front of the claim has been read.
		if at := slices.IndexFunc(rows, func(row *state.Outgoing) bool { return row.Guarded }); at >= 0 {
			return fmt.Errorf("%w: partition %d has decided %s, which is not on record", recovery.ErrOtherWriter, r.id, rows[at].ID)
		}
		r.fold.Restaged()
		err = r.fold.Assume(t.Config, f.opts.Config())
		if err == nil {
			err = r.fold.AdoptUpTo(r.part.Meta().Position)
		}
		r.failed = err
	}
	return nil
}

// scan reads the log from one sequence up to another, end, for partitions, which fold it at the same time, each in a goroutine.
func (f *Follower) scan(ctx context.Context, list []*replica, from uint64) (end uint64, err error) {
	s := &scan{f: f, of: map[int]*replica{}, pile: map[*replica]int{}, at: make([]uint64, len(list))}
	for i, r := range list {
		s.at[i] = r.part.Meta().Position
		s.of[r.id], s.pile[r] = r, i
		s.end = max(s.end, r.to)
		r.last, r.events, r.left, r.up, r.halted, r.lacks = broker.Stored{}, 0, 0, broker.Stored{}, false, -1
		r.folded.begin(s.at[i])
	}
	s.deal = recovery.NewDeal(len(list), func(string) int { return s.own })
	s.deal.Before = func(broker.Stored) int { return s.before }
	err = s.deal.Run(ctx, func(ctx context.Context) error {
		err := f.opts.Log.Events.Scan(ctx, from, nil, func(m broker.Stored) error { return s.take(ctx, m) }, nil)
		if errors.Is(err, errEnough) {
			err = nil
		}
		return err
	}, func(ctx context.Context, i int) error {
		f.fold(ctx, list[i], s.deal.Pile(i))
		return nil
	})
	for _, r := range list {
		if r.left == 0 {
			r.up = s.last
		}
	}
	return s.end, err
}

// scan is one pass over the log.
type scan struct {
	f           *Follower
	of          map[int]*replica
	pile        map[*replica]int
	at          []uint64 // where each stood, by pile
	deal        *recovery.Deal
	end         uint64
	last        broker.Stored
	own, before int // of the message that is dealt
}

// take deals a message to the partition that it belongs to, and before that to the one that a fork's parent is in.
func (s *scan) take(ctx context.Context, m broker.Stored) error {
	if m.Seq > s.end {
		return errEnough
	}
	id := recovery.PartitionOf(m.Subject, s.f.opts.Strays)
	from := s.f.forkedFrom(m, id)
	if r := s.of[id]; r != nil && from >= 0 && from != id && (s.of[from] == nil || s.of[from].to < m.Seq) {
		r.to = min(r.to, m.Seq-1)
		if s.f.parts[from] == nil && r.orphan == nil {
			r.parent, r.orphan = from, fmt.Errorf("the thread of event %d is forked from one of partition %d, which is not followed", m.Seq, from)
		}
	}
	s.own, s.before = s.due(s.of[id], m.Seq), -1
	if from >= 0 && from != id {
		s.before = s.due(s.of[from], m.Seq)
	}
	s.last = m
	if s.own < 0 && s.before < 0 {
		return nil
	}
	return s.deal.Give(ctx, m)
}

// due is the pile of a partition that is to fold an event; negative: none is to.
func (s *scan) due(r *replica, seq uint64) int {
	if r == nil || seq <= s.at[s.pile[r]] {
		return -1
	}
	if seq > r.to {
		if r.left == 0 {
			r.left, r.up = seq, s.last
		}
		return -1
	}
	return s.pile[r]
}

// forkedFrom is the partition that hands over what an event's thread begins with; negative if none does.
func (f *Follower) forkedFrom(m broker.Stored, id int) int {
	parent := events.ForkParent(events.Raw{Subject: m.Subject, Header: m.Header, Body: m.Data})
	if parent == "" || id == f.opts.Strays {
		return -1
	}
	return f.opts.Home(parent)
}

// fold folds what a partition is dealt. After a failure, or the end of ctx, it takes the rest and leaves it.
func (f *Follower) fold(ctx context.Context, r *replica, hands <-chan []broker.Stored) {
	defer r.folded.tell(0, true)
	for hand := range hands {
		n := 0
		for _, m := range hand {
			if r.halted = r.halted || ctx.Err() != nil; r.halted || r.failed != nil {
				break
			}
			err := f.step(context.WithoutCancel(ctx), r, m)
			if r.halted = errors.Is(err, errNotHanded); !r.halted {
				r.failed = err
			}
			if err == nil {
				n++
			}
		}
		f.opts.Folded(n)
		if r.halted || r.failed != nil {
			r.folded.tell(0, true)
		}
	}
}

func (f *Follower) step(ctx context.Context, r *replica, m broker.Stored) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("follow event %d: %w: %v", m.Seq, handlers.ErrPanic, p)
		}
	}()
	id := recovery.PartitionOf(m.Subject, f.opts.Strays)
	if from := f.forkedFrom(m, id); id == r.id && from >= 0 && from != id {
		if err := f.handed(r, from, m.Seq); err != nil {
			return err
		}
	}
	out, err := r.fold.Step(ctx, fold.Delivery{Seq: m.Seq, Time: m.Time, Raw: events.Raw{Subject: m.Subject, Header: m.Header, Body: m.Data}}, handlers.Of(m.Subject))
	if err != nil {
		return fmt.Errorf("follow event %d: %w", m.Seq, err)
	}
	r.last = m
	r.events++
	if out.Outcome == thread.HandedOver {
		err = f.commit(r, m, m.Seq)
		r.handed = append(r.handed, state.Handed{Seq: m.Seq, To: id}) // only what is committed is removed
		r.folded.tell(m.Seq, false)
	} else if r.events >= batchEvents || r.part.Size() >= batchBytes {
		err = f.commit(r, m, m.Seq)
	}
	return err
}

// handed waits until the parent's partition has handed over what a fork begins with.
func (f *Follower) handed(r *replica, from int, seq uint64) error {
	parent := f.parts[from]
	if parent == nil || !parent.folded.wait(seq) {
		return errNotHanded
	}
	there, err := f.opts.Store.View(from).Hands(state.Handed{Seq: seq, To: r.id})
	if err == nil && !there { // it was taken, by rows that were dropped since
		r.lacks = from
		err = fmt.Errorf("partition %d has handed over nothing for the fork at event %d", from, seq)
	}
	return err
}

// commit ends a partition's open batch at a position, up to which the message last is the last one.
func (f *Follower) commit(r *replica, last broker.Stored, position uint64) error {
	if r.part.Decided() {
		return errDecides
	}
	var err error
	r.handed = slices.DeleteFunc(r.handed, func(h state.Handed) bool {
		if err != nil || !f.taken(h) {
			return false
		}
		err = r.part.DropHanded(h)
		return err == nil
	})
	if err != nil {
		return err
	}
	meta := r.part.Meta()
	if position > meta.Position {
		meta.Position = position
		if last.Seq > meta.EventsMark.Seq {
			meta.EventsMark = state.Mark(broker.MarkOf(last))
		}
		r.part.SetMeta(meta)
	}
	r.last, r.events = broker.Stored{}, 0
	_, err = r.part.Commit(state.NoSync)
	return err
}

// taken reports whether a fork's partition has what was handed over to it.
func (f *Follower) taken(h state.Handed) bool {
	if to := f.parts[h.To]; to != nil {
		at, err := f.opts.Store.View(h.To).Meta()
		return err == nil && at.Position >= h.Seq
	}
	return f.opts.Taken(h)
}
