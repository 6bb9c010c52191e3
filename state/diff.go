package state

import (
	"bytes"
	"fmt"

	"github.com/go-json-experiment/json"

	"precis/internal/thread"
)

// folded are the kinds of rows that the log determines: two stores at the same position hold the same
// ones. The others say how far a store has got with the server.
var folded = []byte{
	kindHeader, kindMessage, kindOrder, kindRevision, kindEdit, kindWaiting, kindDeadline,
	kindSummary, kindOwner, kindSlot, kindSource, kindJob, kindConfig,
	kindRenewal, kindExpiry, kindSpent,
}

// Diff compares a partition of this store (got) with the same partition of another (want), row by row.
func (s *Store) Diff(want *Store, partition int, report func(Problem)) error {
	for _, kind := range folded {
		d := differ{kind: kind, id: partition, report: report}
		if err := d.run(want.View(partition), s.View(partition)); err != nil {
			return fmt.Errorf("compare partition %d: %w", partition, err)
		}
	}
	if err := s.diffMeta(want, partition, report); err != nil {
		return fmt.Errorf("compare partition %d: %w", partition, err)
	}
	return nil
}

// diffMeta compares a partition's positions with a store that has read all of SUMMARIES and REJECTED:
// what this one says that it has read, and has not reached yet, it must have staged, or it will decide it again.
func (s *Store) diffMeta(want *Store, partition int, report func(Problem)) error {
	v, all := s.View(partition), want.View(partition)
	if err := diffPlaces(v, all, report); err != nil {
		return err
	}
	meta, err := v.Meta()
	if err != nil {
		return err
	}
	staged := all.key(kindStaged)
	return all.scan(staged, staged, func(k, b []byte) (bool, error) {
		rec, err := decodeStaged(k, b)
		if err != nil || rec.Seq == 0 || rec.Seq > meta.SummariesSeq {
			return err == nil, err
		}
		own, same := absent, false
		_, err = v.get(k, func(b []byte) error { own, same = "another one", sameStaged(k, b, rec); return nil })
		if err == nil && !same {
			report(Problem{
				Partition: partition, Thread: rec.Thread, Check: fmt.Sprintf("row m: SUMMARIES is read up to %d", meta.SummariesSeq),
				Want: fmt.Sprintf("record %d is staged", rec.Seq), Got: own,
			})
		}
		return true, err
	})
}

// diffPlaces compares where two stores have records in SUMMARIES, of those that both have there.
func diffPlaces(got, want View, report func(Problem)) error {
	prefix := got.key(kindPlace)
	return got.scan(prefix, prefix, func(k, b []byte) (bool, error) {
		name, _, ok := cutPart(k[len(prefix):])
		if !ok {
			return false, fmt.Errorf("%w: key of a record's place", ErrDamaged)
		}
		var own uint64
		if err := readPlace(name, &own)(b); err != nil {
			return false, err
		}
		all, err := want.Placed(name, lastNumber(k))
		if own != all && own > 0 && all > 0 {
			report(Problem{
				Partition: int(got.id), Thread: name, Check: fmt.Sprintf("row a: place of record %d of the thread", lastNumber(k)),
				Want: fmt.Sprint(all), Got: fmt.Sprint(own),
			})
		}
		return true, err
	})
}

// sameStaged says that a row holds the staged record rec.
func sameStaged(k, row []byte, rec *Staged) bool {
	own, err := decodeStaged(k, row)
	return err == nil && own.Seq == rec.Seq && own.Type == rec.Type && own.Void == rec.Void && bytes.Equal(own.Data, rec.Data) &&
		own.Time.Equal(rec.Time) && own.Made.Equal(rec.Made)
}

// absent stands for a row that is not there.
const absent = "missing"

type differ struct {
	kind   byte
	id     int
	report func(Problem)
}

func (d *differ) run(want, got View) error {
	prefix := want.key(d.kind)
	return want.iterate(prefix, prefix.end(), func(a cursor) error {
		return got.iterate(prefix, prefix.end(), func(b cursor) error {
			d.merge(a, b)
			return nil
		})
	})
}

// merge goes through both in key order.
func (d *differ) merge(a, b cursor) {
	for inA, inB := a.First(), b.First(); inA || inB; {
		order := compareKeys(a, b, inA, inB)
		switch {
		case order < 0:
			d.note(a.Key(), d.show(a.Key(), a.Value()), absent)
		case order > 0:
			d.note(b.Key(), absent, d.show(b.Key(), b.Value()))
		default:
			d.compare(a.Key(), a.Value(), b.Value())
		}
		if order <= 0 {
			inA = a.Next()
		}
		if order >= 0 {
			inB = b.Next()
		}
	}
}

func (d *differ) compare(k, want, got []byte) {
	if x, y := d.show(k, want), d.show(k, got); x != y {
		d.note(k, x, y)
	}
	if d.kind != kindHeader {
		return
	}
	name := string(k[3:])
	if x, y := showCompaction(name, want), showCompaction(name, got); x != y {
		d.report(Problem{Partition: d.id, Thread: name, Check: "compaction", Want: x, Got: y})
	}
}

func compareKeys(a, b cursor, inA, inB bool) int {
	switch {
	case !inA:
		return 1
	case !inB:
		return -1
	}
	return bytes.Compare(a.Key(), b.Key())
}

func (d *differ) note(k []byte, want, got string) {
	name, rest := "", k[3:]
	switch d.kind {
	case kindHeader:
		name = string(rest)
	case kindOwner:
		if name = want; want == absent {
			name = got
		}
	case kindExpiry:
		if part, r, ok := cutPart(rest[min(8, len(rest)):]); ok { // behind the time
			name, rest = part, r
		}
	case kindConfig, kindSpent:
	default:
		if part, r, ok := cutPart(rest); ok {
			name, rest = part, r
		}
	}
	d.report(Problem{Partition: d.id, Thread: name, Check: fmt.Sprintf("row %c %q", d.kind, rest), Want: want, Got: got})
}

// show is a row as it is compared: a job without what is a matter of the process.
func (d *differ) show(k, v []byte) string {
	var row any
	var err error
	switch d.kind {
	case kindHeader:
		row, _, err = decodeThread(string(k[3:]), v)
	case kindMessage:
		row, err = decodeMessage("", v)
	case kindSummary:
		row, err = decodeSummary(v)
	case kindSpent:
		row, err = spentIn("", v)
	case kindJob:
		job := thread.Job{}
		err = decodeJSON(&job, "job", "")(v)
		job.Calls = nil
		row = job
	default:
		return string(v)
	}
	return shown(row, err)
}

// showCompaction is the rest of a thread's row.
func showCompaction(name string, v []byte) string {
	_, k, err := decodeThread(name, v)
	if err != nil {
		return "" // it is reported with the header
	}
	return shown(k, nil)
}

func shown(row any, err error) string {
	if err != nil {
		return err.Error()
	}
	data, err := json.Marshal(row, json.Deterministic(true))
	if err != nil {
		return fmt.Sprintf("%#v", row) // what is damaged may have no JSON
	}
	return string(data)
}
