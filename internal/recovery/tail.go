package recovery

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"precis/events"
	"precis/internal/broker"
	"precis/state"
)

// commitRecords is the number of records of SUMMARIES in one batch while their tail is read.
const commitRecords = 4096

// Log reads a stream; *broker.LogReader implements it.
type Log interface {
	// Scan reads the stream in order. Next returns the first message at or after a sequence that matches a filter, or
	// broker.ErrGone.
	Scan(ctx context.Context, from uint64, filters []string, each func(broker.Stored) error, progress func(seq, last uint64)) error
	Next(ctx context.Context, filter string, from uint64) (broker.Stored, error)
	State(ctx context.Context) (broker.StreamState, error)
}

// Tail reads what SUMMARIES and REJECTED hold beyond what the partitions know. Four kinds of message can be there:
// outbox rows that were stored before the process could note it; records that the state already contains; records that
// it has yet to reach, because the store is empty or older than the stream; and messages that are no records. The
// first are delivered, the third staged, the last skipped.
type Tail struct {
	parts     []*state.Partition
	pending   []pending // the outbox, by partition
	owners    []string  // of the last claims read, by partition
	effective []uint64  // effective_seq of the last own record read, by partition
	dirty     int
	summaries Log
	stream    broker.StreamState // of SUMMARIES
	// claimed holds the chain ends that foreign records claim, by the filter of their thread: an altered record is
	// foreign, and what was decided after it is not. goesOn is where a thread's chain continues that seemed to have a
	// gap.
	claimed map[string][]state.Link
	goesOn  map[string]uint64

	// Unfinished reads the tail even if an accepted loss is on record for some partitions only.
	Unfinished bool
	Staged     int    // records that the fold has yet to reach
	Voided     uint64 // those of them that rest on events whose loss was accepted
	// Config is the data of the first config.applied that was staged; nil if none was.
	Config []byte
	// Foreign receives every record that is skipped, and Own every record of a partition's own chain, with the end of the chain
	// before it; those that NewTail sets do nothing.
	Foreign func(Foreign)
	Own     func(m broker.Stored, e Entry, end state.Link)
}

// pending is the outbox of a partition.
type pending struct {
	threads    map[string][]*state.Outgoing // guarded rows, in order
	rejections map[string]*state.Outgoing   // by id
}

// NewTail prepares to read for partitions, indexed by their numbers.
func NewTail(parts []*state.Partition) (t *Tail, err error) {
	t = &Tail{
		parts: parts, pending: make([]pending, len(parts)), owners: make([]string, len(parts)), effective: make([]uint64, len(parts)),
		claimed: map[string][]state.Link{}, goesOn: map[string]uint64{}, Foreign: func(Foreign) {}, Own: func(broker.Stored, Entry, state.Link) {},
	}
	for i, part := range parts {
		rows, err := part.Outbox()
		if err != nil {
			return nil, err
		}
		t.pending[i] = pending{threads: map[string][]*state.Outgoing{}, rejections: map[string]*state.Outgoing{}}
		for _, row := range rows {
			if row.Guarded {
				t.pending[i].threads[row.Thread] = append(t.pending[i].threads[row.Thread], row)
			} else {
				t.pending[i].rejections[row.ID] = row
			}
		}
	}
	return t, nil
}

