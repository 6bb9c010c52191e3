package state

import (
	"archive/zip"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
)

// The store that earlier programs of this format have left (internal/processor keeps it) is read; with another format's
// name it is refused, with what to do, and left as it was.
func TestFixtureOfAnotherFormat(t *testing.T) {
	z, err := zip.OpenReader(filepath.Join("..", "internal", "processor", "testdata", "store.zip"))
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	if err := errors.Join(os.CopyFS(root, z), z.Close()); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(root, "state")
	s, err := Open(dir, Options{})
	if err != nil {
		t.Fatalf("%v\nA new format has a new fixture: UPDATE_FIXTURE=1 go test ./internal/processor -run TestStoreFixture", err)
	}
	if n, err := s.Partitions(); n != 3 || err != nil {
		t.Errorf("it has %d partitions, %v; want 2 and the strays'", n, err)
	}
	if err := s.Check(3, func(p Problem) { t.Errorf("%+v", p) }); err != nil {
		t.Error(err)
	}
	if err := errors.Join(s.db.Set(newKey(formatPartition, 'f'), []byte("precis-0"), pebble.Sync), s.Close()); err != nil {
		t.Fatal(err)
	}
	for _, readOnly := range []bool{false, true} {
		_, err := Open(dir, Options{ReadOnly: readOnly})
		if !errors.Is(err, ErrFormat) {
			t.Fatalf("open it with another format, read only %v: %v", readOnly, err)
		}
		for _, says := range []string{"precis-0", format, "run the program that wrote it, or move the store"} {
			if !strings.Contains(err.Error(), says) {
				t.Errorf("%v does not say %q", err, says)
			}
		}
	}
}
