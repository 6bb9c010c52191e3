package datadir

import "syscall"

// Space returns the free and the total bytes of the file system that has a directory; ok is false where they are unknown.
func Space(dir string) (free, total int64, ok bool) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return 0, 0, false
	}
	return int64(st.Bavail) * st.Bsize, int64(st.Blocks) * st.Bsize, true
}
