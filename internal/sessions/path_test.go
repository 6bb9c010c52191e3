package sessions

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"precis/events"
)

// opened maps what is at a path.
func opened(t *testing.T, path, format string) string {
	t.Helper()
	in, name, err := OpenPath(path)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	return mapped(t, in, format, name)
}

// A conversation's directory is read in the order of its events, named or found out, by its own name or by that of the events.
func TestDirectoryOfEvents(t *testing.T) {
	for sample, pattern := range map[string]string{"openhands": "event-%05d-x.json", "openhands-old": "%d.json"} {
		text, err := os.ReadFile("testdata/" + sample + ".jsonl")
		if err != nil {
			t.Fatal(err)
		}
		conversation := filepath.Join(t.TempDir(), sample)
		dir := filepath.Join(conversation, "events")
		if err := os.MkdirAll(filepath.Join(dir, "event_cache"), 0o700); err != nil {
			t.Fatal(err)
		}
		n := 0
		for line := range bytes.Lines(text) {
			value := jsontext.Value(line)
			if err := value.Indent(); err != nil {
				t.Fatal(err)
			}
			n++
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf(pattern, n*7)), value, 0o600); err != nil { // 7, 14, …: not in the order of their names
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(conversation, "base_state.json"), []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
		want := mapped(t, bytes.NewReader(text), "openhands", sample)
		for _, path := range []string{conversation, dir, dir + "/"} {
			for _, format := range []string{"openhands", FormatAuto} {
				if got := opened(t, path, format); got != want {
					t.Errorf("%s as %s: %s\ninstead of\n%s", path, format, got, want)
				}
			}
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf(pattern, 8)), []byte("{\n\"kind\""), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := opened(t, dir, "openhands"); !strings.Contains(got, "broken: line 2: is not valid JSON") {
			t.Errorf("with a broken file: %s", got)
		}
	}
	if _, _, err := OpenPath(t.TempDir()); !errors.Is(err, ErrNoEvents) {
		t.Error(err)
	}
	if _, _, err := OpenPath(filepath.Join(t.TempDir(), "missing")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// A database is read with what its write-ahead log holds, and with the columns that it has.
func TestDatabaseOfCrush(t *testing.T) {
	program, err := exec.LookPath("sqlite3")
	if err != nil {
		t.Skip("no command sqlite3")
	}
	text, err := os.ReadFile("testdata/crush.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "crush.db")
	script := []string{
		"pragma journal_mode=wal;", "pragma wal_autocheckpoint=0;",
		`create table sessions (id text primary key, parent_session_id text, title text, prompt_tokens integer, completion_tokens integer, cost real, created_at integer);`,
		`create table messages (id text primary key, session_id text, role text, parts text, model text, created_at integer, is_summary_message integer);`,
	}
	for line := range bytes.Lines(text) {
		var row object
		if err := json.Unmarshal(line, &row); err != nil {
			t.Fatal(err)
		}
		columns := []string{"id", "parent_session_id", "title", "prompt_tokens", "completion_tokens", "cost", "created_at"}
		if row.text("crush") == "message" {
			columns = []string{"id", "session_id", "role", "parts", "model", "created_at", "is_summary_message"}
		}
		var values []string
		for _, c := range columns {
			if row[c].Kind() == '"' {
				values = append(values, "'"+strings.ReplaceAll(row.text(c), "'", "''")+"'")
			} else {
				values = append(values, string(row[c]))
			}
		}
		script = append(script, fmt.Sprintf("insert into %ss values (%s);", row.text("crush"), strings.Join(values, ",")))
	}
	writer := exec.Command(program, path)
	in, err := writer.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := writer.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := writer.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = in.Close(); _ = writer.Wait() })
	if _, err := io.WriteString(in, strings.Join(script, "\n")+"\nselect 'done';\n"); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	for !strings.Contains(said.String(), "done") { // it stays open, with all rows in its log
		piece := make([]byte, 64)
		n, err := out.Read(piece)
		if err != nil {
			t.Fatal(err, said.String())
		}
		said.Write(piece[:n])
	}
	// The rows of a session stand together, and each is a line.
	unnumbered := func(text string) string {
		var b strings.Builder
		for line := range strings.Lines(text) {
			if _, event, ok := strings.Cut(line, " {"); ok {
				b.WriteString("{" + event)
			}
		}
		return b.String()
	}
	want := unnumbered(mapped(t, bytes.NewReader(text), "crush", path))
	for _, format := range []string{"crush", FormatAuto} {
		if got := unnumbered(opened(t, path, format)); got != want {
			t.Errorf("%s: %s\ninstead of\n%s", format, got, want)
		}
	}
	broken := filepath.Join(t.TempDir(), "crush.db")
	if err := os.WriteFile(broken, append(sqliteHead, make([]byte, 4096)...), 0o600); err != nil {
		t.Fatal(err)
	}
	damaged, _, err := OpenPath(broken)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(damaged); err == nil || !strings.Contains(err.Error(), "with sqlite3") {
		t.Errorf("a damaged database: %v", err)
	}
}

// A row that is too long is reported by its place, without being held in memory, and those behind it are read.
func TestALongRowOfADatabase(t *testing.T) {
	row := func(id string) string {
		return `{"crush":"message","id":"` + id + `","session_id":"s","role":"user","parts":"[{\"type\":\"text\",\"data\":{\"text\":\"hello\"}}]"}`
	}
	rows := func() io.Reader {
		return io.MultiReader(strings.NewReader("["+row("m1")+",\n{\"crush\":\"message\",\"x\":\""), &filler{events.MaxLineBytes}, strings.NewReader("\"},\n"+row("m3")+"]\n["+row("m4")+"]\n"))
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if err := copyRows(io.Discard, rows()); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > events.MaxLineBytes+16<<20 {
		t.Errorf("%d bytes are allocated", used)
	}
	from, to := io.Pipe()
	go func() { _ = to.CloseWithError(copyRows(to, rows())) }()
	got := mapped(t, from, "crush", "x")
	if strings.Count(got, `"hello"`) != 3 || !strings.Contains(got, "broken: line 2: "+events.ErrLineTooLong.Error()) {
		t.Errorf("%.2000s", got)
	}
}

// filler reads as that many letters.
type filler struct{ left int }

func (f *filler) Read(p []byte) (int, error) {
	if f.left == 0 {
		return 0, io.EOF
	}
	n := min(len(p), f.left)
	copy(p, bytes.Repeat([]byte("x"), n))
	f.left -= n
	return n, nil
}
