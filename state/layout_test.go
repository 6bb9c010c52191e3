package state

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/go-json-experiment/json/jsontext"

	"precis/events"
	"precis/internal/thread"
)

// full is a value of every kind of row. No field is zero but those that a row does not hold, so that each field shows in
// the bytes.
type full struct {
	meta       Meta
	header     thread.Header
	message    *thread.Message
	active     *thread.Summary
	stale      *thread.Summary
	slot       *thread.Slot
	job        *thread.Job
	waiting    *thread.Waiting
	compaction *thread.Compaction
	outgoing   *Outgoing
	staged     *Staged
	sweep      Sweep
	idle       time.Time
	handed     Handed
	branch     *thread.Branch
}

func newFull() *full {
	n := new(int64)
	f := &full{
		message: &thread.Message{}, active: &thread.Summary{}, stale: &thread.Summary{}, slot: &thread.Slot{}, job: &thread.Job{},
		waiting: &thread.Waiting{}, compaction: &thread.Compaction{}, outgoing: &Outgoing{}, staged: &Staged{},
		idle: time.Unix(7, 8).UTC(),
	}
	for _, v := range []any{
		&f.meta, &f.header, f.message, f.active, f.stale, f.slot, f.job, f.compaction, f.outgoing, f.staged, &f.sweep,
	} {
		fill(reflect.ValueOf(v).Elem(), n)
	}
	f.header.Thread = "t"
	for _, sum := range []*thread.Summary{f.active, f.stale} {
		sum.Record, sum.Invalidated = jsontext.Value(`{"id":"s1"}`), jsontext.Value(`{"reason":"x"}`)
	}
	f.active.Status, f.active.Renew = thread.Active, false // the row that says which one waits is another's
	f.stale.Status = thread.Stale
	f.active.Inherited = false // one that is has its id at the thread that made it
	f.waiting = &thread.Waiting{
		MessageID: "late", Key: "k1", Seq: 71, Deadline: 72, Subject: "message.edited.t",
		Header: map[string][]string{"ce-id": {"e1"}}, Body: []byte(`{"message_id":"late","content":"y","edit_id":"k1"}`),
	}
	f.outgoing.Thread = "t"
	f.staged.Thread = "t"
	f.handed = Handed{Seq: 96, To: 3}
	f.branch = &thread.Branch{
		ParentSeq: 97, Header: f.header, Compaction: f.compaction, Messages: []*thread.Message{f.message}, Summaries: []*thread.Summary{f.active}, Slots: []*thread.Slot{f.slot},
		Revisions: []thread.MessageRevision{{MessageID: "m", Revision: thread.Revision{Number: 98, Seq: 99}}}, Ledgers: map[string][]byte{},
	}
	return f
}

// save writes a row of every kind into partition 3.
func (f *full) save(t *testing.T, s *Store) {
	t.Helper()
	p, err := s.Partition(3)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Close() }()
	p.SetMeta(f.meta)
	st := &thread.State{Header: f.header, Message: f.message, Compaction: f.compaction}
	st.Changes = thread.Changes{
		MessagePut: true, MessageNew: true, Child: true, Revisions: []thread.Revision{{Number: 1, Seq: 61}},
		SummaryPuts: []*thread.Summary{f.active, f.stale}, SlotPuts: []*thread.Slot{f.slot}, Compacted: true,
		Ledgers: map[string][]byte{f.active.ID: []byte("ledger")}, JobPuts: []*thread.Job{f.job},
	}
	st.Changes.Hold, st.Changes.EditKeys = f.waiting, []string{(&events.Edit{EditID: "k1"}).Key("")}
	p.Save(st)
	p.SaveConfig([]byte(`{"config":1}`))
	p.SaveSeen("t", 81, []byte("seen"))
	p.SaveSweep(f.sweep)
	p.LookAt("t", time.Time{}, f.idle)
	p.HandOver(f.handed, f.branch)
	p.Send(f.outgoing)
	p.place(events.SummaryCreated, "t", f.active.ChainSeq, 94)
	err = errors.Join(p.Stage(f.staged), p.StageRejection(91, [32]byte{9}), p.Spend("main", "2026-01-02", 95))
	if _, cerr := p.Commit(Sync); errors.Join(err, cerr) != nil {
		t.Fatal(err, cerr)
	}
}

