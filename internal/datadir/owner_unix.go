//go:build unix

package datadir

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Entrust gives what root has created in dir to the owner of dir or, where root owns that as well, of the directory that has it: a command
// that root runs on the data of a service would otherwise leave files that the service can't open. It does nothing for other users.
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
	return filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if of, err := owner(path); err != nil || of.Uid != 0 {
			return err
		}
		return os.Lchown(path, int(to.Uid), int(to.Gid))
	})
}

func owner(path string) (st syscall.Stat_t, err error) {
	err = syscall.Lstat(path, &st)
	return st, err
}
