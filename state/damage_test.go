package state_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"precis/state"
)

// Whatever becomes of one of its files, a store opens as it was, or says that it is damaged: it neither panics nor
// begins anew with some of what it held.
func TestDamagedFiles(t *testing.T) {
	whole := filepath.Join(t.TempDir(), "whole")
	for round := range 3 { // each start moves what the one before has written into tables
		s, err := state.Open(whole, state.Options{Logger: zerolog.Nop()})
		if err != nil {
			t.Fatal(err)
		}
		part, err := s.Partition(0)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 200 {
			if err := part.Spend("p", fmt.Sprintf("2026-%d-%d", round, i), int64(i)); err != nil {
				t.Fatal(err)
			}
		}
		m := part.Meta()
		m.Position = uint64(round + 1)
		part.SetMeta(m)
		if _, err := part.Commit(state.Sync); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(part.Close(), s.Close()); err != nil {
			t.Fatal(err)
		}
	}
	files, err := filepath.Glob(filepath.Join(whole, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		name := filepath.Base(file)
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for how, damaged := range map[string][]byte{
			"removed": nil, "cut": data[:len(data)/2], "emptied": {}, "overwritten": []byte(strings.Repeat("\xa5", len(data))),
		} {
			for _, readOnly := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s %s, read only %t", name, how, readOnly), func(t *testing.T) {
					dir := filepath.Join(t.TempDir(), "store")
					if err := os.CopyFS(dir, os.DirFS(whole)); err != nil {
						t.Fatal(err)
					}
					if err := os.Remove(filepath.Join(dir, name)); err != nil {
						t.Fatal(err)
					}
					if how != "removed" {
						if err := os.WriteFile(filepath.Join(dir, name), damaged, 0o600); err != nil {
							t.Fatal(err)
						}
					}
					rows, err := rowsIn(dir, readOnly)
					t.Logf("%d rows, %v", rows, err)
					if err != nil && !errors.Is(err, state.ErrDamaged) {
						t.Errorf("not said to be damaged: %v", err)
					}
					if err == nil && rows != 600 && !strings.HasSuffix(name, ".log") {
						t.Errorf("opens with %d of 600 rows", rows)
					}
				})
			}
		}
	}
}

func rowsIn(dir string, readOnly bool) (rows int, err error) {
	s, err := state.Open(dir, state.Options{Logger: zerolog.Nop(), ReadOnly: readOnly})
	if err != nil {
		return 0, err
	}
	err = s.View(0).Spent(func(string, string, int64) { rows++ })
	return rows, errors.Join(err, s.Close())
}
