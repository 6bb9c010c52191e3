package processor_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"precis/events"
	"precis/internal/audit"
	"precis/internal/broker"
	"precis/internal/config"
	"precis/internal/processor"
	"precis/internal/thread"
	"precis/state"
	"precis/summarize"
)

// fixture is a data directory as a processor of the store's format has left it: the store, and the streams that it was
// made from, which positions and their marks belong to. UPDATE_FIXTURE=1 makes it anew; that is for a new format alone.
// What programs of the same format go on from is this one, whatever the program of the day would leave.
const fixture = "testdata/store.zip"

// fixtureSettings are what the fixture was made under. They are written out, so that another default changes nothing.
func fixtureSettings(dir string) *config.Config {
	c := config.Default()
	c.DataDir, c.NATS.Listen, c.Partitions = dir, "", 2
	p := summarize.Default()
	p.Tokenizer = summarize.TokenizerEstimate
	p.ToolOutput = summarize.ToolOutput{OverChars: 1000, MaxSummaryChars: 400, MaxInputChars: 50000, PreserveErrors: true, IncludeMetadata: true}
	p.Compaction.Trigger, p.Compaction.Keep = summarize.Condition{Messages: 8}, summarize.Keep{Messages: 3}
	c.Policies = []summarize.Policy{p}
	return c
}

// testRun is a tool output of our own.
func testRun(words string) string {
	return strings.Repeat("ok  harbour/"+words+"  0.01s\n", 60) + "--- FAIL: TestBerth\n    berth_test.go:12: got 3 ships, want 4\nFAIL\n"
}

// harbour is what an agent of the fixture published: tool outputs, a duplicate, a conflict, and edits, one of them before
// its message.
func harbour(t *testing.T, b *broker.Broker) {
	t.Helper()
	say := func(thread string, bodies ...string) { put(t, b.Conn(), thread, bodies...) }
	say("thread.message.harbour", `{"message_id":"h1","role":"user","content":"Why does the berth test fail?","agent_id":"mate","parent_thread_id":"voyage"}`)
	say("tool.result.harbour", fmt.Sprintf(`{"message_id":"h2","tool_name":"bash","content":%q}`, testRun("dock")),
		fmt.Sprintf(`{"message_id":"h3","tool_name":"bash","content":%q}`, testRun("crane")),
		fmt.Sprintf(`{"message_id":"h3","tool_name":"bash","content":%q}`, testRun("crane")),  // a duplicate
		`{"message_id":"h3","tool_name":"bash","content":"another output under the same id"}`) // a conflict
	say("message.edited.harbour", fmt.Sprintf(`{"message_id":"h2","edit_id":"e1","content":%q}`, testRun("quay")),
		`{"message_id":"h9","edit_id":"e2","content":"It waits for its message."}`)
}

// voyage is a long talk, which is compacted.
func voyage(t *testing.T, b *broker.Broker) {
	t.Helper()
	for i := range 24 {
		put(t, b.Conn(), "thread.message.voyage", fmt.Sprintf(`{"message_id":"v%d","role":%q,"content":%q}`,
			i+1, []string{"user", "assistant"}[i%2], strings.Repeat(fmt.Sprintf("On leg %d the wind is north and the log says %d knots. ", i+1, i+5), 8)))
	}
}

// outing is a fork of the voyage, in the other partition: compactions of its are inherited, and one of its own follows.
func outing(t *testing.T, b *broker.Broker) {
	t.Helper()
	put(t, b.Conn(), "thread.forked.outing", `{"parent_thread_id":"voyage","at_message_id":"v20","fork_id":"f1"}`)
	put(t, b.Conn(), "thread.message.outing", `{"message_id":"v21","role":"user","content":"We turn to the islands."}`)
}