// savePark writes the rows of parked threads into partition 3.
func savePark(t *testing.T, s *Store) {
	t.Helper()
	p, err := s.Partition(3)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Close() }()
	c := writing(nil)
	parkedRow(&c, &Parked{Digest: [32]byte{1}, Object: "a1", Rows: [len(parkedKinds)]uint64{101, 1, 2, 3, 4, 5, 6, 7, 8, 9}, Bytes: 102, Stored: 103})
	p.set(p.key(kindParked).part("gone"), c.b)
	p.NoteUnparked(Unparked{Thread: "back", Object: "a2", Since: time.Unix(9, 10).UTC()})
	if _, err := p.Commit(Sync); err != nil {
		t.Fatal(err)
	}
}

// layout is the rows of a store that has one of each kind, a line each.
func layout(t *testing.T, save func(*testing.T, *Store)) string {
	t.Helper()
	s := openOn(t, Memory(), "store")
	defer s.closes(t)
	save(t, s)
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: newKey(3, 0)})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	for ok := it.First(); ok; ok = it.Next() {
		fmt.Fprintf(&b, "%+q\n\t%+q\n", it.Key(), it.Value())
	}
	if err := it.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// The bytes of every kind of row belong to the format's name: a program that wrote other ones under the same name
// would meet the stores of this one, and this one its stores, and neither could tell.
func TestLayoutBelongsToFormat(t *testing.T) {
	for name, save := range map[string]func(*testing.T, *Store){format: newFull().save, formatParked: savePark} {
		t.Run(name, func(t *testing.T) { sameLayout(t, name, layout(t, save)) })
	}
}

func sameLayout(t *testing.T, format, got string) {
	t.Helper()
	path := filepath.Join("testdata", "layout", format+".txt")
	want, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) && os.Getenv("UPDATE_LAYOUT") != "" {
		if err = os.WriteFile(path, []byte(got), 0o644); err == nil {
			want = []byte(got)
		}
	}
	if err != nil {
		t.Fatalf("%v: the format has no layout yet: write it with UPDATE_LAYOUT=1 go test ./state -run TestLayout", err)
	}
	if string(want) == got {
		return
	}
	t.Errorf(`the rows are not those of format %s:
%s
A program that was built before this change would read them as its own. Either leave the rows as they are, or make a new format:
  1. raise format in state/store.go;
  2. UPDATE_LAYOUT=1 go test ./state -run TestLayout   writes testdata/layout/<format>.txt; the former one can go
  3. UPDATE_FIXTURE=1 go test ./internal/processor -run TestStoreFixture   makes the store that tests keep
  4. say in CHANGELOG.md that stores are rebuilt from the log.`, format, different(string(want), got))
}

// different are the lines of two layouts that are not in both.
func different(want, got string) string {
	var b strings.Builder
	for _, side := range []struct{ sign, a, b string }{{"-", want, got}, {"+", got, want}} {
		for _, line := range strings.Split(side.a, "\n") {
			if !strings.Contains("\n"+side.b+"\n", "\n"+line+"\n") {
				fmt.Fprintf(&b, "  %s %s\n", side.sign, line)
			}
		}
	}
	return b.String()
}

// kinds are those that keys.go names.
func kinds(t *testing.T) []byte {
	t.Helper()
	source, err := os.ReadFile("keys.go")
	if err != nil {
		t.Fatal(err)
	}
	var list []byte
	for _, m := range regexp.MustCompile(`(?m)^\tkind\w+\s+= '(.)'$`).FindAllSubmatch(source, -1) {
		list = append(list, m[1][0])
	}
	if len(list) < 20 {
		t.Fatalf("%d kinds in keys.go", len(list))
	}
	return list
}

