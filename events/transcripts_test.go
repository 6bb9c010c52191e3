package events_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"precis/events"
)

// transcripts returns the real event files next to the project, or skips.
func transcripts(t testing.TB) []string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("no go.mod above the test")
		}
		dir = filepath.Dir(dir)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "..", "shared", "data", "dev", "*.jsonl"))
	if len(files) == 0 {
		t.Skip("no transcripts in ../shared/data/dev")
	}
	return files
}

// Every event of the real transcripts is accepted as an agent would publish it.
func TestTranscriptsAreAccepted(t *testing.T) {
	n := 0
	for _, path := range transcripts(t) {
		file, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		r := events.NewFileReader(file)
		for {
			line, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			subject, err := line.Subject()
			if err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			if _, rej := events.Decode(events.Raw{Subject: subject, Body: line.Data}, events.Limits{EventBytes: 1 << 20}); rej != nil {
				t.Fatalf("%s, line %d: %v", path, line.Line, rej)
			}
			n++
		}
		_ = file.Close()
	}
	if n != 11250 {
		t.Errorf("%d events", n)
	}
}
