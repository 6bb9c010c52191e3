//go:build unix

package datadir

import (
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
)

// Lock creates a lock file and holds it until release is called or the process ends: the kernel drops the lock with the process, so that
// a crash leaves nothing to clean up. It fails with ErrInUse and the process that holds it.
func Lock(path string) (release func(), err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		owner, _ := io.ReadAll(io.LimitReader(f, 64))
		f.Close()
		return nil, fmt.Errorf("%w: %s is held by process %s", ErrInUse, path, strings.TrimSpace(string(owner)))
	}
	if err := writeOwner(f); err != nil {
		f.Close()
		return nil, err
	}
	return func() { f.Close() }, nil
}

func writeOwner(f *os.File) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.WriteAt([]byte(fmt.Sprintf("%d\n", os.Getpid())), 0)
	return err
}
