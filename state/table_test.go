package state

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

func unpaced(int) error { return nil }

// exported is a partition's table.
func exported(t *testing.T, s *Store, partition int) (*Table, []byte) {
	t.Helper()
	table, err := s.Export(partition, unpaced)
	if err != nil {
		t.Fatal(err)
	}
	f, err := table.Open()
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(f)
	if err := errors.Join(err, f.Close(), table.Remove()); err != nil {
		t.Fatal(err)
	}
	if int64(len(data)) != table.Bytes {
		t.Errorf("%d bytes, it says %d", len(data), table.Bytes)
	}
	return table, data
}

func filled(data []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	}
}

// A partition's rows come into another store as they were, in the place of those that it has, and no other partition's are touched; a power cut
// takes none of them.
func TestTable(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	disk := vfs.NewCrashableMem()
	from, to := openOn(t, disk, "from"), openOn(t, disk, "to")
	apply := func(p *Partition, _ int) (*Applied, error) { return p.Apply(Sync) }
	story(t, from, rand.New(rand.NewPCG(seed, 0)), apply)
	story(t, to, rand.New(rand.NewPCG(seed, 1)), apply)
	other := newKey(4, kindSource).rest("x")
	if err := to.db.Set(other, []byte("stays"), Sync); err != nil {
		t.Fatal(err)
	}
	table, data := exported(t, from, 3)
	if meta, err := from.View(3).Meta(); err != nil || table.Meta.Position != meta.Position || meta.Position == 0 {
		t.Errorf("the table stands at %d, the store at %d: %v", table.Meta.Position, meta.Position, err)
	}
	got, err := to.Receive(3, filled(data))
	if err == nil {
		err = errors.Join(to.Install(got), got.Remove())
	}
	if err != nil {
		t.Fatal(err)
	}
	if got.Rows != table.Rows || got.Meta.Position != table.Meta.Position {
		t.Errorf("%d rows up to %d received, %d up to %d sent", got.Rows, got.Meta.Position, table.Rows, table.Meta.Position)
	}
	left := disk.CrashClone(vfs.CrashCloneCfg{})
	to.closes(t)
	want := rowsOf(t, from)
	want[string(other)] = "stays"
	rows := rowsOf(t, openOn(t, left, "to"))
	for k, v := range want {
		if rows[k] != v {
			t.Errorf("row %q is %q, want %q", k, rows[k], v)
		}
	}
	if len(rows) != len(want) {
		t.Errorf("%d rows, want %d", len(rows), len(want))
	}
}

// A table of another partition, one that is cut off or altered anywhere, and no table at all are refused, and leave nothing.
func TestTableRefused(t *testing.T) {
	store := openOn(t, vfs.NewMem(), "store")
	defer store.closes(t)
	story(t, store, rand.New(rand.NewPCG(1, 1)), func(p *Partition, _ int) (*Applied, error) { return p.Apply(Sync) })
	_, data := exported(t, store, 3)
	refused := func(what string, partition int, data []byte) {
		t.Helper()
		if table, err := store.Receive(partition, filled(data)); err == nil {
			t.Errorf("%s is received", what)
			_ = table.Remove()
		}
	}
	refused("another partition's", 4, data)
	refused("nothing", 3, nil)
	refused("a text", 3, []byte(strings.Repeat("no table ", 1000)))
	refused("half of one", 3, data[:len(data)/2])
	for at := 0; at < len(data)-64; at += 1 + len(data)/97 { // the last bytes are padding in part
		altered := bytes.Clone(data)
		altered[at] ^= 0x20
		if table, err := store.Receive(3, filled(altered)); err == nil { // a filter or a property may be altered unnoticed
			if table.Rows == 0 {
				t.Errorf("altered at %d, it has no rows", at)
			}
			_ = table.Remove()
		}
	}
	names, err := store.opts.FS.List("store")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasPrefix(name, "import") || strings.HasPrefix(name, "export") {
			t.Errorf("%s is left", name)
		}
	}
}

// What a crash leaves of tables is gone behind the next start.
func TestTablesAreTidied(t *testing.T) {
	disk := vfs.NewMem()
	openOn(t, disk, "store").closes(t)
	for _, name := range []string{"export-3", "import-16", "other"} {
		f, err := disk.Create("store/"+name, vfs.WriteCategoryUnspecified)
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	openOn(t, disk, "store").closes(t)
	for name, want := range map[string]bool{"export-3": false, "import-16": false, "other": true} {
		if _, err := disk.Stat("store/" + name); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}
