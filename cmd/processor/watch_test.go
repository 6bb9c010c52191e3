package main

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"golang.org/x/sys/unix"

	"precis/internal/broker"
	session "precis/internal/watch"
)

const (
	claudeSample = "../../internal/sessions/testdata/claude-code.jsonl"
	codexSample  = "../../internal/sessions/testdata/codex.jsonl"
)

// watched is a watcher that the program runs.
type watched struct {
	out   lines
	notes lines
	stop  func() int
}

func startWatch(t *testing.T, args ...string) watched {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	out, stdout := newLines(t)
	notes, stderr := newLines(t)
	status := make(chan int, 1)
	go func() {
		status <- run(ctx, append([]string{"watch", "--json", "--state", filepath.Join(t.TempDir(), "state.json")}, args...), strings.NewReader(""), stdout, stderr)
	}()
	stopped := false
	w := watched{out: out, notes: notes, stop: func() int {
		if stopped {
			return exitDone
		}
		stopped = true
		cancel()
		return <-status
	}}
	t.Cleanup(func() { w.stop() })
	return w
}

// total waits until so many events are published.
func (w watched) total(t *testing.T, n int) {
	t.Helper()
	for sum := 0; sum < n; {
		var p session.Progress
		if err := json.Unmarshal([]byte(w.out.next(t)), &p); err != nil {
			t.Fatal(err)
		}
		sum += p.New
	}
}

// noted waits until a person is told something.
func (w watched) noted(t *testing.T, what string) {
	t.Helper()
	for !strings.Contains(w.notes.next(t), what) {
	}
}

