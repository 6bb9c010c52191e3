package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
)

// running is a processor that the program runs, and where it listens.
type running struct {
	url  string
	stop func() int
}

// startProcessor runs the program without a command, on ports of its own, until the test ends.
func startProcessor(t *testing.T, dir string) running {
	t.Helper()
	return startProcessorAt(t, dir, "127.0.0.1:0")
}

func startProcessorAt(t *testing.T, dir, nats string) running {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	logs, stderr := newLines(t)
	status := make(chan int, 1)
	go func() {
		status <- run(ctx, []string{"--data", dir, "--nats-listen", nats, "--http", "", "--api", "", "--log-format", "json"}, strings.NewReader(""), io.Discard, stderr)
	}()
	stopped := false
	r := running{stop: func() int {
		if stopped {
			return exitDone
		}
		stopped = true
		cancel()
		return <-status
	}}
	t.Cleanup(func() { r.stop() })
	var line struct {
		Message string `json:"message"`
		NATS    string `json:"nats"`
	}
	for line.Message != "running" {
		if err := json.Unmarshal([]byte(logs.next(t)), &line); err != nil {
			t.Fatal(err)
		}
	}
	r.url = line.NATS
	for r.do(t, "", "thread", "none").status == exitUnreachable { // it runs before it has caught up
	}
	return r
}

// do runs a command against the processor.
func (r running) do(t *testing.T, stdin string, args ...string) outcome {
	t.Helper()
	return program(t, stdin, append(args, "--nats", r.url)...)
}

// awaits follows the streams from their start until a line of one type has come n times.
func (r running) awaits(t *testing.T, typ string, n int) string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	out, stdout := newLines(t)
	status := make(chan int, 1)
	go func() {
		status <- run(ctx, []string{"tail", "--json", "--from", "start", "--type", typ, "--nats", r.url}, strings.NewReader(""), stdout, io.Discard)
	}()
	line := ""
	for range n {
		line = out.next(t)
	}
	cancel()
	<-status
	return line
}

// A thread with everything in it: a summary, edits, a duplicate, a conflict, an edit of nothing.
func sampleThread() string {
	var output strings.Builder
	for i := range 120 {
		fmt.Fprintf(&output, "src/file_%03d.go:%d: func handler%d(w http.ResponseWriter)\\n", i, i, i)
	}
	return `{"type":"thread.message","thread_id":"t 1","message_id":"m1","role":"user","content":"find the handlers"}
{"type":"thread.message","thread_id":"t 1","message_id":"m1","role":"user","content":"find the handlers"}
{"type":"thread.message","thread_id":"t 1","message_id":"m1","role":"user","content":"something else"}
{"type":"thread.message","thread_id":"t 1","message_id":"m2","role":"assistant","content":null,"tool_calls":[{"id":"c1","name":"grep","arguments":{"pattern":"handler"}}]}
{"type":"tool.result","thread_id":"t 1","message_id":"m3","tool_call_id":"c1","tool_name":"grep","arguments":{"pattern":"handler"},"content":"` + output.String() + `"}
{"type":"message.edited","thread_id":"t 1","message_id":"m1","content":"find all handlers"}
{"type":"message.edited","thread_id":"t 1","message_id":"m3","content":"nothing found","edit_id":"e1"}
`
}

func TestTheWholeWay(t *testing.T) {
	p := startProcessor(t, t.TempDir())
	p.do(t, sampleThread(), "publish", "-").wants(t, exitDone, "7 events of 1 thread", "")
	p.awaits(t, "summary.invalidated", 1)

	var record struct {
		ID string `json:"id"`
	}
	created := p.awaits(t, "summary.created", 1)
	if err := json.Unmarshal([]byte(created), &record); err != nil {
		t.Fatal(err)
	}
	p.do(t, "", "summary", record.ID).wants(t, exitDone, "source_edited by m3", "")
	p.do(t, "", "summary", "sum_none").wants(t, exitWrong, "", "sum_none")

	p.do(t, "", "thread", "t 1").wants(t, exitDone, "2 messages, 1 tool result, 2 edits\nNot counted  1 duplicate, 1 rejected", "")
	p.do(t, "", "thread", "t 2").wants(t, exitWrong, "", "t 2")

	p.do(t, "", "message", "t 1", "m3").wants(t, exitDone, "nothing found\n", "")
	p.do(t, "", "message", "t 1", "m3", "--revision", "0", "--lines", "2-3").wants(t, exitDone, "src/file_001.go:1: func handler1(w http.ResponseWriter)\nsrc/file_002.go", "")
	p.do(t, "", "message", "t 1", "m3", "--revision", "9").wants(t, exitWrong, "", "no revision 9")

	p.do(t, "", "rejected").wants(t, exitDone, "message_conflict", "1 rejected")
	p.do(t, "", "rejected", "--retry", "1").wants(t, exitDone, "now EVENTS 8", "")
	p.awaits(t, "event.rejected", 2)
	if status := p.stop(); status != exitDone {
		t.Errorf("told to stop, the processor ended with %d", status)
	}
}

// What export writes gives the same thread in an empty server.
func TestExportedThreadIsTheSame(t *testing.T) {
	first := startProcessor(t, t.TempDir())
	first.do(t, sampleThread(), "publish", "-").wants(t, exitDone, "", "")
	first.awaits(t, "summary.invalidated", 1)
	exported := first.do(t, "", "export", "t 1")
	exported.wants(t, exitDone, "", "7 events, 0 left out")

	second := startProcessor(t, t.TempDir())
	second.do(t, exported.stdout, "publish", "-").wants(t, exitDone, "7 events", "")
	second.awaits(t, "summary.invalidated", 1)
	want, got := first.counters(t), second.counters(t)
	if want != got {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// counters is what of a thread does not depend on where its log stands.
func (r running) counters(t *testing.T) string {
	t.Helper()
	table := r.do(t, "", "thread", "t 1").stdout
	counters, _, _ := strings.Cut(table, "Log ")
	return counters
}

func TestRunRefuses(t *testing.T) {
	dir := t.TempDir()
	p := startProcessor(t, dir)
	address := strings.TrimPrefix(p.url, "nats://")
	program(t, "", "run", "--data", t.TempDir(), "--nats-listen", address, "--http", "", "--api", "").wants(t, exitUnreachable, "", address)
	program(t, "", "run", "--data", dir, "--nats-listen", "127.0.0.1:0", "--http", "", "--api", "").wants(t, exitUnreachable, "", dir)
	program(t, "", "run", "--data", t.TempDir(), "--nats-listen", "127.0.0.1:0", "--http", address, "--api", "").wants(t, exitUnreachable, "", address)
	program(t, "", "run", "--data", t.TempDir(), "--nats-listen", "127.0.0.1:0", "--http", "", "--api", address).wants(t, exitUnreachable, "", "--api")
	program(t, "", "run", "--data", t.TempDir(), "--nats", "nats://127.0.0.1:1", "--http", "", "--api", "").wants(t, exitUnreachable, "", "127.0.0.1:1")
	empty := newBareServer(t)
	program(t, "", "run", "--data", t.TempDir(), "--nats", empty.URL(), "--http", "", "--api", "", "--no-provision").wants(t, exitUnreachable, "", "EVENTS")
}
