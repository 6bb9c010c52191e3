//go:build unix

package broker

import (
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
)

// dirLock keeps a second server out of a store directory: nats-server itself
// would open the same files twice and corrupt them. The kernel drops the lock
// with the process, so a crash leaves nothing to clean up.
type dirLock struct{ file *os.File }

func lockDir(path string) (*dirLock, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrStoreDir, err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		owner, _ := io.ReadAll(io.LimitReader(f, 64))
		f.Close()
		return nil, fmt.Errorf("%w: %s is held by process %s", ErrStoreInUse, path, strings.TrimSpace(string(owner)))
	}
	if err := writeOwner(f); err != nil {
		f.Close()
		return nil, fmt.Errorf("%w: %w", ErrStoreDir, err)
	}
	return &dirLock{file: f}, nil
}

func writeOwner(f *os.File) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.WriteAt([]byte(fmt.Sprintf("%d\n", os.Getpid())), 0)
	return err
}

func (l *dirLock) release() { l.file.Close() }
