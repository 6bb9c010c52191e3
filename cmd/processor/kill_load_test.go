package main

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json"

	"precis/events"
)

// load is events in the order of their publishing, and what they come to, counted by hand: without any of the
// code that counts in the processor.
type load struct {
	events  []events.FileEvent
	threads map[string]*handCount
}

// handCount is one thread's.
type handCount struct {
	messages, results, edits int64
	current                  map[string]bool // message → whether its text is a large tool output now
	isResult                 map[string]bool
	versions                 map[string]int // message → how many of its revisions were large
	editIDs                  map[string]bool
	alive                    []string // messages that are not deleted, in order
}

func newLoad() *load { return &load{threads: map[string]*handCount{}} }

func (l *load) thread(id string) *handCount {
	if l.threads[id] == nil {
		l.threads[id] = &handCount{
			current: map[string]bool{}, isResult: map[string]bool{}, versions: map[string]int{}, editIDs: map[string]bool{},
		}
	}
	return l.threads[id]
}

// body is what a count by hand needs of an event's data.
type body struct {
	MessageID string         `json:"message_id"`
	Role      string         `json:"role"`
	Content   events.Content `json:"content"`
	Deleted   bool           `json:"deleted"`
	EditID    string         `json:"edit_id"`
}

// add takes an event, and counts it unless it was there before.
func (l *load) add(t *testing.T, e events.FileEvent) {
	t.Helper()
	l.events = append(l.events, e)
	var b body
	if err := json.Unmarshal(e.Data, &b); err != nil {
		t.Fatal(err)
	}
	c := l.thread(e.Thread)
	_, known := c.current[b.MessageID]
	switch {
	case e.Type == events.MessageEdited && !c.editIDs[b.EditID]:
		c.editIDs[b.EditID] = true
		c.edits++
		c.turnsInto(b)
		if b.Deleted {
			c.alive = slices.DeleteFunc(c.alive, func(id string) bool { return id == b.MessageID })
		}
	case e.Type != events.MessageEdited && !known:
		c.isResult[b.MessageID] = e.Type == events.ToolResult || b.Role == events.RoleTool
		if c.isResult[b.MessageID] {
			c.results++
		} else {
			c.messages++
		}
		c.turnsInto(b)
		c.alive = append(c.alive, b.MessageID)
	}
}

// turnsInto notes a message's text, and that a summary is due where it is large.
func (c *handCount) turnsInto(b body) {
	large := c.isResult[b.MessageID] && utf8.RuneCountInString(b.Content.Text()) > 1500
	c.current[b.MessageID] = large
	if large {
		c.versions[b.MessageID]++
	}
}

// generate makes sessions that lie between each other: messages, outputs of all sizes, edits, deletions, copies
// at once and late, and messages that contradict others.
func (l *load) generate(t *testing.T, random *rand.Rand, threads, eventsEach int) {
	ids := make([]string, threads)
	for i := range ids {
		ids[i] = fmt.Sprintf("made.%d ü*>", i) // an id that no subject could hold as it stands
	}
	for n := range threads * eventsEach {
		thread := ids[random.IntN(threads)]
		l.add(t, l.event(random, thread, n))
	}
}

func (l *load) event(random *rand.Rand, thread string, n int) events.FileEvent {
	earlier := l.of(thread)
	typ, data := events.ThreadMessage, map[string]any{"message_id": fmt.Sprintf("m%d", n), "role": "user", "content": fmt.Sprintf("request %d", n)}
	switch pick := random.IntN(20); {
	case pick < 8:
		typ, data = events.ToolResult, map[string]any{"message_id": fmt.Sprintf("m%d", n), "tool_name": "bash", "content": output(random, n)}
	case pick < 11 && len(earlier) > 0:
		typ, data = events.MessageEdited, map[string]any{"message_id": pickOne(random, earlier), "edit_id": fmt.Sprintf("e%d", n), "content": output(random, n)}
	case pick < 12 && len(earlier) > 0:
		typ, data = events.MessageEdited, map[string]any{"message_id": pickOne(random, earlier), "edit_id": fmt.Sprintf("e%d", n), "content": nil, "deleted": true}
	case pick < 13 && len(earlier) > 0:
		data["message_id"] = pickOne(random, earlier) // other content under a known id
	case pick < 15 && len(l.events) > 0:
		return l.events[random.IntN(len(l.events))]
	}
	raw, err := json.Marshal(data)
	if err != nil {
		panic(err)
	}
	return events.FileEvent{Type: typ, Thread: thread, Data: raw}
}

// of lists the newest messages of a thread that are not deleted.
func (l *load) of(thread string) []string {
	alive := l.thread(thread).alive
	return alive[max(0, len(alive)-10):]
}

func pickOne(random *rand.Rand, from []string) string { return from[random.IntN(len(from))] }

// output is a tool's: mostly short, some just below the threshold or just above it, some long; each another one.
func output(random *rand.Rand, n int) string {
	size := []int{20, 40, 1500, 1501, 4000}[random.IntN(5)]
	line := fmt.Sprintf("%d: pkg/file_%d.go:%d: is not é\n", n, random.IntN(900), random.IntN(1_000_000))
	return string([]rune(strings.Repeat(line, size/16))[:size])
}

// addFiles takes the first events of real transcripts, where they are.
func (l *load) addFiles(t *testing.T, most int) {
	t.Helper()
	files := transcripts()
	if len(files) == 0 {
		t.Log("no real transcripts there; with generated events alone")
	}
	for _, name := range files {
		most -= l.addFile(t, name, most)
	}
}

// addOfEach takes the first events of each real transcript.
func (l *load) addOfEach(t *testing.T, most int) {
	t.Helper()
	for _, name := range transcripts() {
		l.addFile(t, name, most)
	}
}

func transcripts() []string {
	files, _ := filepath.Glob("../../../shared/data/dev/*.jsonl")
	return files
}

// addFile takes the first events of one, and says how many.
func (l *load) addFile(t *testing.T, name string, most int) (n int) {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := events.NewFileReader(f); n < most; n++ {
		e, err := lines.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		l.add(t, e)
	}
	return n
}
