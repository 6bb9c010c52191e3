package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"precis/internal/datadir"
)

// Place holds the files of a backup by name.
type Place interface {
	fmt.Stringer
	// Lock makes the place if it is missing, and keeps other runs out until unlock is called or the program ends.
	Lock(ctx context.Context) (unlock func(), err error)
	// Names lists the files, without what an interrupted run has left of one.
	Names(ctx context.Context) ([]string, error)
	// Open reads a file; fs.ErrNotExist if there is none of the name.
	Open(ctx context.Context, name string) (io.ReadCloser, error)
	// Create returns an empty file for its owner alone, to be written and kept. The caller closes and removes one that it does not keep.
	Create(name string) (*os.File, error)
	// Keep closes a created file and puts it into the place under its name, in one step: a crash leaves the one of before or the new one, and what it
	// returns for is durable.
	Keep(ctx context.Context, name string, file *os.File) error
}

// lockFile is in a directory beside the files of the backup.
const lockFile = "backup.lock"

// partial marks a file that is not kept yet.
const partial = ".partial"

// Dir is a directory, which may be missing.
type Dir string

func (d Dir) String() string { return string(d) }

func (d Dir) path(name string) string { return filepath.Join(string(d), name) }

// Lock implements Place.
func (d Dir) Lock(context.Context) (unlock func(), err error) {
	if err := os.MkdirAll(string(d), 0o700); err != nil {
		return nil, fmt.Errorf("make backup directory: %w", err)
	}
	if unlock, err = datadir.Lock(d.path(lockFile)); err != nil {
		return nil, fmt.Errorf("lock backup directory: %w", err)
	}
	return unlock, nil
}

// Names implements Place.
func (d Dir) Names(context.Context) (names []string, err error) {
	entries, err := os.ReadDir(string(d))
	for _, e := range entries {
		if e.Name() != lockFile && !strings.HasSuffix(e.Name(), partial) {
			names = append(names, e.Name())
		}
	}
	return names, err
}

// Open implements Place.
func (d Dir) Open(_ context.Context, name string) (io.ReadCloser, error) {
	return os.Open(d.path(name))
}

// Create implements Place.
func (d Dir) Create(name string) (*os.File, error) {
	return os.OpenFile(d.path(name)+partial, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
}

// Keep implements Place.
func (d Dir) Keep(_ context.Context, name string, file *os.File) error {
	if err := errors.Join(file.Sync(), file.Close()); err != nil {
		return err
	}
	if err := os.Rename(file.Name(), d.path(name)); err != nil {
		return err
	}
	names, err := os.Open(string(d))
	if err != nil {
		return err
	}
	return errors.Join(names.Sync(), names.Close())
}

// drop gives a created file up.
func drop(file *os.File) {
	file.Close()
	os.Remove(file.Name())
}