// What is saved comes back, whatever field it is in.
func TestNoFieldOfARowIsForgotten(t *testing.T) {
	s := openOn(t, Memory(), "store")
	defer s.closes(t)
	f := newFull()
	f.save(t, s)
	v := s.View(3)
	check := func(what string, want, got any, err error) {
		t.Helper()
		if err != nil || !reflect.DeepEqual(want, got) {
			t.Errorf("%s: %v\n got %+v\nwant %+v", what, err, got, want)
		}
	}
	meta, err := v.Meta()
	f.meta.NextOutgoing++ // by what is sent and staged
	f.meta.Staged++
	check("meta", f.meta, meta, err)
	header, err := v.Header("t")
	check("header", &f.header, header, err)
	message, err := v.Message("t", f.message.ID)
	check("message", f.message, message, err)
	for _, want := range []*thread.Summary{f.active, f.stale} {
		sum, err := v.Summary("t", want.ID)
		check("summary", want, sum, err)
	}
	slot, err := v.Slot("t", f.slot.Name)
	check("slot", f.slot, slot, err)
	job, err := v.Job("t", f.job.ID())
	check("job", f.job, job, err)
	compaction, err := v.Compaction("t")
	check("compaction", f.compaction, compaction, err)
	rows, err := v.Outbox()
	check("outbox", []*Outgoing{f.outgoing}, rows, err)
	var staged []*Staged
	err = v.EachStagedBack(func(s *Staged) (bool, error) {
		staged = append(staged, s)
		return true, nil
	})
	link := Link{f.staged.ChainSeq, f.staged.Chain, true}
	f.staged.Chain, f.staged.Gap = "", false // in the thread's link
	check("staged", []*Staged{f.staged}, staged, err)
	to, err := v.StagedTo("t")
	check("staged mark", link, to, err)
	branch, err := v.branch(f.handed)
	check("branch", f.branch, branch, err)
	sweep, err := v.Sweep()
	check("sweep", f.sweep, sweep, err)
}

// reads reads a row of a kind as the processor does. Rows that are a name by themselves are held against what they
// name.
func reads(f *full, kind byte, p *Partition) error {
	st := func() *thread.State { return &thread.State{Header: f.header} }
	far := time.Unix(1<<32, 0)
	var err error
	switch kind {
	case kindMeta:
		_, err = p.View.Meta()
	case kindHeader:
		_, err = p.View.Header("t")
	case kindMessage:
		_, err = p.Message("t", f.message.ID)
	case kindOrder:
		_, err = p.Messages("t", 0, ^uint64(0))
	case kindRevision:
		_, err = p.RevisionSeq("t", f.message, 1)
	case kindEdit:
		err = p.loadEdit(st(), &events.Event{Edit: &events.Edit{MessageID: f.waiting.MessageID, EditID: "k1"}})
	case kindWaiting, kindDeadline:
		s := st()
		s.Header.Events, s.Header.NextDeadline = f.waiting.Deadline, f.waiting.Deadline
		err = p.loadDue(s)
	case kindSummary:
		_, err = p.Summary("t", f.active.ID)
	case kindOwner:
		name, _, oerr := p.SummaryThread(f.active.ID)
		sum, serr := p.Summary(name, f.active.ID)
		if err = errors.Join(oerr, serr); err == nil && sum == nil {
			err = fmt.Errorf("%w: %w", ErrDamaged, ErrNoRow)
		}
	case kindSlot:
		_, err = p.Slot("t", f.slot.Name)
	case kindSource:
		_, merr := p.MadeFromMessage("t", f.active.Sources[0])
		_, serr := p.MadeFrom("t", f.active.SourceSums[0])
		err = errors.Join(merr, serr)
	case kindJob:
		_, jerr := p.Job("t", f.job.ID())
		_, err = p.Jobs()
		if (err == nil) != (jerr == nil) {
			return fmt.Errorf("one of two ways to read a job: %w, %w", jerr, err)
		}
	case kindSeen:
		_, _, err = p.Seen("t")
	case kindSpent:
		err = errors.Join(p.Spent(func(string, string, int64) {}), p.Spend("main", "2026-01-02", 1))
	case kindPlace:
		_, err = p.Placed("t", f.active.ChainSeq)
	case kindOutbox:
		_, err = p.Outbox()
	case kindStaged:
		_, err = p.StagedFrom(0, ^uint64(0), 9)
	case kindStagedTo:
		_, err = p.StagedTo("t")
	case kindRejected:
		_, err = p.TakeRejection(91)
	case kindRenewal:
		_, err = p.Renewals("t", 9)
	case kindExpiry:
		_, err = p.Expired(far, 9)
	case kindIdle:
		_, _, err = p.IdleAt("t")
	case kindIdleDue:
		_, err = p.Idle(far, 9)
	case kindSweep:
		_, err = p.Sweep()
	case kindHanded:
		_, err = p.branch(f.handed)
	case kindParked:
		_, perr := p.Parked("gone")
		err = errors.Join(perr, p.ParkedThreads(func(string, Parked) (bool, error) { return true, nil }))
	case kindUnparked:
		err = p.UnparkedObjects(func(Unparked) (bool, error) { return true, nil })
	case kindChild:
		err = p.Children(f.header.Parent, func(*thread.Header) (bool, error) { return true, nil })
	default:
		panic(fmt.Sprintf("no decoder for kind %c", kind))
	}
	return err
}

