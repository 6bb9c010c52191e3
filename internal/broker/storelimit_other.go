//go:build !linux

package broker

// storeLimit leaves the limit to the server.
func storeLimit(string) int64 { return 0 }

// DiskSpace is not known here.
func DiskSpace(string) (free, total int64, ok bool) { return 0, 0, false }
