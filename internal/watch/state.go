package watch

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
)

// stateVersion changes when a mapping gives other events for the same lines, or the form changes: files are then read again.
const stateVersion = 1

// State is how far files are published.
type State struct {
	Version int `json:"version"`
	// Stream tells the log that took the events from another one, as an emptied server has.
	Stream string          `json:"stream"`
	Files  map[string]Mark `json:"files"`
}

// Mark is how far one file is published.
type Mark struct {
	Offset  int64   `json:"offset"`            // behind the last line whose events are stored
	Flushes []int64 `json:"flushes,omitempty"` // offsets at which an answer was ended because the file was quiet
	Open    bool    `json:"open,omitzero"`     // an answer may wait for further lines
	Head    string  `json:"head"`              // digest of the file's beginning
}

func (m Mark) equal(other Mark) bool {
	return m.Offset == other.Offset && m.Open == other.Open && m.Head == other.Head && slices.Equal(m.Flushes, other.Flushes)
}

// LoadState reads a state; a missing, damaged or older one, or one of another log, is empty.
func LoadState(name, stream string) (*State, error) {
	empty := &State{Version: stateVersion, Stream: stream, Files: map[string]Mark{}}
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return empty, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read state: %w", err)
	}
	var s State
	if json.Unmarshal(text, &s) != nil || s.Version != stateVersion || s.Stream != stream || s.Files == nil {
		return empty, nil
	}
	return &s, nil
}

// save replaces the file as a whole: a crash leaves the former one. A file whose name is not UTF-8 has no place in it, and is read again after a start.
func (s *State) save(name string) error {
	kept := *s
	kept.Files = maps.Clone(s.Files)
	maps.DeleteFunc(kept.Files, func(name string, _ Mark) bool { return !utf8.ValidString(name) })
	text, err := json.Marshal(kept, json.Deterministic(true))
	if err != nil {
		return fmt.Errorf("marshal state: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return fmt.Errorf("write state: %w", err)
	}
	temporary, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".*")
	if err != nil {
		return fmt.Errorf("write state: %w", err)
	}
	_, err = temporary.Write(text)
	if err = errors.Join(err, temporary.Close()); err == nil {
		err = os.Rename(temporary.Name(), name)
	}
	if err != nil {
		_ = os.Remove(temporary.Name())
		return fmt.Errorf("write state: %w", err)
	}
	return nil
}
