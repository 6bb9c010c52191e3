package audit_test

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"precis/internal/audit"
	"precis/internal/processor"
	"precis/internal/race"
	"precis/internal/recovery"
	"precis/state"
	"precis/summarize/ledger"
)

// What is altered in the rows that no event shows is found too: what providers cost, ledgers, and where a partition stands.
func TestAlteredRowsOfTheStore(t *testing.T) {
	w := newWorld(t)
	w.story()
	dir := processor.StoreDir(w.config.DataDir)
	for _, c := range []struct {
		kind  byte
		alter func(value []byte) []byte
		want  string
	}{
		{'u', func([]byte) []byte { return []byte{2} }, "row u"},
		{'g', func(v []byte) []byte { return append(bytes.Clone(v), 0) }, "ledger of "},
	} {
		t.Run(string(c.kind), func(t *testing.T) {
			restore := altered(t, dir, c.kind, c.alter)
			defer restore()
			w.finds(t, c.want)
		})
	}
	t.Run("m", func(t *testing.T) {
		// A store that stands at the beginning, and says that it has read all of SUMMARIES, would decide everything again.
		w.config.DataDir = t.TempDir()
		read := w.messages("SUMMARIES")
		last := read[len(read)-1].Seq
		store, err := state.Open(processor.StoreDir(w.config.DataDir), state.Options{Logger: logger(t)})
		if err != nil {
			t.Fatal(err)
		}
		for id := range w.config.Partitions + 1 {
			part, err := store.Partition(id)
			if err != nil {
				t.Fatal(err)
			}
			part.SetMeta(state.Meta{SummariesSeq: last})
			if _, err := part.Commit(state.NoSync); err != nil {
				t.Fatal(err)
			}
			if err := part.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
		w.finds(t, fmt.Sprintf("row m: SUMMARIES is read up to %d", last))
	})
}

// A ledger that can be read, and is not the one that its messages make, is found, whatever of it is altered; and so is one of
// no summary.
func TestAlteredLedgers(t *testing.T) {
	race.Slow(t)
	w := newWorld(t)
	w.story()
	dir := processor.StoreDir(w.config.DataDir)
	store := w.opened()
	stored := 0
	for id := range w.config.Partitions + 1 {
		err := store.View(id).Ledgers(func(string, string, []byte) (bool, error) { stored++; return true, nil })
		if err != nil {
			t.Fatal(err)
		}
	}
	problems, _ := w.check(store, muchLater())
	if err := store.Close(); err != nil || stored < 2 || len(problems) > 0 {
		t.Fatalf("%d ledgers, and as they are: %+v, %v", stored, problems, err)
	}
	for i := range reflect.TypeFor[ledger.Ledger]().NumField() {
		restore := altered(t, dir, 'g', func(data []byte) []byte { return otherLedger(t, data, i) })
		w.finds(t, "row g: ledger of sum_")
		if i == 0 {
			store := w.opened()
			rep := w.replay(func(o *audit.Options) { o.Store = store })
			if len(rep.Findings) != 1 || !strings.HasPrefix(rep.Findings[0].Want, "row g: ledger of sum_") {
				t.Errorf("a replay finds %+v", rep.Findings)
			}
			if err := store.Close(); err != nil {
				t.Fatal(err)
			}
		}
		restore()
	}
	moved := func(k []byte) []byte { return append(bytes.Clone(k), 'x') }
	withRows(t, dir, func(db *pebble.DB) error {
		k, v := firstRow(t, db, 'g')
		return db.Set(moved(k), v, pebble.Sync)
	})
	w.finds(t, "row g: ledger of sum_")
}

// otherLedger is a stored ledger with another i-th member.
func otherLedger(t *testing.T, data []byte, i int) []byte {
	t.Helper()
	var l ledger.Ledger
	if err := l.UnmarshalBinary(data); err != nil {
		t.Fatal(err)
	}
	switch v := reflect.ValueOf(&l).Elem().Field(i); v.Kind() {
	case reflect.Slice:
		v.Set(reflect.Append(v, reflect.Zero(v.Type().Elem())))
	case reflect.Uint64:
		v.SetUint(v.Uint() + 1)
	case reflect.Int:
		v.SetInt(v.Int() + 1)
	default:
		l.Omitted.Files++
	}
	data, err := l.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Whatever a partition says of where it stands is compared: by its own rows, by the streams, or by what is on record.
func TestAlteredStanding(t *testing.T) {
	race.Slow(t)
	w := newWorld(t)
	w.story()
	id := w.partitionOf("rules")
	for i := range reflect.TypeFor[state.Meta]().NumField() {
		field := reflect.TypeFor[state.Meta]().Field(i).Name
		if field == "NextOutgoing" {
			continue // numbers only rise: no row depends on which one is next, and a row behind it is reported
		}
		for how, alter := range alterations {
			store := w.opened()
			part, err := store.Partition(id)
			if err != nil {
				t.Fatal(err)
			}
			was, is := part.Meta(), part.Meta()
			if !alter(reflect.ValueOf(&is).Elem().Field(i)) {
				if err := errors.Join(part.Close(), store.Close()); err != nil {
					t.Fatal(err)
				}
				continue
			}
			set := func(m state.Meta) {
				part.SetMeta(m)
				if _, err := part.Commit(state.NoSync); err != nil {
					t.Fatal(err)
				}
			}
			set(is)
			var problems []state.Problem
			report := func(p state.Problem) { problems = append(problems, p) }
			_, err = w.compare(store, report)
			if checked := store.Check(w.config.Partitions+1, report); checked != nil {
				t.Fatal(checked)
			}
			if statusWrong := errors.Is(err, recovery.ErrRewritten) || errors.Is(err, recovery.ErrRolledBack) || errors.Is(err, recovery.ErrOtherStream); len(problems) == 0 && !statusWrong {
				t.Errorf("%s is %s, from %+v to %+v, and nothing is reported (%v)", field, how, was, is, err)
			}
			set(was)
			if err := errors.Join(part.Close(), store.Close()); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// alterations of a member of a row; each returns false where it changes nothing.
var alterations = map[string]func(v reflect.Value) bool{
	"more": func(v reflect.Value) bool {
		switch at := v.Addr().Interface().(type) {
		case *uint64:
			*at++
		case *time.Time:
			*at = at.Add(time.Second)
		case *state.Mark:
			at.Digest[0]++
			return at.Seq > 0
		case *state.Own:
			at.ChainSeq++
		case *[]state.Loss:
			*at = append(*at, state.Loss{Events: 1, At: time.Unix(1, 0)})
		default:
			panic(v.Type())
		}
		return true
	},
	"less": func(v reflect.Value) bool {
		switch at := v.Addr().Interface().(type) {
		case *uint64:
			*at--
			return *at+1 > 0
		case *state.Mark:
			at.Seq--
			return at.Seq > 0
		case *state.Own:
			at.Seq--
			return true
		}
		return false
	},
}

// opened is the store that the processor left, for a test that closes it.
func (w *world) opened() *state.Store {
	w.t.Helper()
	s, err := state.Open(processor.StoreDir(w.config.DataDir), state.Options{Logger: logger(w.t)})
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

// partitionOf is where a thread's rows are.
func (w *world) partitionOf(thread string) int {
	w.t.Helper()
	store := w.opened()
	for id := range w.config.Partitions {
		if h, err := store.View(id).Header(thread); err != nil {
			w.t.Fatal(err)
		} else if h != nil {
			if err := store.Close(); err != nil {
				w.t.Fatal(err)
			}
			return id
		}
	}
	w.t.Fatalf("no thread %q", thread)
	return -1
}

// finds holds the store against the log, and wants the check among what is reported.
func (w *world) finds(t *testing.T, check string) {
	t.Helper()
	store := w.opened()
	defer store.Close()
	problems, _ := w.check(store, muchLater())
	if err := store.Check(w.config.Partitions+1, func(p state.Problem) { problems = append(problems, p) }); err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		if strings.HasPrefix(p.Check, check) {
			return
		}
	}
	t.Errorf("nothing is said of %s: %+v", check, problems)
}

// altered changes the first row of a kind, and returns how to put it back.
func altered(t *testing.T, dir string, kind byte, alter func([]byte) []byte) (restore func()) {
	t.Helper()
	var key, value []byte
	withRows(t, dir, func(db *pebble.DB) error { key, value = firstRow(t, db, kind); return nil })
	set := func(value []byte) {
		withRows(t, dir, func(db *pebble.DB) error { return db.Set(key, value, pebble.Sync) })
	}
	set(alter(value))
	return func() { set(value) }
}

// firstRow is the first row of a kind.
func firstRow(t *testing.T, db *pebble.DB, kind byte) (key, value []byte) {
	t.Helper()
	it, err := db.NewIter(nil)
	if err != nil {
		t.Fatal(err)
	}
	for ok := it.First(); ok && key == nil; ok = it.Next() {
		if k := it.Key(); len(k) > 2 && k[2] == kind && (k[0] != 0xFF || k[1] != 0xFF) {
			key, value = bytes.Clone(k), bytes.Clone(it.Value())
		}
	}
	if err := it.Close(); err != nil {
		t.Fatal(err)
	}
	if key == nil {
		t.Fatalf("no row %c", kind)
	}
	return key, value
}

type quiet struct{}

func (quiet) Infof(string, ...any)  {}
func (quiet) Errorf(string, ...any) {}
func (quiet) Fatalf(format string, args ...any) {
	panic(fmt.Sprintf(format, args...))
}

func withRows(t *testing.T, dir string, do func(*pebble.DB) error) {
	t.Helper()
	db, err := pebble.Open(dir, &pebble.Options{Logger: quiet{}})
	if err != nil {
		t.Fatal(err)
	}
	if err := do(db); err != nil {
		t.Error(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}
