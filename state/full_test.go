package state

import (
	"fmt"
	"strings"
	"sync/atomic"
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

// A disk that becomes full under a running store ends the process with the reason, also where a write has failed
// behind the writer that nobody waited for: Pebble panics at the next one.
func TestWriteOnFullDisk(t *testing.T) {
	var full atomic.Bool
	failing := errorfs.InjectorFunc(func(op errorfs.Op) error {
		if full.Load() && strings.HasSuffix(op.Path, ".log") && op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			return syscall.ENOSPC
		}
		return nil
	})
	ended := make(chan string, 16) // by the writer and behind it
	s, err := Open("d", Options{FS: errorfs.Wrap(vfs.NewMem(), failing), Logger: zerolog.Nop(), Fatal: func(why string) {
		ended <- why
		select {} // the process is gone
	}})
	if err != nil {
		t.Fatal(err)
	}
	part, err := s.Partition(0)
	if err != nil {
		t.Fatal(err)
	}
	full.Store(true)
	go func() {
		defer func() {
			if why := recover(); why != nil {
				ended <- fmt.Sprint("panicked: ", why)
			}
		}()
		for i := uint64(1); ; i++ {
			meta := part.Meta()
			meta.Position = i
			part.SetMeta(meta)
			if _, err := part.Apply(NoSync); err != nil {
				ended <- "applied: " + err.Error()
			}
		}
	}()
	if why := <-ended; !strings.Contains(why, syscall.ENOSPC.Error()) || strings.HasPrefix(why, "panicked") {
		t.Fatal(why)
	}
}

// So does one on which Pebble can't begin a new log: its own panic there ends in the runtime, which nothing recovers from.
func TestNewLogOnFullDisk(t *testing.T) {
	var full atomic.Bool
	failing := errorfs.InjectorFunc(func(op errorfs.Op) error {
		if full.Load() && strings.HasSuffix(op.Path, ".log") && (op.Kind == errorfs.OpCreate || op.Kind == errorfs.OpReuseForWrite) {
			return syscall.ENOSPC
		}
		return nil
	})
	ended := make(chan string, 16)
	s, err := Open("d", Options{FS: errorfs.Wrap(vfs.NewMem(), failing), Logger: zerolog.Nop(), Fatal: func(why string) {
		ended <- why
		select {} // the process is gone
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.db.Set([]byte("key"), []byte("value"), pebble.NoSync); err != nil {
		t.Fatal(err)
	}
	full.Store(true)
	go func() {
		_, err := s.db.AsyncFlush()
		ended <- "flushed: " + fmt.Sprint(err)
	}()
	if why := <-ended; why != syscall.ENOSPC.Error() {
		t.Fatal(why)
	}
}
