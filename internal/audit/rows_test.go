package audit_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"

	"precis/internal/processor"
	"precis/state"
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

// finds holds the store against the log, and wants the check among what is reported.
func (w *world) finds(t *testing.T, check string) {
	t.Helper()
	store, err := state.Open(processor.StoreDir(w.config.DataDir), state.Options{Logger: logger(t)})
	if err != nil {
		t.Fatal(err)
	}
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
	set := func(value []byte) {
		withRows(t, dir, func(db *pebble.DB) error { return db.Set(key, value, pebble.Sync) })
	}
	withRows(t, dir, func(db *pebble.DB) error {
		it, err := db.NewIter(nil)
		if err != nil {
			return err
		}
		for ok := it.First(); ok && key == nil; ok = it.Next() {
			if k := it.Key(); len(k) > 2 && k[2] == kind && (k[0] != 0xFF || k[1] != 0xFF) {
				key, value = bytes.Clone(k), bytes.Clone(it.Value())
			}
		}
		return it.Close()
	})
	if key == nil {
		t.Fatalf("no row %c", kind)
	}
	set(alter(value))
	return func() { set(value) }
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
