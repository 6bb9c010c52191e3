package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"precis/api"
	"precis/internal/broker"
)

func TestPublish(t *testing.T) {
	b := newServer(t)
	first := file(t, `{"type":"thread.message","thread_id":"a","message_id":"1","role":"user","content":"hi"}
{"thread_id":"a b","message_id":"2","content":"x","type":"tool.result"}

{"type":"message.edited","thread_id":"a","message_id":"1","content":"ho","extra":1.0}
`)
	got := command(t, b, `{"type":"thread.message","thread_id":"a","message_id":"3","role":"user","content":"from stdin"}`, "publish", first, "-")
	got.wants(t, exitDone, "4 events of 2 threads from 2 files published", "")
	want := []string{
		`thread.message.a {"thread_id":"a","message_id":"1","role":"user","content":"hi"}`,
		`tool.result.a=20b {"thread_id":"a b","message_id":"2","content":"x"}`,
		`message.edited.a {"thread_id":"a","message_id":"1","content":"ho","extra":1.0}`,
		`thread.message.a {"thread_id":"a","message_id":"3","role":"user","content":"from stdin"}`,
	}
	if events := stored(t, b, broker.StreamEvents); !slices.Equal(events, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(events, "\n"), strings.Join(want, "\n"))
	}
}

// Who is told to stop does not wait for a pipe that says nothing, and leaves nothing on the way.
func TestPublishStops(t *testing.T) {
	b := newServer(t)
	seen, err := b.Conn().SubscribeSync("tool.result.a")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("NATS_URL", b.URL())
	ctx, stop := context.WithCancel(t.Context())
	in, agent := io.Pipe()
	defer agent.Close()
	ended := make(chan outcome, 1)
	go func() {
		var stdout, stderr bytes.Buffer
		status := run(ctx, []string{"publish", "-"}, in, &stdout, &stderr)
		ended <- outcome{status: status, stdout: stdout.String(), stderr: stderr.String()}
	}()
	if _, err := io.WriteString(agent, `{"type":"tool.result","thread_id":"a","message_id":"1","content":"x"}`+"\n"); err != nil {
		t.Fatal(err)
	}
	waits, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	if _, err := seen.NextMsgWithContext(waits); err != nil {
		t.Fatal(err)
	}
	stop()
	select {
	case got := <-ended:
		got.wants(t, exitUnreachable, "1 event of 1 thread", "told to stop before the end of -")
	case <-waits.Done():
		t.Fatal("it waits for its input")
	}
}

func TestPublishTellsBrokenLines(t *testing.T) {
	b := newServer(t)
	name := file(t, `{"type":"thread.message","thread_id":"a","message_id":"1","role":"user","content":"hi"}
no JSON
{"type":"thread.message","message_id":"2","role":"user","content":"which thread?"}
{"type":"thread.created","thread_id":"a"}
{"type":"summary.sealed","thread_id":"a"}
{"type":"thread.message","thread_id":"a","message_id":"3","role":"user","content":"the rest goes on"}
`)
	got := command(t, b, "", "publish", name, "--json")
	got.wants(t, exitWrong, `{"files":1,"published":2,"skipped":0,"broken":4,"unsent":0,"rejected":null,"last_seq":2,"threads":1,"seconds":`, "4 lines could not be published")
	for _, place := range []string{name + ": line 2: ", name + ": line 3: ", name + ": line 4: ", name + ": line 5: "} {
		if !strings.Contains(got.stderr, place) {
			t.Errorf("%q is not told in\n%s", place, got.stderr)
		}
	}
	if events := stored(t, b, broker.StreamEvents); len(events) != 2 {
		t.Errorf("stored %q", events)
	}
}

