package state

import (
	"errors"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
)

// A store of another format, older or newer, is refused with both formats and what to do, and is not changed.
func TestOtherFormat(t *testing.T) {
	for _, other := range []string{"precis-1", "precis-99"} {
		fs := Memory()
		s, err := Open("store", Options{FS: fs})
		if err != nil {
			t.Fatal(err)
		}
		if got := s.db.FormatMajorVersion(); got != pebbleFormat {
			t.Errorf("Pebble's files have version %s, want %s", got, pebbleFormat)
		}
		if err := errors.Join(s.db.Set(newKey(formatPartition, 'f'), []byte(other), pebble.Sync), s.Close()); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			s, err := Open("store", Options{FS: fs})
			if err == nil {
				err = s.Close()
			}
			if !errors.Is(err, ErrFormat) {
				t.Fatalf("open a store of format %s: %v", other, err)
			}
			for _, says := range []string{other, format, "move the store"} {
				if !strings.Contains(err.Error(), says) {
					t.Errorf("%v does not say %q", err, says)
				}
			}
		}
	}
}