// makeFixture leaves a data directory and writes it to the fixture.
func makeFixture(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	work(t, dir, func(b *broker.Broker) { harbour(t, b) })
	work(t, dir, func(b *broker.Broker) { voyage(t, b) }) // the rows of the first are in tables now
	work(t, dir, func(b *broker.Broker) { outing(t, b) })
	var file bytes.Buffer
	z := zip.NewWriter(&file)
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || e.Name() == "OWNER" || e.Name() == "LOCK" || strings.HasSuffix(path, ".lock") {
			return err
		}
		data, err := os.ReadFile(filepath.Join(dir, path))
		if err != nil {
			return err
		}
		w, err := z.Create(path)
		if err == nil {
			_, err = w.Write(data)
		}
		return err
	})
	if err := errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(fixture, file.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// work runs a processor on a data directory until all is settled.
func work(t *testing.T, dir string, do func(*broker.Broker)) {
	t.Helper()
	b, err := broker.Open(t.Context(), broker.Options{StoreDir: processor.BrokerDir(dir), Sync: "2m", Logger: logger(t)})
	if err != nil {
		t.Fatal(err)
	}
	p := start(t, processor.Options{Config: fixtureSettings(dir), Logger: logger(t), Broker: b})
	do(b)
	if err := p.Settled(within(t)); err != nil {
		t.Fatal(err)
	}
	p.end()
	if err := b.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// unpacked is a copy of the fixture.
func unpacked(t *testing.T) string {
	t.Helper()
	z, err := zip.OpenReader(fixture)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := errors.Join(os.CopyFS(dir, z), z.Close()); err != nil {
		t.Fatal(err)
	}
	return dir
}

// held is what a store holds of a thread, as far as it is the same for every program of the format.
type held struct {
	Messages, ToolResults, Edits, Duplicates, Rejected, Waiting, Active, Stale, ChainSeq uint64
	Summaries                                                                            map[string]string // status by slot and version
	IDs                                                                                  map[string]string
}

func holds(t *testing.T, dir string) map[string]held {
	t.Helper()
	s, err := state.Open(processor.StoreDir(dir), state.Options{Logger: logger(t)})
	if err != nil {
		t.Fatalf("%v\nA new format has a new fixture: UPDATE_FIXTURE=1 go test ./internal/processor -run TestStoreFixture", err)
	}
	threads := map[string]held{}
	for id := range 2 {
		v := s.View(id)
		for h, err := range headers(v) {
			if err != nil {
				t.Fatal(err)
			}
			if h.Thread == "" {
				continue
			}
			of := held{
				h.Messages, h.ToolResults, h.Edits, h.Duplicates, h.Rejected, h.Waiting, h.SummariesActive, h.SummariesStale, h.ChainSeq,
				map[string]string{}, map[string]string{},
			}
			for sum, err := range summaries(v, h.Thread) {
				if err != nil {
					t.Fatal(err)
				}
				name := fmt.Sprintf("%s/%d", sum.Slot, sum.Version)
				of.Summaries[name], of.IDs[name] = string(sum.Status), sum.ID
			}
			threads[h.Thread] = of
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return threads
}

// A store that an earlier program of the format left is opened, holds what its agents published, and a processor goes
// on from it: nothing is made again, and what was open there comes to its end.
func TestStoreFixture(t *testing.T) {
	if os.Getenv("UPDATE_FIXTURE") != "" {
		makeFixture(t)
	}
	dir := unpacked(t)
	before := holds(t, dir)
	same(t, "harbour", before["harbour"], held{
		Messages: 1, ToolResults: 2, Edits: 1, Duplicates: 1, Rejected: 1, Waiting: 1, Active: 2, ChainSeq: 4,
		Summaries: map[string]string{"tool:h2/1": "replaced", "tool:h2/2": "active", "tool:h3/1": "active"},
	})
	voyage := before["voyage"]
	if voyage.Messages != 24 || voyage.Summaries["leaf:v1/1"] != string(thread.Active) || voyage.Summaries["current/1"] == "" {
		t.Errorf("voyage holds %+v", voyage)
	}
	work(t, dir, func(b *broker.Broker) {
		put(t, b.Conn(), "thread.message.harbour", `{"message_id":"h9","role":"user","content":"The edit that waits is of this."}`)
		put(t, b.Conn(), "tool.result.harbour", fmt.Sprintf(`{"message_id":"h2","tool_name":"bash","content":%q}`, testRun("dock")))
		put(t, b.Conn(), "message.edited.harbour", fmt.Sprintf(`{"message_id":"h3","edit_id":"e3","content":%q}`, testRun("pier")))
		put(t, b.Conn(), "message.edited.voyage", `{"message_id":"v2","edit_id":"e4","content":"Leg 2: the wind has turned."}`)
	})
	after := holds(t, dir)
	same(t, "harbour, gone on", after["harbour"], held{
		Messages: 2, ToolResults: 2, Edits: 3, Duplicates: 2, Rejected: 1, Active: 2, ChainSeq: 6,
		Summaries: map[string]string{"tool:h2/1": "replaced", "tool:h2/2": "active", "tool:h3/1": "replaced", "tool:h3/2": "active"},
	})
	for name, of := range before {
		for sum, id := range of.IDs {
			if after[name].IDs[sum] != id {
				t.Errorf("summary %s of %s was %s and is %q", sum, name, id, after[name].IDs[sum])
			}
		}
	}
	if got := after["voyage"].Summaries; got["leaf:v1/1"] != string(thread.Replaced) || got["leaf:v1/2"] != string(thread.Active) {
		t.Errorf("voyage, gone on, holds %v", got)
	}
	proved(t, dir)
}

func same(t *testing.T, what string, got, want held) {
	t.Helper()
	got.IDs = nil
	if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
		t.Errorf("%s holds\n%+v, want\n%+v", what, got, want)
	}
}

// proved holds the store against the streams beside it, row by row, and the chains against the log.
func proved(t *testing.T, dir string) {
	t.Helper()
	b := openBroker(t, processor.BrokerDir(dir))
	s, err := state.Open(processor.StoreDir(dir), state.Options{Logger: logger(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	_, err = audit.Compare(within(t), audit.Options{JetStream: b.JetStream(), Store: s, Logger: logger(t)}, func(p state.Problem) { t.Errorf("%+v", p) })
	if err != nil {
		t.Error(err)
	}
	for _, f := range replayed(t, b) {
		t.Errorf("%+v", f)
	}
	n := 0
	for _, m := range onRecord(t, b, "") {
		if strings.HasPrefix(m.Subject, string(events.SummaryCreated)+".harbour") {
			n++
		}
	}
	if n != 4 {
		t.Errorf("%d summaries of harbour are on record, want 4: none is made twice", n)
	}
}
