package state

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"precis/internal/thread"
)

// Batches that become tables leave the rows that they leave when they are written ahead, whatever they write over and
// remove; and a power cut takes none of them, though nothing was synced besides.
func TestIngest(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	disk := vfs.NewCrashableMem()
	ways := map[string]func(*Partition, int) (*Applied, error){
		"applied":  func(p *Partition, _ int) (*Applied, error) { return p.Apply(Sync) },
		"ingested": func(p *Partition, _ int) (*Applied, error) { return p.Ingest() },
		"mixed": func(p *Partition, n int) (*Applied, error) {
			if n%2 == 0 {
				return p.Apply(NoSync) // durable with the next one that is
			}
			return p.Ingest()
		},
	}
	for name, end := range ways {
		store := openOn(t, disk, name)
		if err := store.Flush(); err != nil {
			t.Fatal(err)
		}
		story(t, store, rand.New(rand.NewPCG(seed, 0)), end)
		if name == "applied" {
			store.closes(t)
			continue
		}
		t.Cleanup(func() { store.closes(t) })
	}
	left := disk.CrashClone(vfs.CrashCloneCfg{})
	want := rowsOf(t, openOn(t, left, "applied"))
	for name := range ways {
		got := rowsOf(t, openOn(t, left, name))
		for k, v := range want {
			if got[k] != v {
				t.Errorf("%s: row %q is %q, want %q", name, k, got[k], v)
			}
		}
		if len(got) != len(want) {
			t.Errorf("%s: %d rows, want %d", name, len(got), len(want))
		}
	}
}

// story writes batches of messages, rows over rows, and removals; some batches are read before they end, and one
// removes a range.
func story(t *testing.T, store *Store, rng *rand.Rand, end func(*Partition, int) (*Applied, error)) {
	t.Helper()
	p, err := store.Partition(3)
	if err != nil {
		t.Fatal(err)
	}
	for n := range 8 {
		for range rng.IntN(200) {
			save(t, p, fmt.Sprint("t", rng.IntN(20)), fmt.Sprint("m", rng.IntN(50)), uint64(rng.IntN(3)))
			if k := p.key(kindSource).rest(fmt.Sprint(rng.IntN(5))); rng.IntN(2) == 0 {
				p.set(k, nil)
			} else {
				p.remove(k)
			}
			if rng.IntN(300) == 0 {
				if _, err := p.Message("t1", "m1"); err != nil {
					t.Fatal(err)
				}
			}
		}
		if n == 5 {
			k := p.key(kindSource)
			p.must(p.open.batch.DeleteRange(k, k.end(), nil))
			p.ranged = true
		}
		meta := p.Meta()
		meta.Position++
		p.SetMeta(meta)
		a, err := end(p, n)
		if err == nil {
			err = a.Wait()
		}
		if err == nil {
			err = p.CheckHot()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
}

func save(t *testing.T, p *Partition, name, id string, revision uint64) {
	t.Helper()
	st, err := p.LoadThread(name)
	if err != nil {
		t.Fatal(err)
	}
	st.Header.Events++
	st.Message = &thread.Message{ID: id, Ordinal: st.Header.Events, Revision: revision}
	st.Changes = thread.Changes{MessagePut: true, MessageNew: true}
	p.Save(st)
	p.Done(st)
}

// A table that a crash has left half written is gone at the next start.
func TestIngestLeavesNothingBehind(t *testing.T) {
	disk := vfs.NewMem()
	store := openOn(t, disk, "d")
	defer store.closes(t)
	if err := store.writeTable(store.tableFile(3), store.db.NewBatch()); err != nil {
		t.Fatal(err)
	}
	p, err := store.Partition(3)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := disk.Stat(store.tableFile(3)); err == nil {
		t.Error("it is still there")
	}
}

func openOn(t *testing.T, disk vfs.FS, dir string) *Store {
	t.Helper()
	store, err := Open(dir, Options{FS: disk})
	if err != nil {
		t.Fatal(err)
	}
	return store
}

func (s *Store) closes(t *testing.T) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// rowsOf reads a store, and closes it.
func rowsOf(t *testing.T, store *Store) map[string]string {
	t.Helper()
	defer store.closes(t)
	rows := map[string]string{}
	err := View{r: store.db}.scan(nil, nil, func(k, v []byte) (bool, error) {
		rows[string(k)] = string(v)
		return true, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// TestExpect: a bulk's large batches are gone behind it, and an empty one that is exchanged holds nothing to write.
func TestExpect(t *testing.T) {
	p := inMemory(t)
	const room = 3 << 20
	p.Expect(room)
	if p.Changed() {
		t.Error("an empty batch counts as changed")
	}
	for range 3 {
		p.set(newKey(3, kindOrder), make([]byte, 2*mostRoom))
		applied, err := p.Ingest()
		if err != nil {
			t.Fatal(err)
		}
		if err := applied.Wait(); err != nil {
			t.Fatal(err)
		}
	}
	p.Expect(0)
	for range 20 {
		p.set(newKey(3, kindOrder), nil)
		if _, err := p.Commit(NoSync); err != nil {
			t.Fatal(err)
		}
	}
	p.set(newKey(3, kindOrder), nil)
	if size := cap(p.open.batch.Repr()); size > mostRoom {
		t.Errorf("behind a bulk, a batch has room for %d bytes", size)
	}
}

// inMemory is a partition of a store of its own.
func inMemory(t *testing.T) *Partition {
	store := openOn(t, vfs.NewMem(), "d")
	t.Cleanup(func() { store.closes(t) })
	p, err := store.Partition(3)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}
