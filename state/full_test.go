package state

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/rs/zerolog"
)

// A store that a crash left is opened on a disk that has no room for what it has to write at once: the start
// ends, and says why.
func TestOpenOnFullDisk(t *testing.T) {
	disk := vfs.NewCrashableMem()
	s, err := Open("d", Options{FS: disk, Logger: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.db.Set([]byte("key"), []byte("value"), pebble.Sync); err != nil {
		t.Fatal(err)
	}
	left := disk.CrashClone(vfs.CrashCloneCfg{})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	full := errorfs.InjectorFunc(func(op errorfs.Op) error {
		if strings.HasSuffix(op.Path, ".sst") && op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			return syscall.ENOSPC
		}
		return nil
	})
	ended := make(chan string, 1)
	go func() {
		_, err := Open("d", Options{FS: errorfs.Wrap(left, full), Logger: zerolog.Nop(), Fatal: func(why string) {
			ended <- why
			select {} // the process is gone
		}})
		ended <- "open returned: " + fmt.Sprint(err)
	}()
	if why := <-ended; !strings.Contains(why, syscall.ENOSPC.Error()) || strings.HasPrefix(why, "open returned") {
		t.Fatal(why)
	}
}