// A row of any kind that goes on behind what this program knows, or ends early, is damage, with the row and the reason
// named. It is never read as another one.
func TestRowsAreReadWhole(t *testing.T) {
	s := openOn(t, Memory(), "store")
	defer s.closes(t)
	f := newFull()
	f.save(t, s)
	savePark(t, s)
	for _, kind := range kinds(t) {
		if kind == kindConfig || kind == kindLedger {
			continue // as they are: who reads them knows versions of them
		}
		t.Run(string(kind), func(t *testing.T) {
			k, row := oneRow(t, s, kind)
			read := func(value []byte) error {
				p, err := s.Partition(3)
				if err != nil && kind == kindMeta {
					return err
				} else if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = p.Close() }()
				p.set(k, value)
				return reads(f, kind, p)
			}
			if err := read(row); err != nil {
				t.Fatalf("as it was written: %v", err)
			}
			for _, grown := range grownRows(row) {
				if err := read(grown); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), caught(kind)) {
					t.Errorf("%q: %v", grown, err)
				}
			}
			for n := range row {
				if err := read(row[:n]); !errors.Is(err, ErrDamaged) {
					t.Fatalf("the first %d of %d bytes: %v", n, len(row), err)
				}
			}
		})
	}
}

// grownRows are a row with a field more, as a newer version may write it.
func grownRows(row []byte) [][]byte {
	if bytes.HasPrefix(row, []byte("{")) {
		return [][]byte{append(row[:len(row)-1:len(row)-1], `,"new_field":1}`...)}
	}
	var rows [][]byte
	for _, field := range [][]byte{{0}, {5}, {1, 'x'}} {
		rows = append(rows, append(row[:len(row):len(row)], field...))
	}
	return rows
}

// caught is what the error says of such a row. A row that is a name has no end of its own: nothing has the longer name.
func caught(kind byte) string {
	switch kind {
	case kindOrder, kindOwner, kindDeadline:
		return "no row"
	}
	return "another version wrote it"
}

// oneRow is the first row of a kind in partition 3.
func oneRow(t *testing.T, s *Store, kind byte) (k, value []byte) {
	t.Helper()
	prefix := newKey(3, kind)
	err := s.View(3).scan(prefix, prefix, func(key, v []byte) (bool, error) {
		k, value = bytes.Clone(key), append([]byte{}, v...)
		return false, nil
	})
	if err != nil || k == nil {
		t.Fatalf("no row of kind %c: %v", kind, err)
	}
	return k, value
}