func sampleFile(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// grow appends to a file as an agent does.
func grow(t *testing.T, name string, text []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// quiet makes a file one that was last written a minute ago.
func quiet(t *testing.T, name string) {
	t.Helper()
	if err := os.Chtimes(name, time.Now(), time.Now().Add(-2*session.Quiet)); err != nil {
		t.Fatal(err)
	}
}

// wholeOf is what publishing the whole file stores.
func wholeOf(t *testing.T, format, name string) []string {
	t.Helper()
	b := newServer(t)
	command(t, b, "", "publish", "--format", format, name)
	return stored(t, b, broker.StreamEvents)
}

// sameEvents compares what is stored with the events of a file, each at least once.
func sameEvents(t *testing.T, got, want []string) {
	t.Helper()
	once := slices.Compact(slices.Sorted(slices.Values(got)))
	if !slices.Equal(once, slices.Compact(slices.Sorted(slices.Values(want)))) {
		t.Errorf("stored\n%s\nwant\n%s", strings.Join(once, "\n"), strings.Join(want, "\n"))
	}
}

// A session is published while it grows, in pieces that end anywhere, with its answers whole. What waits for a further line follows when the
// file has been quiet; a later run publishes nothing again.
func TestWatchFollowsAFileThatGrows(t *testing.T) {
	b := newServer(t)
	dir, state := t.TempDir(), filepath.Join(t.TempDir(), "cache", "state.json")
	name := filepath.Join(dir, "project", "5e551011-0000-4000-8000-000000000001.jsonl")
	w := startWatch(t, "claude-code", dir, "--nats", b.URL(), "--state", state)
	w.noted(t, "following "+dir)
	text := sampleFile(t, claudeSample)
	for piece := range slices.Chunk(text, 700) {
		grow(t, name, piece)
	}
	w.total(t, 14)
	if status := w.stop(); status != exitDone {
		t.Fatal(status)
	}
	want := wholeOf(t, "claude-code", claudeSample)
	got := stored(t, b, broker.StreamEvents)
	if !slices.Equal(got, want[:14]) {
		t.Fatalf("stored\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want[:14], "\n"))
	}
	quiet(t, name)
	for _, n := range []string{"2 events of 2 threads from 1 file, 0 broken lines", "0 events of 0 threads"} {
		program(t, "", "watch", "claude-code", dir, "--nats", b.URL(), "--state", state, "--until-caught-up").wants(t, exitDone, "", n)
	}
	if got := stored(t, b, broker.StreamEvents); !slices.Equal(got, want) {
		t.Errorf("stored\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	grow(t, name, []byte(strings.Repeat(" ", 3)+"\n"+`{"type":"user","sessionId":"s","uuid":"late","parentUuid":"a6","message":{"role":"user","content":"Thanks."}}`+"\n"))
	program(t, "", "watch", "claude-code", dir, "--nats", b.URL(), "--state", state, "--until-caught-up").
		wants(t, exitWrong, "+1, 1 in all  project/5e551011", "line 23: is not valid JSON")
}

// Wherever a run ends, the next one goes on: nothing is missing, and no message has two contents.
func TestWatchGoesOnAnywhere(t *testing.T) {
	for format, from := range map[string]string{"claude-code": claudeSample, "codex": codexSample} {
		t.Run(format, func(t *testing.T) {
			seed := rand.Uint64()
			random := rand.New(rand.NewPCG(seed, 0))
			b := newServer(t)
			dir, state := t.TempDir(), filepath.Join(t.TempDir(), "state.json")
			name := filepath.Join(dir, "2026", "01", "rollout-x.jsonl")
			text := sampleFile(t, from)
			for rest := text; len(rest) > 0; {
				n := min(1+random.IntN(len(text)/6), len(rest))
				grow(t, name, rest[:n])
				rest = rest[n:]
				if random.IntN(6) == 0 {
					if err := os.Remove(state); err != nil && !os.IsNotExist(err) {
						t.Fatal(err)
					}
				}
				program(t, "", "watch", format, dir, "--nats", b.URL(), "--state", state, "--until-caught-up").wants(t, exitDone, "", "")
			}
			quiet(t, name)
			program(t, "", "watch", format, dir, "--nats", b.URL(), "--state", state, "--until-caught-up").wants(t, exitDone, "", "")
			sameEvents(t, stored(t, b, broker.StreamEvents), wholeOf(t, format, name))
			if t.Failed() {
				t.Logf("seed %d", seed)
			}
		})
	}
}

// A file that shrinks or is replaced is read from its beginning, and so is every file where the server's log is another one.
func TestWatchReadsOtherFilesAgain(t *testing.T) {
	b := newServer(t)
	dir, state := t.TempDir(), filepath.Join(t.TempDir(), "state.json")
	name := filepath.Join(dir, "s.jsonl")
	line := func(id, more string) []byte {
		return []byte(`{"type":"user","sessionId":"s","uuid":"` + id + `","message":{"role":"user","content":"` + more + `"}}` + "\n")
	}
	once := func(b *broker.Broker, note string) {
		t.Helper()
		program(t, "", "watch", "claude-code", dir, "--nats", b.URL(), "--state", state, "--until-caught-up").wants(t, exitDone, "", note)
	}
	grow(t, name, bytes.Join([][]byte{line("1", "x"), line("2", "x"), line("3", "x")}, nil))
	once(b, "3 events of 1 thread")
	if err := os.Truncate(name, int64(len(line("1", "x")))); err != nil {
		t.Fatal(err)
	}
	once(b, "shorter than before: reading it from the beginning")
	grow(t, name, line("4", "x"))
	once(b, "1 event of 1 thread")
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	grow(t, name, bytes.Join([][]byte{line("5", "y"), line("6", strings.Repeat("y", 2000))}, nil))
	once(b, "is another file")
	once(b, "0 events")
	once(newServer(t), "2 events of 1 thread")
	if got := len(stored(t, b, broker.StreamEvents)); got != 7 {
		t.Errorf("%d events are stored", got)
	}
}

// It waits for the server, at the start and later, and loses nothing.
func TestWatchWaitsForTheServer(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	dir, data := t.TempDir(), t.TempDir()
	name := filepath.Join(dir, "rollout-1.jsonl")
	text := bytes.SplitAfter(sampleFile(t, codexSample), []byte("\n"))
	w := startWatch(t, "codex", dir, "--nats", "nats://"+address)
	w.noted(t, "waiting; \"processor run\" in another terminal starts one")
	grow(t, name, bytes.Join(text[:12], nil))
	p := startProcessorAt(t, data, address)
	w.total(t, 3)
	if status := p.stop(); status != exitDone {
		t.Fatal(status)
	}
	w.noted(t, "connection lost")
	grow(t, name, bytes.Join(text[12:], nil))
	w.total(t, 10)
	p = startProcessorAt(t, data, address)
	w.noted(t, "connected again")
	const thread = "c0dec0de-0000-4000-8000-000000000002"
	for ctx, end := context.WithTimeout(t.Context(), testTimeout); ; {
		if got := p.do(t, "", "thread", "--json", thread); strings.Contains(got.stdout, `"messages":10,"tool_results":2,"edits":1,`) {
			end()
			break
		} else if ctx.Err() != nil {
			end()
			t.Fatalf("%+v", got)
		}
	}
}

// An agent that was never used here is waited for.
func TestWatchWaitsForTheFirstSession(t *testing.T) {
	b, home := newServer(t), t.TempDir()
	t.Setenv("CODEX_HOME", home)
	w := startWatch(t, "codex", "--nats", b.URL())
	w.noted(t, "waiting for its first")
	// A directory that comes whole, as one that is moved does.
	first := filepath.Join(t.TempDir(), "sessions")
	if err := os.Mkdir(first, 0o700); err != nil {
		t.Fatal(err)
	}
	grow(t, filepath.Join(first, "rollout-1.jsonl"), sampleFile(t, codexSample))
	if err := os.Rename(first, filepath.Join(home, "sessions")); err != nil {
		t.Fatal(err)
	}
	w.total(t, 13)
	if status := w.stop(); status != exitDone {
		t.Fatal(status)
	}
}

// Old sessions wait until they change; other files are none.
func TestWatchTakesWhatIsNew(t *testing.T) {
	b := newServer(t)
	dir := t.TempDir()
	old := filepath.Join(dir, "rollout-old.jsonl")
	grow(t, old, sampleFile(t, codexSample))
	grow(t, filepath.Join(dir, "other.jsonl"), sampleFile(t, codexSample))
	if err := os.Chtimes(old, time.Now(), time.Now().Add(-48*time.Hour)); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(unix.Mkfifo(filepath.Join(dir, "rollout-0-pipe.jsonl"), 0o600), os.Symlink("/dev/zero", filepath.Join(dir, "rollout-0-zero.jsonl"))); err != nil {
		t.Fatal(err)
	}
	once := func(says string, args ...string) {
		t.Helper()
		program(t, "", append([]string{"watch", "codex", dir, "--nats", b.URL(), "--until-caught-up", "--state", filepath.Join(t.TempDir(), "s")}, args...)...).
			wants(t, exitDone, "", says)
	}
	once("0 events of 0 threads from 0 files")
	once("13 events of 1 thread from 1 file", "--since", "50h")
	w := startWatch(t, "codex", dir, "--nats", b.URL())
	w.noted(t, "following")
	grow(t, old, []byte("{}\n"))
	w.total(t, 13)
}

// A file whose name is not UTF-8 is followed, and keeps no other from being remembered.
func TestWatchAnyName(t *testing.T) {
	b := newServer(t)
	dir, state := t.TempDir(), filepath.Join(t.TempDir(), "s")
	grow(t, filepath.Join(dir, "rollout-a.jsonl"), sampleFile(t, codexSample))
	grow(t, filepath.Join(dir, "rollout-\xff.jsonl"), bytes.ReplaceAll(sampleFile(t, codexSample), []byte("c0dec0de"), []byte("c0dec0df")))
	for _, says := range []string{"26 events of 2 threads from 2 files", "13 events of 1 thread from 2 files"} {
		program(t, "", "watch", "codex", dir, "--nats", b.URL(), "--until-caught-up", "--state", state).wants(t, exitDone, "", says)
	}
}

func TestWatchIsToldWhatItNeeds(t *testing.T) {
	t.Setenv("CODEX_HOME", t.TempDir())
	program(t, "", "watch", "codex", "--until-caught-up").wants(t, exitUsage, "", "codex has kept no sessions here")
	program(t, "", "watch", "aider").wants(t, exitUsage, "", "claude-code")
	program(t, "", "watch", "codex", t.TempDir(), "--since=-1h").wants(t, exitUsage, "", "--since -1h0m0s")
}
