package e2e_test

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// disk is the operating system's, with as much room as a test says.
type disk struct {
	vfs.FS
	free atomic.Uint64
}

func (d *disk) GetDiskUsage(string) (vfs.DiskUsage, error) {
	return vfs.DiskUsage{AvailBytes: d.free.Load(), TotalBytes: 1 << 40}, nil
}

// Who runs and has no room to write is not ready, and is again when somebody has made room.
func TestNotReadyOnFullDisk(t *testing.T) {
	d := &disk{FS: vfs.Default}
	d.free.Store(1 << 30)
	w := beginOn(t, d, t.TempDir(), "")
	d.free.Store(4096)
	if status, body := w.fetch("/readyz"); status != 503 || !strings.Contains(body, "disk is full") {
		t.Errorf("/readyz says %d %s", status, body)
	}
	if status, body := w.fetch("/healthz"); status != 200 {
		t.Errorf("/healthz says %d %s", status, body)
	}
	d.free.Store(1 << 30)
	if status, body := w.fetch("/readyz"); status != 200 {
		t.Errorf("with room again, /readyz says %d %s", status, body)
	}
}
