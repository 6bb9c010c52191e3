package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"precis/cmd/processor/console"
	"precis/internal/processor"
	"precis/state"
)

// A start and a check over a damaged store end with the status of what is wrong, and say the cause and the way out.
func TestDamagedStoreIsTold(t *testing.T) {
	for _, c := range []struct{ file, cause string }{
		{"MANIFEST-*", "MANIFEST-"},
		{"*.sst", "unknown to the objstorage provider"},
		{"marker.manifest.*", "no marker.manifest file"},
		{"marker.format-version.*", "not pristine"},
	} {
		t.Run(c.file, func(t *testing.T) {
			dir := t.TempDir()
			for range 2 { // the second start moves what the first one wrote into tables
				s, err := state.Open(processor.StoreDir(dir), state.Options{Logger: zerolog.Nop()})
				if err != nil {
					t.Fatal(err)
				}
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
			}
			files, err := filepath.Glob(filepath.Join(processor.StoreDir(dir), c.file))
			if err != nil || len(files) == 0 {
				t.Fatalf("no %s: %v", c.file, err)
			}
			for _, file := range files {
				if err := os.Remove(file); err != nil {
					t.Fatal(err)
				}
			}
			for _, args := range [][]string{
				{"run", "--data", dir, "--nats-listen", "127.0.0.1:0", "--http", "127.0.0.1:0", "--api", ""}, {"check", "--data", dir},
			} {
				got := program(t, "", args...)
				if got.status != exitWrong || !strings.Contains(got.stderr, c.cause) || !strings.Contains(got.stderr, console.MoveAway) || strings.Contains(got.stderr, "panic") {
					t.Errorf("%s: status %d, %s", args[0], got.status, got.stderr)
				}
			}
		})
	}
}
