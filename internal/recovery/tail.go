package recovery

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"

	"precis/events"
	"precis/internal/broker"
	"precis/state"
)

// commitRecords is how many records of SUMMARIES go into one batch while their tail is read.
const commitRecords = 4096

// Scanner reads a stream in order; a *broker.LogReader is one.
type Scanner interface {
	Scan(ctx context.Context, from uint64, filters []string, each func(broker.Stored) error, progress func(seq, last uint64)) error
}

// Tail reads what SUMMARIES and REJECTED hold beyond what the partitions know. Three things can stand
// there: rows of the outbox that were stored, and the process ended before it noted that; records that
// the state has already; and records that it has yet to reach, because the store is empty or older than
// the stream. The first are delivered, the last staged.
type Tail struct {
	parts   []*state.Partition
	pending []map[string]*state.Outgoing // the outbox by id, of each partition
	under   []uint64                     // the last config.applied seen, by its place in its chain, of each partition
	dirty   int

	Staged int // records that the fold has yet to reach
}

// NewTail prepares to read for partitions; the number of one is its index.
func NewTail(parts []*state.Partition) (t *Tail, err error) {
	t = &Tail{parts: parts, pending: make([]map[string]*state.Outgoing, len(parts)), under: make([]uint64, len(parts))}
	for i, part := range parts {
		if t.under[i], err = inForce(part); err != nil {
			return nil, err
		}
		rows, err := part.Outbox()
		if err != nil {
			return nil, err
		}
		t.pending[i] = make(map[string]*state.Outgoing, len(rows))
		for _, row := range rows {
			t.pending[i][row.ID] = row
		}
	}
	return t, nil
}

// inForce is the place in its chain of the config.applied that a partition works under. What is staged does
// not count: read again after a crash in the middle, every record must come to its place again.
func inForce(part *state.Partition) (uint64, error) {
	h, err := part.Header("")
	if err != nil || h == nil {
		return 0, err
	}
	return h.ChainSeq, nil
}

// Read goes through both streams and commits what it finds.
func (t *Tail) Read(ctx context.Context, summaries, rejected Scanner) error {
	from := func(seq func(state.Meta) uint64) uint64 {
		first := ^uint64(0)
		for _, part := range t.parts {
			first = min(first, seq(part.Meta()))
		}
		return first + 1
	}
	last, mark, err := scan(ctx, summaries, from(func(m state.Meta) uint64 { return m.SummariesSeq }), t.Record)
	if err != nil {
		return fmt.Errorf("read SUMMARIES: %w", err)
	}
	lastRejected, markRejected, err := scan(ctx, rejected, from(func(m state.Meta) uint64 { return m.RejectedSeq }), t.rejection)
	if err != nil {
		return fmt.Errorf("read REJECTED: %w", err)
	}
	for _, part := range t.parts {
		meta := part.Meta()
		meta.SummariesSeq, meta.RejectedSeq = max(meta.SummariesSeq, last), max(meta.RejectedSeq, lastRejected)
		if mark.Seq > meta.SummariesMark.Seq {
			meta.SummariesMark = state.Mark(mark)
		}
		if markRejected.Seq > meta.RejectedMark.Seq {
			meta.RejectedMark = state.Mark(markRejected)
		}
		part.SetMeta(meta)
	}
	return t.commit(state.Sync)
}

// scan reads a stream from a sequence to its end, and returns the last sequence it has, with the mark of the last
// message that it gave out.
func scan(ctx context.Context, log Scanner, from uint64, each func(broker.Stored) error) (last uint64, mark broker.Mark, err error) {
	var read broker.Stored
	err = log.Scan(ctx, from, nil, func(m broker.Stored) error {
		read = m
		return each(m)
	}, func(_, end uint64) { last = end })
	if read.Seq > 0 {
		mark = broker.MarkOf(read)
	}
	return last, mark, err
}

// commit writes what was found so far: a batch that is durable has those before it made durable too. The rows that
// Commit returns are none: nothing is decided here.
func (t *Tail) commit(how *state.CommitOptions) error {
	for i, part := range t.parts {
		opts := state.NoSync
		if i == len(t.parts)-1 {
			opts = how
		}
		if _, err := part.Commit(opts); err != nil {
			return err
		}
	}
	t.dirty = 0
	return nil
}

func (t *Tail) changed() error {
	if t.dirty++; t.dirty < commitRecords {
		return nil
	}
	return t.commit(state.NoSync)
}

// Record takes one record of SUMMARIES.
func (t *Tail) Record(m broker.Stored) error {
	var head events.Head
	if err := json.Unmarshal(m.Data, &head); err != nil || head.Partition < 0 || head.Partition >= len(t.parts) {
		// Not ours, or tampered with: the audit names it, and nothing can be adopted from it.
		return nil
	}
	part := t.parts[head.Partition]
	if m.Seq <= part.Meta().SummariesSeq {
		return nil
	}
	if head.ThreadID == nil {
		t.under[head.Partition] = max(t.under[head.Partition], head.ChainSeq)
	}
	id := m.Header.Get(nats.MsgIdHdr)
	if row := t.pending[head.Partition][id]; row != nil {
		delete(t.pending[head.Partition], id)
		return errors.Join(part.Delivered(row, m.Seq), t.changed())
	}
	name := ""
	if head.ThreadID != nil {
		name = *head.ThreadID
	}
	h, err := part.Header(name)
	if err != nil {
		return err
	}
	if h != nil && h.ChainSeq >= head.ChainSeq {
		return errors.Join(part.SawRecord(name, m.Seq), t.changed())
	}
	t.Staged++
	err = part.Stage(&state.Staged{
		Thread: name, EffectiveSeq: head.EffectiveSeq, Under: t.under[head.Partition], ChainSeq: head.ChainSeq, Seq: m.Seq,
		Time: m.Time, Type: typeOf(m.Subject), Data: m.Data,
	})
	return errors.Join(err, t.changed())
}

// typeOf is the type of a record by its subject.
func typeOf(subject string) events.Type {
	t, _, _ := events.ParseSubject(subject)
	return t
}

// rejection takes one record of REJECTED; its id says which event it is about.
func (t *Tail) rejection(m broker.Stored) error {
	id := m.Header.Get(nats.MsgIdHdr)
	partition, seq, ok := RejectedEvent(id)
	if !ok || partition >= len(t.parts) {
		return nil
	}
	part := t.parts[partition]
	if m.Seq <= part.Meta().RejectedSeq {
		return nil
	}
	if row := t.pending[partition][id]; row != nil {
		delete(t.pending[partition], id)
		return errors.Join(part.Delivered(row, m.Seq), t.changed())
	}
	if seq > part.Meta().Position {
		part.StageRejection(seq)
		return t.changed()
	}
	return nil
}

// RejectedEvent reads a rejection's id: event.rejected/<partition>/<event_seq>.
func RejectedEvent(id string) (partition int, seq uint64, ok bool) {
	parts := strings.Split(id, "/")
	if len(parts) != 3 || parts[0] != string(events.EventRejected) {
		return 0, 0, false
	}
	partition, err := strconv.Atoi(parts[1])
	if err != nil || partition < 0 {
		return 0, 0, false
	}
	seq, err = strconv.ParseUint(parts[2], 10, 64)
	return partition, seq, err == nil
}
