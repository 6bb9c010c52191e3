package broker

import (
	"io/fs"
	"path/filepath"
	"syscall"
)

// storeLimit is the embedded server's max_store in bytes: the size of its directory
// plus the free space, less a reserve. The server's own default is
// three quarters of the space free at start: a restart on a filled disk would then
// set a limit below what is stored and refuse every event. No limit at all would
// be no better: on a full disk the server turns JetStream off permanently.
func storeLimit(dir string) int64 {
	free, total, ok := DiskSpace(dir)
	if !ok {
		return 0 // the server's own default
	}
	return max(dirBytes(dir)+free-reserve(total), 1)
}

// DiskSpace returns the free and the total bytes of the file system that has a directory; ok is false where they are unknown.
func DiskSpace(dir string) (free, total int64, ok bool) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return 0, 0, false
	}
	return int64(st.Bavail) * st.Bsize, int64(st.Blocks) * st.Bsize, true
}

// reserve is what stays free: a twentieth of the disk, at most 1 GiB.
func reserve(total int64) int64 { return min(total/20, 1<<30) }

func dirBytes(dir string) int64 {
	var sum int64
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil // a file that vanished meanwhile counts as empty
		}
		if info, err := d.Info(); err == nil {
			sum += info.Size()
		}
		return nil
	})
	return sum
}
