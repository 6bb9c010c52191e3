package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// diskSize is how much a processor's own file system holds.
const diskSize = 256 << 20

// mountDisk gives a processor a file system of its own in memory, which a fault can fill. dir is empty without the right to mount one.
func (p *party) mountDisk(name string) (dir string, err error) {
	dir = filepath.Join(p.dir, name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", fmt.Errorf("make disk: %w", err)
	}
	err = syscall.Mount("precis-loadtest", dir, "tmpfs", 0, fmt.Sprintf("size=%d", diskSize))
	if errors.Is(err, syscall.EPERM) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("mount disk: %w", err)
	}
	return dir, nil
}

// fill takes all room of a disk, until the returned function gives it back.
func fill(disk string) (release func() error, err error) {
	path := filepath.Join(disk, "filled")
	f, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("fill disk: %w", err)
	}
	release = func() error { return os.Remove(path) }
	for block := make([]byte, 64<<10); err == nil; {
		_, err = f.Write(block)
	}
	if err = errors.Join(f.Close(), unless(err, syscall.ENOSPC)); err != nil {
		return nil, errors.Join(fmt.Errorf("fill disk: %w", err), release())
	}
	return release, nil
}

// unless is an error unless it is the one that is expected.
func unless(err, expected error) error {
	if errors.Is(err, expected) {
		return nil
	}
	return err
}

// unmount removes a disk.
func unmount(disk string) { _ = syscall.Unmount(disk, syscall.MNT_DETACH) }
