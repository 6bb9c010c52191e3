package ledger

import (
	"bufio"
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/go-json-experiment/json"

	"precis/events"
)

// thread is one thread of the real transcripts.
type thread struct {
	id       string
	messages []Message
}

// transcripts reads the event files in the directory that PRECIS_TRANSCRIPTS names, or else the shared ones next to the
// project; it skips the test if there are none.
func transcripts(t testing.TB) []thread {
	t.Helper()
	dir := cmp.Or(os.Getenv("PRECIS_TRANSCRIPTS"), filepath.Join(projectRoot(t), "..", "shared", "data", "dev"))
	files, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Skipf("no transcripts in %s", dir)
	}
	slices.Sort(files)
	var list []thread
	for _, f := range files {
		list = append(list, readThreads(t, f)...)
	}
	return list
}

func projectRoot(t testing.TB) string {
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		dir = filepath.Dir(dir)
	}
}

func readThreads(t testing.TB, path string) []thread {
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var list []thread
	at := map[string]int{}
	scan := bufio.NewScanner(f)
	scan.Buffer(nil, 64<<20)
	for scan.Scan() {
		var e struct {
			ThreadID string `json:"thread_id"`
			events.Message
		}
		if err := json.Unmarshal(scan.Bytes(), &e); err != nil {
			t.Fatal(err)
		}
		if e.Role == "" {
			e.Role = events.RoleTool
		}
		i, ok := at[e.ThreadID]
		if !ok {
			i = len(list)
			at[e.ThreadID] = i
			list = append(list, thread{id: e.ThreadID})
		}
		th := &list[i]
		th.messages = append(th.messages, Message{Ordinal: uint64(len(th.messages) + 1), Message: &e.Message})
	}
	if err := scan.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}
