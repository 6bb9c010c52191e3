//go:build unix

package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Entrust gives what root has created in dir to the owner of dir or, where root owns that as well, of the directory that has it: a command
// that root runs on the data of a service would otherwise leave files that the service can't open. It does nothing for other users.
//
// The owner may write to dir while root walks through it: nothing outside is given away, by whatever links stand there. A file with
// several hard links may be one that stands elsewhere as well: it stays root's, and the error names it.
func Entrust(dir string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	dir, err := filepath.EvalSymlinks(dir) // systemd has the directory of a service behind one
	if err != nil {
		return err
	}
	to, err := owner(dir)
	if err == nil && to.Uid == 0 {
		to, err = owner(filepath.Dir(dir))
	}
	if err != nil || to.Uid == 0 {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	var linked []error
	err = fs.WalkDir(root.FS(), ".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.IsDir() && !e.Type().IsRegular() {
			return err
		}
		if err := entrust(root, path, to); errors.Is(err, errLinked) {
			linked = append(linked, fmt.Errorf("%s: %w", filepath.Join(dir, path), err))
		} else if err != nil {
			return err
		}
		return nil
	})
	return errors.Join(append(linked, err)...)
}

var errLinked = errors.New("the file has several hard links and stays root's: replace it by a copy, and give that to the owner of the directory")

// entrust gives a file or directory away by its descriptor: what was looked at is what changes hands.
func entrust(root *os.Root, path string, to syscall.Stat_t) error {
	f, err := root.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe that took its place is not waited for
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !ok || st.Uid != 0:
		return nil
	case !info.IsDir() && st.Nlink > 1:
		return errLinked
	}
	return f.Chown(int(to.Uid), int(to.Gid))
}

func owner(path string) (st syscall.Stat_t, err error) {
	err = syscall.Lstat(path, &st)
	return st, err
}