// Events that are not valid are refused before they are sent, or sent as they are where that is asked for; with
// --wait what the processor rejects is reported with its line.
func TestPublishReportsRejections(t *testing.T) {
	p := startProcessor(t, t.TempDir())
	name := file(t, `{"type":"thread.message","thread_id":"a","message_id":"1","role":"user","content":"hi"}
{"type":"thread.message","thread_id":"a","message_id":"2","content":"no role"}
{"type":"thread.message","thread_id":"a","message_id":"1","role":"user","content":"another"}
{"type":"tool.result","thread_id":"b","message_id":"1","content":"x"}
`)
	p.do(t, "", "publish", name).wants(t, exitWrong, "3 events of 2 threads from 1 file published", name+": line 2: publish event: schema: role: required")
	got := p.do(t, "", "publish", name, "--wait", "--json")
	got.wants(t, exitWrong, `"broken":1,"unsent":0,"rejected":1,"last_seq":6,`, name+": line 3: rejected: message_conflict: ")
	got = p.do(t, "", "publish", name, "--wait", "--no-check")
	got.wants(t, exitWrong, "4 events of 2 threads from 1 file published", name+": line 2: rejected: schema: role: required")
	if !strings.Contains(got.stdout, ", the last as EVENTS 10, 2 events rejected, 2 events known already or without effect\n") || !strings.Contains(got.stderr, "line 3: rejected: message_conflict") {
		t.Errorf("got %q and %q", got.stdout, got.stderr)
	}
	p.do(t, `{"type":"tool.result","thread_id":"new","message_id":"1","content":"x"}`, "publish", "-", "--wait", "--json").
		wants(t, exitDone, `"rejected":0,"last_seq":11,`, "")
}

// Who publishes a file again learns that nothing of it is new, from a processor that answers.
func TestPublishTellsDuplicates(t *testing.T) {
	lines := `{"type":"thread.message","thread_id":"a","message_id":"1","role":"user","content":"hi"}
{"type":"tool.result","thread_id":"b","message_id":"1","content":"x"}
{"type":"message.edited","thread_id":"a","message_id":"1","edit_id":"e","content":"ho"}
`
	p := startProcessor(t, t.TempDir())
	name := file(t, lines)
	p.do(t, "", "publish", name, "--wait", "--json").wants(t, exitDone, `"duplicates":0}`, "")
	got := p.do(t, "", "publish", name, "--wait")
	got.wants(t, exitDone, ", the last as EVENTS 6, 3 events known already or without effect\n", "")
	more := file(t, lines+`{"type":"tool.result","thread_id":"b","message_id":"2","content":"x"}`)
	p.do(t, "", "publish", more, "--wait", "--json").wants(t, exitDone, `"duplicates":3}`, "")
	command(t, newServer(t), "", "publish", name, "--json").wants(t, exitDone, `"duplicates":null}`, "")
}

// What an earlier run published twice, and precis has not decided yet, does not count as this one's. It may be too much to wait for.
func TestPublishTellsNoDuplicatesOfABacklog(t *testing.T) {
	p := startProcessor(t, t.TempDir())
	line := func(thread, id, content string) string {
		return fmt.Sprintf(`{"type":"tool.result","thread_id":%q,"message_id":%q,"content":%q}`+"\n", thread, id, content)
	}
	var text strings.Builder
	for i := range 101 { // more threads than are asked about
		text.WriteString(line(fmt.Sprint("t", i), "1", "x"))
	}
	for i := range 100 { // takes longer to decide than to publish
		text.WriteString(line("t1", fmt.Sprint("long", i), strings.Repeat(fmt.Sprintf("%d ok shop/cart %x\n", i, i*i), 3000)))
	}
	for range 10 {
		text.WriteString(line("t1", "1", "x"))
	}
	p.do(t, text.String(), "publish", "-", "--json").wants(t, exitDone, `"duplicates":null}`, "")
	got := p.do(t, line("t1", "new", "x")+line("t1", "new2", "x")+line("t1", "1", "x"), "publish", "-", "--wait", "--json")
	if !strings.HasSuffix(got.stdout, `"duplicates":1}`+"\n") && !strings.HasSuffix(got.stdout, `"duplicates":null}`+"\n") {
		t.Errorf("got %s", got.stdout)
	}
	p.do(t, line("t1", "new", "x"), "publish", "-", "--wait", "--json").wants(t, exitDone, `"duplicates":1}`, "")
}

