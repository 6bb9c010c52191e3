package state

import (
	"errors"
	"fmt"
	"io/fs"
)

// makeDir makes a directory with all above it, and makes each new name durable: Pebble syncs what is in
// its directory, but a power cut could take the directory itself.
func makeDir(fsys FS, dir string) error {
	_, err := fsys.Stat(dir)
	if err == nil {
		return nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	parent := fsys.PathDir(dir)
	if parent == dir {
		return fmt.Errorf("make %s: no such root", dir)
	}
	if err := makeDir(fsys, parent); err != nil {
		return err
	}
	if err := fsys.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := fsys.OpenDir(parent)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// Format is the version of a store's rows. A store of any other format is refused.
func Format() string { return format }
