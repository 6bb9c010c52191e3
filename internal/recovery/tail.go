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

	"github.com/go-json-experiment/json"

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
	parts     []*state.Partition // by number; nil: not read for
	read      []*state.Partition // those that are
	pending   []pending          // the outbox, by partition
	owners    []string           // of the last claims read, by partition
	effective []uint64           // effective_seq of the last own record read, by partition
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
	// Foreign receives every message of SUMMARIES that is skipped, Record every one that has a place in its chain, with the end
	// of the chain before it, and Rejection every message of REJECTED. Skip reports records to skip silently. Those
	// that NewTail sets do nothing.
	Foreign   func(Foreign)
	Record    func(m broker.Stored, e Entry, end state.Link)
	Rejection func(m broker.Stored)
	Skip      func(m broker.Stored, e Entry) (bool, error)
}

// pending is the outbox of a partition.
type pending struct {
	threads    map[string][]*state.Outgoing // guarded rows, in order
	rejections map[string]*state.Outgoing   // by id
}

// NewTail prepares to read for partitions, indexed by their numbers; nil for one that another processor has.
func NewTail(parts []*state.Partition) (t *Tail, err error) {
	t = &Tail{
		parts: parts, pending: make([]pending, len(parts)), owners: make([]string, len(parts)), effective: make([]uint64, len(parts)),
		claimed: map[string][]state.Link{}, goesOn: map[string]uint64{},
		Foreign: func(Foreign) {}, Record: func(broker.Stored, Entry, state.Link) {}, Rejection: func(broker.Stored) {},
		Skip: func(broker.Stored, Entry) (bool, error) { return false, nil },
	}
	for i, part := range parts {
		if part == nil {
			continue
		}
		t.read = append(t.read, part)
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

// Read reads both streams and commits what it finds. rejected may be nil.
func (t *Tail) Read(ctx context.Context, summaries, rejected Log) (err error) {
	t.summaries = summaries
	if t.stream, err = summaries.State(ctx); err != nil {
		return fmt.Errorf("read SUMMARIES: %w", err)
	}
	streams := []*tailed{{
		log: summaries, name: broker.StreamSummaries, each: func(m broker.Stored) error { return t.record(ctx, m) },
		at: func(m *state.Meta) (*uint64, *state.Mark) { return &m.SummariesSeq, &m.SummariesMark },
	}}
	if rejected != nil {
		streams = append(streams, &tailed{
			log: rejected, name: broker.StreamRejected, each: t.rejection,
			at: func(m *state.Meta) (*uint64, *state.Mark) { return &m.RejectedSeq, &m.RejectedMark },
		})
	}
	for _, s := range streams {
		if err := s.scan(ctx, t.read); err != nil {
			return fmt.Errorf("read %s: %w", s.name, err)
		}
	}
	if err := t.accepted(); err != nil {
		return err
	}
	for _, part := range t.read {
		meta := part.Meta()
		for _, s := range streams {
			seq, mark := s.at(&meta)
			*seq = max(*seq, s.last)
			if s.mark.Seq > mark.Seq {
				*mark = s.mark
			}
		}
		part.SetMeta(meta)
	}
	return t.commit(state.Sync)
}

// tailed is a stream whose tail is read.
type tailed struct {
	log  Log
	name string
	each func(broker.Stored) error
	at   func(*state.Meta) (*uint64, *state.Mark) // where a partition stands in it
	last uint64                                   // its last sequence
	mark state.Mark                               // of the last message read
}

// scan reads a stream from the earliest position of a partition to its end.
func (s *tailed) scan(ctx context.Context, parts []*state.Partition) error {
	from := ^uint64(0)
	for _, part := range parts {
		meta := part.Meta()
		seq, _ := s.at(&meta)
		from = min(from, *seq)
	}
	var read broker.Stored
	err := s.log.Scan(ctx, from+1, nil, func(m broker.Stored) error {
		read = m
		return s.each(m)
	}, func(_, end uint64) { s.last = end })
	if read.Seq > 0 {
		s.last, s.mark = max(s.last, read.Seq), state.Mark(broker.MarkOf(read)) // the stream may have grown meanwhile
	}
	return err
}

// reached notes the sequences up to which the streams hold nothing unknown.
func (t *Tail) reached(summaries, rejected uint64) {
	for _, part := range t.read {
		meta := part.Meta()
		meta.SummariesSeq, meta.RejectedSeq = max(meta.SummariesSeq, summaries), max(meta.RejectedSeq, rejected)
		part.SetMeta(meta)
	}
}

// commit writes what was found so far: a durable batch makes those before it durable too. Commit returns no rows here,
// since nothing is decided.
func (t *Tail) commit(how *state.CommitOptions) error {
	for i, part := range t.read {
		opts := state.NoSync
		if i == len(t.read)-1 {
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
	e, err := Recognize(m, len(t.parts)-1)
	if err != nil {
		return t.foreign(m, e, err)
	}
	if skip, err := t.Skip(m, e); skip || err != nil {
		return err
	}
	part := t.parts[e.Partition]
	if part == nil || m.Seq <= part.Meta().SummariesSeq {
		return nil
	}
	rows := t.pending[e.Partition].threads[e.Thread]
	end, known, err := t.end(part, e.Thread, rows)
	if err != nil {
		return err
	}
	stored, err := storedAs(m, e, part.Meta().Own, rows)
	if err != nil {
		return err
	}
	if stored > 0 {
		t.delivered(e, rows[:stored], m.Seq)
		t.took(part, m, e, end)
		return t.changed(m.Seq, 0)
	}
	follows, gap := e.Follows(end, m.Data), false
	if !follows && len(rows) == 0 && (!known || t.lost()) {
		if gap, err = t.gap(ctx, m, e, end); err != nil {
			return err
		}
	}
	switch {
	case !follows && !gap:
		return t.foreign(m, e, e.against(end))
	case e.Type == events.PartitionClaimed: // it changes nothing but the chain
		t.owners[e.Partition] = OwnerOf(m, e)
		t.took(part, m, e, end)
	case len(rows) > 0:
		return t.otherWriter(m, rows[0])
	default:
		if err := passed(part, m, e); err != nil {
			return err
		}
		if err := t.stage(part, m, e, end, gap); err != nil {
			return err
		}
	}
	return t.changed(m.Seq, 0)
}

// passed fails if a record took effect before an event of its thread that the store has applied: another processor decided it, from an
// earlier place than where this store was by then.
func passed(part *state.Partition, m broker.Stored, e Entry) error {
	h, err := part.Header(e.Thread)
	if err != nil || h == nil || e.Thread == "" || h.EventSeq <= e.EffectiveSeq {
		return err
	}
	return fmt.Errorf("%w: record %d took effect at event %d, and the store has applied event %d of its thread: move the store (state in the data directory) away: it is rebuilt from the log",
		ErrOtherWriter, m.Seq, e.EffectiveSeq, h.EventSeq)
}

// storedAs returns how many of a chain's outbox rows are stored, given that the message is: those up to the row that it equals; 0
// if it equals none.
func storedAs(m broker.Stored, e Entry, own state.Own, rows []*state.Outgoing) (int, error) {
	if e.Thread == "" { // a configuration gets its place in the chain when it is published
		if len(rows) == 0 || e.Type != events.ConfigApplied {
			return 0, nil
		}
		row, _, err := rows[0].Sealed(own)
		if err != nil {
			return 0, err
		}
		rows = []*state.Outgoing{row}
	}
	return 1 + slices.IndexFunc(rows, func(row *state.Outgoing) bool { return Same(m, e.Partition, row) }), nil
}

// Owner is the owner that the last claim names which was read of a partition; Effective is where the last record of its own
// chain took effect.
func (t *Tail) Owner(partition int) string     { return t.owners[partition] }
func (t *Tail) Effective(partition int) uint64 { return t.effective[partition] }

// took notes a record that has its place in its chain: the partition notes the end of its own.
func (t *Tail) took(part *state.Partition, m broker.Stored, e Entry, end state.Link) {
	t.Record(m, e, end)
	if e.Thread != "" {
		return
	}
	t.effective[e.Partition] = e.EffectiveSeq
	meta := part.Meta()
	meta.Own = state.Own{Seq: m.Seq, ChainSeq: e.ChainSeq, Chain: e.Chain}
	part.SetMeta(meta)
}

// otherWriter is the error where a record of another processor stands in the place of one in the outbox.
func (t *Tail) otherWriter(m broker.Stored, row *state.Outgoing) error {
	return fmt.Errorf("%w: record %d where %s was to go: stop the other processor; then move the store (state in the data directory) away: it is rebuilt from the log",
		ErrOtherWriter, m.Seq, row.ID)
}

// delivered notes rows that the server has stored: the last as it was read at a sequence, those before it although they are gone
// by now.
func (t *Tail) delivered(c Entry, rows []*state.Outgoing, last uint64) {
	left := t.pending[c.Partition].threads
	left[c.Thread] = left[c.Thread][len(rows):]
	for i, row := range rows {
		seq := uint64(0)
		if i == len(rows)-1 {
			seq = last
		}
		t.parts[c.Partition].Delivered(row, seq)
	}
}

// end is the end of a chain in SUMMARIES, as far as that is read; waiting are those of its records that are in the outbox. known
// means that the thread's state includes it.
func (t *Tail) end(part *state.Partition, name string, waiting []*state.Outgoing) (end state.Link, known bool, err error) {
	if name == "" {
		return part.Meta().Own.Link(), false, nil
	}
	staged, err := part.StagedTo(name)
	if err != nil {
		return staged, false, err
	}
	h, err := part.Header(name)
	switch {
	case err != nil || h == nil || staged.ChainSeq > h.ChainSeq:
		return staged, false, err
	case len(waiting) > 0:
		return state.Link{ChainSeq: h.ChainSeq - uint64(len(waiting)), Chain: waiting[0].Prev}, true, nil
	}
	return state.Link{ChainSeq: h.ChainSeq, Chain: h.Chain}, true, nil
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
func (t *Tail) stage(part *state.Partition, m broker.Stored, e Entry, end state.Link, gap bool) error {
	if e.Type == events.ConfigApplied {
		if t.Config == nil {
			t.Config = m.Data
		}
		if err := t.void(part, m); err != nil {
			return err
		}
	}
	t.took(part, m, e, end)
	t.Staged++
	return part.Stage(&state.Staged{
		Thread: e.Thread, EffectiveSeq: e.EffectiveSeq, Under: part.Meta().Own.ChainSeq, ChainSeq: e.ChainSeq, Chain: e.Chain, Gap: gap,
		Left: left(m, e), Seq: m.Seq, Time: m.Time, Made: madeAt(m), Type: e.Type, Data: m.Data,
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
			on, err := t.onRecord(part, row)
			if on || err != nil {
				if err != nil {
					return err
				}
				continue
			}
			if row, _, err = row.Sealed(part.Meta().Own); err != nil {
				return err
			}
		}
		m := broker.Stored{Subject: row.Subject, Header: Header(partition, row), Data: row.Data, Seq: state.Unstored, Time: row.Time}
		e, err := Recognize(m, len(t.parts)-1)
		if err != nil {
			return fmt.Errorf("read outbox of partition %d: %w", partition, err)
		}
		end, _, err := t.end(part, row.Thread, nil)
		if err == nil && e.ChainSeq > end.ChainSeq {
			err = t.stage(part, m, e, end, e.ChainSeq > end.ChainSeq+1)
		}
		if err != nil {
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
	t.Rejection(m)
	id := m.Header.Get("ce-id") // not Nats-Msg-Id: a row published again while the server remembers its id has none
	partition, seq, ok := RejectedEvent(id)
	if !ok || partition >= len(t.parts) {
		return nil
	}
	part := t.parts[partition]
	if part == nil || m.Seq <= part.Meta().RejectedSeq {
		return nil
	}
	if row := t.pending[partition].rejections[id]; row != nil {
		if !Same(m, partition, row) {
			return nil
		}
		delete(t.pending[partition].rejections, id)
		part.Delivered(row, m.Seq)
		return t.changed(0, m.Seq)
	}
	if lost(part.Meta().Losses, seq, m.Seq) {
		return nil
	}
	if seq <= part.Meta().Position {
		if waits, err := waiting(part, m.Subject, seq); !waits || err != nil {
			return err
		}
	}
	var rec events.Rejected
	if json.Unmarshal(m.Data, &rec) != nil {
		return nil // not a processor's: the fold makes its own
	}
	event, err := rec.EventDigest()
	if err != nil {
		return nil //nolint:nilerr // the same
	}
	if err := part.StageRejection(seq, event); err != nil {
		return err
	}
	return t.changed(0, m.Seq)
}

// waiting reports whether an event that is applied is an edit that waits for its message: it is rejected at a later event of its
// thread, which the fold has yet to reach.
func waiting(part *state.Partition, subject string, seq uint64) (bool, error) {
	_, token, _ := events.ParseSubject(subject)
	name, err := events.ThreadOf(token)
	if err != nil {
		return false, nil //nolint:nilerr // it is about no thread
	}
	return part.Waits(name, seq)
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