// The seconds are those of the publishing, not of a processor that does not answer.
func TestPublishTimesThePublishing(t *testing.T) {
	b := newServer(t)
	none := nats.NewMsg("")
	none.Header.Set(micro.ErrorCodeHeader, "404")
	_, err := b.Conn().Subscribe(api.ThreadGet+"*", func(m *nats.Msg) {
		if string(m.Data) == `{"min_event_seq":0}` { // the answers behind the first event never come
			_ = m.RespondMsg(none)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	got := command(t, b, `{"type":"thread.message","thread_id":"a","message_id":"1","role":"user","content":"hi"}`, "publish", "-", "--json")
	took := time.Since(begun)
	got.wants(t, exitDone, `"duplicates":null}`, "")
	var counts struct {
		Seconds float64 `json:"seconds"`
	}
	if err := json.Unmarshal([]byte(got.stdout), &counts); err != nil {
		t.Fatal(err)
	}
	if counts.Seconds == 0 || took.Seconds()-counts.Seconds < 1 {
		t.Errorf("%.1f s of %s", counts.Seconds, took)
	}
}

// What precis publishes itself stands in what tail --json writes, and is made again from the events: it is no fault
// of the file.
func TestPublishSkipsRecordsOfPrecis(t *testing.T) {
	b := newServer(t)
	lines := `{"type":"config.applied","partition":3}
{"type":"summary.created","thread_id":"a","id":"sum_1"}
{"type":"summary.invalidated","thread_id":"a","summary_id":"sum_1"}
{"type":"event.rejected","thread_id":null,"code":"schema"}
{"type":"event.rejected","code":"invalid_json"}
{"type":"thread.message","thread_id":"a","message_id":"1","role":"user","content":"hi"}
`
	command(t, b, lines, "publish", "-").wants(t, exitDone, "1 event of 1 thread from 1 file published", "")
	command(t, b, lines, "publish", "-", "--json").wants(t, exitDone, `"published":1,"skipped":5,"broken":0,`, "")
	if events := stored(t, b, broker.StreamEvents); len(events) != 2 {
		t.Errorf("stored %q", events)
	}
}

// Thousands of events over several threads stand in EVENTS in the order of the file.
func TestPublishKeepsOrder(t *testing.T) {
	b := newServer(t)
	var text strings.Builder
	var want []string
	for i := range 3000 {
		thread, data := string(rune('a'+i%7)), `{"content":"","message_id":"`+strings.Repeat("m", 1+i%50)+`"`
		text.WriteString(`{"type":"tool.result","thread_id":"` + thread + `",` + data[1:] + "}\n")
		want = append(want, `tool.result.`+thread+` {"thread_id":"`+thread+`",`+data[1:]+"}")
	}
	command(t, b, text.String(), "publish", "-").wants(t, exitDone, "3,000 events of 7 threads", "")
	if !slices.Equal(stored(t, b, broker.StreamEvents), want) {
		t.Error("the order is not the file's")
	}
}

func file(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "events.jsonl")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// A session becomes its thread: the processor accepts all of it, once, and answers with the prompt that continues it. What no event stands for is named.
func TestPublishSessions(t *testing.T) {
	p := startProcessor(t, t.TempDir())
	const claude, codex = "../../internal/sessions/testdata/claude-code.jsonl", "../../internal/sessions/testdata/codex.jsonl"
	got := p.do(t, "", "publish", "--format", "auto", "--wait", claude, codex)
	got.wants(t, exitDone, "29 events of 4 threads from 2 files published", "")
	for _, want := range []string{
		"\nthreads 5e551011-0000-4000-8000-000000000001, ", " and 2 more; see: processor thread --nats " + p.url + " 5e551011-0000-4000-8000-000000000001\n",
		"\nno event stands for: 2 × event_msg (1 × patch_apply_end, 1 × thread_rolled_back over more than the file has), 1 × assistant (1 × <synthetic>), 1 × compacted without a summary,",
		" 1 × system (1 × turn_duration), 1 × world_state; --json has the first line of each\n",
	} {
		if !strings.Contains(got.stdout, want) {
			t.Errorf("%q is not in %s", want, got.stdout)
		}
	}
	p.do(t, "", "publish", "--format", "claude-code", "--wait", "--json", claude).
		wants(t, exitDone, `"published":16,"skipped":0,"broken":0,"unsent":0,"rejected":0,`, "")
	p.do(t, "", "thread", "--json", "5e551011-0000-4000-8000-000000000001").wants(t, exitDone, `"messages":10,`, "")
	p.do(t, "", "context", "5e551011-0000-4000-8000-000000000001", "--max-tokens", "5000", "--format", "anthropic").
		wants(t, exitDone, `Mend it with integers.`, "")
	p.do(t, "", "context", "c0dec0de-0000-4000-8000-000000000002", "--max-tokens", "5000", "--format", "responses").
		wants(t, exitDone, `"call_id": "call_1"`, "")
}

// Publishing names its threads and how to go on with them, in a form that a shell takes.
func TestPublishNamesItsThreads(t *testing.T) {
	b := newServer(t)
	line := func(thread string) string {
		return fmt.Sprintf(`{"type":"thread.message","thread_id":%q,"message_id":"1","role":"user","content":"hi"}`+"\n", thread)
	}
	for lines, want := range map[string]string{
		line("a"):                  "\nthread a; see: processor thread a\n",
		line("it's b") + line("a"): "\nthreads it's b and a; see: processor thread 'it'\\''s b'\n",
		line("-x"):                 "\nthread -x; see: processor thread -- '-x'\n",
		line("a\nb"):               "\nthread a b; see: processor threads\n",
		line("c") + line("a") + line("b") + line("a"): "\nthreads c, a and b; see: processor thread c\n",
		line("a") + line("b") + line("c") + line("d"): "\nthreads a, b and 2 more; see: processor thread a\n",
	} {
		if got := command(t, b, lines, "publish", "-"); !strings.Contains(got.stdout, want) {
			t.Errorf("%q is not in %q", want, got.stdout)
		}
	}
	for _, args := range [][]string{{"thread", "--", "-x"}, {"threads"}} { // both are commands, also where nothing answers
		if got := command(t, b, "", args...); got.status == exitUsage {
			t.Errorf("%q: %s", args, got.stderr)
		}
	}
	if got := command(t, b, "", "publish", "-"); strings.Contains(got.stdout, "see:") {
		t.Errorf("got %q", got.stdout)
	}
	program(t, line("a"), "publish", "--dry-run", "-").wants(t, exitDone, "", "to be published, read in 0.0s\nthread a\n")
}

// A file of another format than the one that is named publishes nothing, and says which it is.
func TestPublishOtherFormat(t *testing.T) {
	b := newServer(t)
	const claude = "../../internal/sessions/testdata/claude-code.jsonl"
	command(t, b, "", "publish", "--format", "codex", claude).wants(t, exitWrong, "", claude+": line 1: this is a session of claude-code, not of codex: use --format claude-code or --format auto")
	command(t, b, "", "publish", claude).wants(t, exitWrong, "0 events of 0 threads", "no line is an event; for an agent's session use --format auto")
	if s, err := b.JetStream().Stream(t.Context(), broker.StreamEvents); err != nil || s.CachedInfo().State.Msgs != 0 {
		t.Errorf("stored something, or %v", err)
	}
}

// A dry run needs no server, and writes an event file.
func TestPublishDryRun(t *testing.T) {
	const codex = "../../internal/sessions/testdata/codex.jsonl"
	got := program(t, "", "publish", "--dry-run", "--format", "auto", codex, "--agent", "mine", "--thread", "t")
	got.wants(t, exitDone, `{"type":"thread.message","thread_id":"t","agent_id":"mine",`, "13 events of 1 thread from 1 file to be published")
	again := program(t, got.stdout, "publish", "--dry-run", "-")
	if again.status != exitDone || again.stdout != got.stdout {
		t.Errorf("the event file is not one: %+v", again)
	}
	program(t, "", "publish", "--dry-run", "--json", "--format", "codex", codex).wants(t, exitDone, `"dry_run":true,"unmapped":[{"kind":"compacted without a summary","count":1,"line":28,"file":`, "")
	// A file that can't be read keeps none of the others out. One in which nothing was said yet can be read.
	odd, nothing, damaged := filepath.Join(t.TempDir(), "odd.json"), filepath.Join(t.TempDir(), "nothing.json"), filepath.Join(t.TempDir(), "damaged.gz")
	for name, text := range map[string]string{odd: "{}", nothing: " \n", damaged: "\x1f\x8bxx"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	rest := program(t, "", "publish", "--dry-run", "--format", "auto", odd, nothing, damaged, codex, "--agent", "mine", "--thread", "t")
	rest.wants(t, exitWrong, "", "2 files could not be read")
	if rest.stdout != got.stdout || !strings.Contains(rest.stderr, "odd.json: the format can't be told") || !strings.Contains(rest.stderr, "damaged.gz: open gzip") {
		t.Errorf("%+v", rest)
	}
	program(t, "", "publish", "--dry-run", "--format", "auto", nothing).wants(t, exitDone, "", "0 events of 0 threads from 1 file")
	program(t, "", "publish", "--dry-run", "--format", "auto", damaged).wants(t, exitWrong, "", "damaged.gz: open gzip")
	program(t, "{}", "publish", "--dry-run", "--format", "auto", "-").wants(t, exitUsage, "", "the format can't be told; name it with --format")
	program(t, "", "publish", "--thread", "t", codex).wants(t, exitUsage, "", "--thread and --agent go with --format")
	program(t, "", "publish", "--dry-run", "--wait", codex).wants(t, exitUsage, "", "--dry-run goes without --wait")
}