// Read reads both streams and commits what it finds.
func (t *Tail) Read(ctx context.Context, summaries, rejected Log) (err error) {
	t.summaries = summaries
	if t.stream, err = summaries.State(ctx); err != nil {
		return fmt.Errorf("read SUMMARIES: %w", err)
	}
	from := func(seq func(state.Meta) uint64) uint64 {
		first := ^uint64(0)
		for _, part := range t.parts {
			first = min(first, seq(part.Meta()))
		}
		return first + 1
	}
	record := func(m broker.Stored) error { return t.record(ctx, m) }
	last, mark, err := scan(ctx, summaries, from(func(m state.Meta) uint64 { return m.SummariesSeq }), record)
	if err != nil {
		return fmt.Errorf("read SUMMARIES: %w", err)
	}
	lastRejected, markRejected, err := scan(ctx, rejected, from(func(m state.Meta) uint64 { return m.RejectedSeq }), t.rejection)
	if err != nil {
		return fmt.Errorf("read REJECTED: %w", err)
	}
	if err := t.accepted(); err != nil {
		return err
	}
	t.reached(last, lastRejected)
	for _, part := range t.parts {
		meta := part.Meta()
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

// scan reads a stream from a sequence to its end. It returns the stream's last sequence, and the mark of the last
// message read.
func scan(ctx context.Context, log Log, from uint64, each func(broker.Stored) error) (last uint64, mark broker.Mark, err error) {
	var read broker.Stored
	err = log.Scan(ctx, from, nil, func(m broker.Stored) error {
		read = m
		return each(m)
	}, func(_, end uint64) { last = end })
	if read.Seq > 0 {
		last, mark = max(last, read.Seq), broker.MarkOf(read) // the stream may have grown meanwhile
	}
	return last, mark, err
}

// reached notes the sequences up to which the streams hold nothing unknown.
func (t *Tail) reached(summaries, rejected uint64) {
	for _, part := range t.parts {
		meta := part.Meta()
		meta.SummariesSeq, meta.RejectedSeq = max(meta.SummariesSeq, summaries), max(meta.RejectedSeq, rejected)
		part.SetMeta(meta)
	}
}

// commit writes what was found so far: a durable batch makes those before it durable too. Commit returns no rows here,
// since nothing is decided.
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

// changed counts a change to the open batches. From time to time it notes how far the streams are read, and commits.
func (t *Tail) changed(summaries, rejected uint64) error {
	if t.dirty++; t.dirty < commitRecords {
		return nil
	}
	t.reached(summaries, rejected)
	return t.commit(state.NoSync)
}

// record processes one message of SUMMARIES.
func (t *Tail) record(ctx context.Context, m broker.Stored) error {
	c, err := Recognize(m, len(t.parts)-1)
	if err != nil {
		return t.foreign(m, c, err)
	}
	part := t.parts[c.Partition]
	if m.Seq <= part.Meta().SummariesSeq {
		return nil
	}
	if c.Thread == "" {
		return t.own(ctx, part, m, c)
	}
	rows := t.pending[c.Partition].threads[c.Thread]
	for i, row := range rows {
		if Same(m, c.Partition, row) {
			t.delivered(c, rows[:i+1])
			return t.changed(m.Seq, 0)
		}
	}
	end, err := t.end(part, c.Thread, uint64(len(rows)))
	if err != nil {
		return err
	}
	follows := c.Follows(end, m.Data)
	if follows && len(rows) > 0 {
		return t.otherWriter(m, rows[0])
	}
	gap := false
	if !follows && len(rows) == 0 {
		h, err := part.Header(c.Thread)
		if err == nil && (h == nil || h.ChainSeq < end.ChainSeq || t.lost()) {
			gap, err = t.gap(ctx, m, c, end)
		}
		if err != nil {
			return err
		}
	}
	if !follows && !gap {
		return t.foreign(m, c, c.against(end))
	}
	return errors.Join(t.stage(part, m, c, gap), t.changed(m.Seq, 0))
}

// own processes a record of a partition's own chain. Claims change nothing but the chain; a configuration is in the outbox, or
// the fold has yet to reach it.
func (t *Tail) own(ctx context.Context, part *state.Partition, m broker.Stored, c Entry) error {
	end, rows := part.Meta().Own, t.pending[c.Partition].threads[""]
	if len(rows) > 0 && c.Type == events.ConfigApplied {
		row, _, err := rows[0].Sealed(end)
		if err != nil {
			return err
		}
		if Same(m, c.Partition, row) {
			t.delivered(c, rows[:1])
			t.noteOwn(part, m, c)
			return t.changed(m.Seq, 0)
		}
	}
	follows, gap := c.Follows(end.Link(), m.Data), false
	if !follows && len(rows) == 0 {
		var err error
		if gap, err = t.gap(ctx, m, c, end.Link()); err != nil {
			return err
		}
	}
	switch {
	case !follows && !gap:
		return t.foreign(m, c, c.against(end.Link()))
	case c.Type == events.PartitionClaimed:
		t.owners[c.Partition] = OwnerOf(m, c)
		t.noteOwn(part, m, c)
		return t.changed(m.Seq, 0)
	case len(rows) > 0:
		return t.otherWriter(m, rows[0])
	}
	return errors.Join(t.stage(part, m, c, gap), t.changed(m.Seq, 0))
}

// Owner is the owner that the last claim names which was read of a partition; Effective is where the last record of its own
// chain took effect.
func (t *Tail) Owner(partition int) string     { return t.owners[partition] }
func (t *Tail) Effective(partition int) uint64 { return t.effective[partition] }

// noteOwn notes the end of a partition's own chain.
func (t *Tail) noteOwn(part *state.Partition, m broker.Stored, c Entry) {
	t.effective[c.Partition] = c.EffectiveSeq
	meta := part.Meta()
	t.Own(m, c, meta.Own.Link())
	meta.Own = state.Own{Seq: m.Seq, ChainSeq: c.ChainSeq, Chain: c.Chain}
	part.SetMeta(meta)
}

// otherWriter is the error where a record of another processor stands in the place of one in the outbox.
func (t *Tail) otherWriter(m broker.Stored, row *state.Outgoing) error {
	return fmt.Errorf("%w: record %d where %s was to go: stop the other processor; then move the store (state in the data directory) away: it is rebuilt from the log",
		ErrOtherWriter, m.Seq, row.ID)
}

// delivered notes rows that the server has stored: the last as it was read, those before it although they are gone by
// now.
func (t *Tail) delivered(c Entry, rows []*state.Outgoing) {
	left := t.pending[c.Partition].threads
	left[c.Thread] = left[c.Thread][len(rows):]
	for _, row := range rows {
		t.parts[c.Partition].Delivered(row)
	}
}

// end is the end of a thread's chain in SUMMARIES, as far as that is read; waiting is how many of the chain's records
// are in the outbox.
func (t *Tail) end(part *state.Partition, name string, waiting uint64) (state.Link, error) {
	staged, err := part.StagedTo(name)
	if err != nil {
		return staged, err
	}
	h, err := part.Header(name)
	if err != nil || h == nil || staged.ChainSeq > h.ChainSeq {
		return staged, err
	}
	if waiting > 0 {
		return state.Link{ChainSeq: h.ChainSeq - waiting, Chain: t.pending[part.ID()].threads[name][0].Prev}, nil
	}
	return state.Link{ChainSeq: h.ChainSeq, Chain: h.Chain}, nil
}

// maxClaimed bounds what is remembered of a thread's foreign records; the newest are kept.
const maxClaimed = 16

// gap reports whether a record follows others of its thread that are gone: the stream has lost messages, or this
// record continues a foreign one in their place, and no later record continues the end of the chain.
func (t *Tail) gap(ctx context.Context, m broker.Stored, c Entry, end state.Link) (bool, error) {
	filter := ThreadRecords(m.Subject)
	follows := slices.ContainsFunc(t.claimed[filter], func(l state.Link) bool {
		return l.ChainSeq > end.ChainSeq && c.Follows(l, m.Data)
	})
	if c.ChainSeq <= end.ChainSeq+1 || m.Seq < t.goesOn[filter] || !t.lost() && !follows {
		return false, nil
	}
	if end.ChainSeq == 0 && t.stream.First > 1 && len(t.claimed[filter]) == 0 {
		return true, nil // the beginning of the stream is gone, as it is for every thread of that time
	}
	for from := m.Seq + 1; ; {
		next, err := t.summaries.Next(ctx, filter, from)
		if errors.Is(err, broker.ErrGone) {
			return true, nil
		}
		if err != nil {
			return false, err
		}
		if later, err := Recognize(next, len(t.parts)-1); err == nil && later.Follows(end, next.Data) {
			t.goesOn[filter] = next.Seq
			return false, nil
		}
		from = next.Seq + 1
	}
}

// lost reports whether SUMMARIES has lost messages. If not, a chain whose end the store knows has no gap.
func (t *Tail) lost() bool { return t.stream.First > 1 || t.stream.Holes() > 0 }

// foreign skips a message.
func (t *Tail) foreign(m broker.Stored, c Entry, why error) error {
	if c.ChainSeq > 0 {
		filter := ThreadRecords(m.Subject)
		list := append(t.claimed[filter], state.Link{ChainSeq: c.ChainSeq, Chain: c.Chain})
		t.claimed[filter] = list[max(0, len(list)-maxClaimed):]
	}
	t.Foreign(Foreign{Stored: m, Entry: c, Why: why})
	return nil
}

// stage keeps a record until the fold reaches the event at which it took effect.
func (t *Tail) stage(part *state.Partition, m broker.Stored, c Entry, gap bool) error {
	if c.Type == events.ConfigApplied {
		if t.Config == nil {
			t.Config = m.Data
		}
		if err := t.void(part, m); err != nil {
			return err
		}
		t.noteOwn(part, m, c)
	}
	t.Staged++
	return part.Stage(&state.Staged{
		Thread: c.Thread, EffectiveSeq: c.EffectiveSeq, Under: part.Meta().Own.ChainSeq, ChainSeq: c.ChainSeq, Chain: c.Chain, Gap: gap,
		Left: left(m, c), Seq: m.Seq, Time: m.Time, Made: madeAt(m), Type: c.Type, Data: m.Data,
	})
}

// Decided stages what a store has decided and SUMMARIES may not hold yet: it counts as recorded.
func (t *Tail) Decided(partition int, rows []*state.Outgoing) error {
	part := t.parts[partition]
	for _, row := range rows {
		if !row.Guarded {
			continue // the event decides a rejection again
		}
		if row.Type == events.ConfigApplied {
			if on, err := t.onRecord(part, row); err != nil || on {
				if err != nil {
					return err
				}
				continue
			}
			var err error
			if row, _, err = row.Sealed(part.Meta().Own); err != nil {
				return err
			}
		}
		m := broker.Stored{Subject: row.Subject, Header: Header(partition, row), Data: row.Data, Seq: ^uint64(0), Time: row.Time}
		c, err := Recognize(m, len(t.parts)-1)
		if err != nil {
			return fmt.Errorf("read outbox of partition %d: %w", partition, err)
		}
		end := part.Meta().Own.Link()
		if row.Thread != "" {
			if end, err = t.end(part, row.Thread, 0); err != nil {
				return err
			}
		}
		if c.ChainSeq <= end.ChainSeq {
			continue
		}
		if err := t.stage(part, m, c, c.ChainSeq > end.ChainSeq+1); err != nil {
			return err
		}
	}
	return nil
}

// onRecord reports whether SUMMARIES has a configuration of an outbox.
func (t *Tail) onRecord(part *state.Partition, row *state.Outgoing) (found bool, err error) {
	err = part.EachStaged(0, func(s *state.Staged) (bool, error) {
		if s.Type == events.ConfigApplied {
			data, err := state.Unsealed(s.Data)
			found = err == nil && bytes.Equal(data, row.Data)
		}
		return !found, nil
	})
	return found, err
}

// rejection processes one record of REJECTED; its id names the event.
func (t *Tail) rejection(m broker.Stored) error {
	id := m.Header.Get("ce-id") // not Nats-Msg-Id: a row published again while the server remembers its id has none
	partition, seq, ok := RejectedEvent(id)
	if !ok || partition >= len(t.parts) {
		return nil
	}
	part := t.parts[partition]
	if m.Seq <= part.Meta().RejectedSeq {
		return nil
	}
	if row := t.pending[partition].rejections[id]; row != nil {
		if !Same(m, partition, row) {
			return nil
		}
		delete(t.pending[partition].rejections, id)
		part.Delivered(row)
		return t.changed(0, m.Seq)
	}
	if seq > part.Meta().Position && !lost(part.Meta().Losses, seq, m.Seq) {
		part.StageRejection(seq)
		return t.changed(0, m.Seq)
	}
	return nil
}

// RejectedEvent parses a rejection's id: event.rejected/<partition>/<event_seq>.
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

// madeAt is when a record was decided.
func madeAt(m broker.Stored) time.Time {
	at, err := time.Parse(time.RFC3339Nano, m.Header.Get("ce-time"))
	if err != nil {
		return m.Time
	}
	return at
}
