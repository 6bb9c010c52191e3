package ledger

import (
	"bufio"
	"cmp"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"precis/events"
	"precis/internal/race"
	"precis/summarize/lex"
)

// On real transcripts, however often a thread is rolled up, its first request stays, nearly every written file is named,
// and neither text nor ledger grows. PRECIS_TRANSCRIPTS=DIR reads other event files than the shared ones.
func TestTranscripts(t *testing.T) {
	race.Slow(t)
	const span, chars, most = 80, 2000, 64 << 10
	dir := cmp.Or(os.Getenv("PRECIS_TRANSCRIPTS"), "../../../shared/data/dev")
	files, _ := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if len(files) == 0 {
		t.Skipf("no transcripts in %s", dir)
	}
	made, written, named := 0, 0, 0
	for _, f := range files {
		for id, messages := range threadsOf(t, f) {
			unguarded(messages) // a message that is stumbled over is lost with its calls
			var l Ledger
			for len(messages) > span {
				l, messages = Join([]Ledger{l, Collect(messages[:span]).Trim()}), messages[span:]
				text := l.Text(chars)
				data, err := l.MarshalBinary()
				if err != nil || lex.Runes(text) > chars || len(data) > most {
					t.Errorf("%s: a text of %d characters, a ledger of %d bytes, %v", id, lex.Runes(text), len(data), err)
				}
				made++
				if len(l.Requests) > 0 && !strings.Contains(text, lex.Clip(opening(goalOf(l.Requests).Text, leastOpening), leastOpening-6)[:leastOpening/2]) {
					t.Errorf("%s: the first request is not in\n%s", id, text)
				}
				for _, f := range l.Files {
					if f.Written > 0 {
						written++
						if strings.Contains(text, base(f.Path)) {
							named++
						}
					}
				}
			}
		}
	}
	t.Logf("%d texts name %d of %d written files", made, named, written)
	if made == 0 || named*100 < written*95 {
		t.Error("too few")
	}
}

// threadsOf reads the threads of an event file.
func threadsOf(t *testing.T, path string) map[string][]Message {
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	threads := map[string][]Message{}
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
		e.Role = cmp.Or(e.Role, events.RoleTool)
		list := threads[e.ThreadID]
		threads[e.ThreadID] = append(list, Message{Ordinal: uint64(len(list) + 1), Message: &e.Message})
	}
	if err := scan.Err(); err != nil {
		t.Fatal(err)
	}
	return threads
}
