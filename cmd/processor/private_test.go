//go:build unix

package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// What the program writes is for its own user, also in a directory that was open before.
func TestDataIsPrivate(t *testing.T) {
	v := newVictim(t, build(t))
	if err := os.Chmod(v.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	v.start(t)
	v.awaitRunning(t)
	program(t, sampleThread(), "publish", "-", "--nats", v.url()).wants(t, exitDone, "", "")
	v.stop(t)
	files := 0
	err := filepath.WalkDir(v.dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := os.Stat(path)
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s is %s", path, info.Mode())
		}
		files++
		return err
	})
	if err != nil || files < 10 {
		t.Errorf("%d files, %v", files, err)
	}
}
