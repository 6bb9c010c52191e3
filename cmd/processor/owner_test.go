package main

import (
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// nobody is the id of a user without rights, here of the one that runs the service.
const nobody = 65534

// owned gives a directory and all in it to a user.
func owned(t *testing.T, dir string, uid int) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, uid, uid)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// What root does on the data of a service leaves nothing that the service can't open. The directory is behind a link, as systemd has it.
func TestRootLeavesDataToItsOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	dir, backup, link := filepath.Join(t.TempDir(), "kept"), filepath.Join(t.TempDir(), "backup"), filepath.Join(t.TempDir(), "precis")
	program(t, "", "demo", "--keep", dir).wants(t, exitDone, "", "")
	program(t, "", "backup", backup, "--data", dir).wants(t, exitDone, "EVENTS", "")
	owned(t, dir, nobody)
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"check"}, {"replay"}, {"streams"}, {"streams", "--apply"}, {"backup", backup}, {"recover"}, {"restore", backup, "--overwrite"}, {"streams", "--apply"},
	} {
		program(t, "", append(args, "--data", link)...).wants(t, exitDone, "", "")
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			if of := info.Sys().(*syscall.Stat_t); of.Uid != nobody || of.Gid != nobody {
				t.Errorf("%v leaves %s to user %d, group %d", args, path, of.Uid, of.Gid)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// A second start on a data directory names the process that has it, though its port is taken, too: another port would not help.
func TestSecondStartNamesTheOwner(t *testing.T) {
	dir := t.TempDir()
	startProcessor(t, dir)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for data, want := range map[string]string{dir: "is in use by", t.TempDir(): "serve HTTP on " + l.Addr().String()} {
		program(t, "", "run", "--data", data, "--http", l.Addr().String(), "--api", "").wants(t, exitUnreachable, "", want)
	}
}
