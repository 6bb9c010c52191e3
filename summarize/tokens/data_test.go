package tokens

import (
	"bufio"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// dataDir is the directory of real transcripts beside the project; without it the test skips.
func dataDir(t testing.TB) string {
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
	data := filepath.Join(dir, "..", "shared", "data")
	if _, err := os.Stat(data); errors.Is(err, os.ErrNotExist) {
		t.Skip("no ../shared/data beside the project: nothing to measure on")
	}
	return data
}

// lines decodes a file of one JSON value a line.
func lines[T any](t testing.TB, path string) []T {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []T
	r := bufio.NewReaderSize(f, 1<<20)
	for {
		line, err := r.ReadBytes('\n')
		if len(line) > 1 {
			var v T
			if err := json.Unmarshal(line, &v, jsontext.AllowDuplicateNames(true)); err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			all = append(all, v)
		}
		if err == io.EOF {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

type message struct {
	ThreadID  string         `json:"thread_id"`
	MessageID string         `json:"message_id"`
	Content   jsontext.Value `json:"content"`
	ToolCalls []struct {
		Arguments jsontext.Value `json:"arguments"`
	} `json:"tool_calls"`
}

// text is the content; of parts, those with text.
func (m message) text() string {
	var s string
	if json.Unmarshal(m.Content, &s) == nil {
		return s
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(m.Content, &parts) != nil {
		return ""
	}
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(p.Text)
	}
	return b.String()
}

// transcripts are all messages, by file.
func transcripts(t testing.TB) map[string][]message {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dataDir(t), "dev", "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("transcripts: %v, %v", files, err)
	}
	all := map[string][]message{}
	for _, f := range files {
		all[filepath.Base(f)] = lines[message](t, f)
	}
	return all
}
