package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"precis/internal/audit"
)

func TestReplayAndAudit(t *testing.T) {
	dir := t.TempDir()
	p := startProcessor(t, dir)
	p.do(t, sampleThread(), "publish", "-").wants(t, exitDone, "7 events", "")
	p.awaits(t, "summary.invalidated", 1)

	p.do(t, "", "replay").wants(t, exitDone, "No discrepancies: the log proves everything on record.", "")
	p.do(t, "", "replay", "--thread", "t 1", "--no-rules").wants(t, exitDone, "of 1 thread", "")
	p.do(t, "", "replay", "--agent", "nobody").wants(t, exitWrong, "Nothing in the log matches", `the log has no thread started by agent "nobody"`)
	p.do(t, "", "replay", "--policy-name", "none", "--json").wants(t, exitWrong, `"findings":[]`, "the log has no decision of policy")
	p.do(t, "", "replay", "--policy-name", "default").wants(t, exitDone, "No discrepancies", "")
	p.do(t, "", "replay", "--thread", "t 1", "--from", "2099-01-01").wants(t, exitDone, "Nothing in the log matches", "")
	for _, want := range []string{
		"ALL MESSAGES  WITH PRECIS", "TOTAL", "turns     1 turn for which no reported usage tells which prompt was sent: if precis's, ",
		"usage     no message reports what its provider counted", "in no amount: their messages name no model, or one without a known price",
	} {
		p.do(t, "", "savings").wants(t, exitDone, want, "")
	}
	p.do(t, "", "savings", "--by", "model", "--model", "gpt-4.1").wants(t, exitDone, "MODEL", "")
	p.do(t, "", "savings", "--json", "--cache", "0s").wants(t, exitDone, `"by":"thread"`, "")
	p.do(t, "", "savings", "--agent", "nobody").wants(t, exitWrong, "No turn of an assistant.", `the log has no turn of a thread started by agent "nobody"`)
	p.do(t, "", "savings", "--model", "model-without-price").wants(t, exitUsage, "", "--model model-without-price: no price is known for it")
	p.do(t, "", "savings", "--cache=-1s").wants(t, exitUsage, "", "--cache -1s: give a duration")
	p.do(t, "", "savings", "--by", "year").wants(t, exitUsage, "", "--by must be one of")
	p.do(t, "", "savings", "--by", "day", "--model", "gpt-4.1").wants(t, exitDone, "DAY\n", "")
	p.do(t, "", "replay", "--from", "2099-01-01").wants(t, exitDone, "Nothing in the log matches", "")
	p.do(t, "", "replay", "--from", "2026-01-02", "--to", "2026-01-01").wants(t, exitUsage, "", "--from 2026-01-02 is later than --to 2026-01-01")
	var rep audit.Report
	if err := json.Unmarshal([]byte(p.do(t, "", "replay", "--json").stdout), &rep); err != nil {
		t.Fatal(err)
	}
	if rep.Log.Read != 7 || rep.Events["rejected"] != 1 || rep.Events["duplicate"] != 1 || len(rep.Findings) != 0 {
		t.Errorf("%+v", rep)
	}

	file := filepath.Join(t.TempDir(), "other.yaml")
	if err := os.WriteFile(file, []byte("policies: [{name: default, mode: llm, tool_output: {over_chars: 100}}]"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.do(t, "", "replay", "--policy", file).wants(t, exitDone, "1 (1 llm)", "")
	p.do(t, "", "replay", "--policy", file, "--model", "gpt-4.1").wants(t, exitDone, "less changed prefixes", "")
	p.do(t, "", "replay", "--policy", file, "--json").wants(t, exitDone, `"model_calls":1`, "")

	p.do(t, "", "audit", "t 1").wants(t, exitDone, "tool.result  m3 · grep", "")
	p.do(t, "", "audit", "t 1").wants(t, exitDone, "└ summary.invalidated  tool_result · source_edited by m3", "")
	p.do(t, "", "audit", "t 1", "--at", "5").wants(t, exitDone, "THE CONTEXT AT EVENT 5", "")
	p.do(t, "", "audit", "t 1", "--at", "2099-01-01", "--format", "openai", "--json").wants(t, exitDone, `"tool_call_id":"c1"`, "")
	p.do(t, "", "audit", "t 2").wants(t, exitWrong, "", `no thread "t 2"`)
	p.do(t, "", "audit", "t 1", "--at", "2001-01-01").wants(t, exitWrong, "", `no event of the thread had come by then: "t 1" begins with event 1, of 2`)
	p.do(t, "", "audit", "t 1", "--max-tokens", "100").wants(t, exitUsage, "", "--max-tokens and --format go with --at")
	p.do(t, "", "audit", "t 1", "--at", "soon").wants(t, exitUsage, "", "--at \"soon\" is not a time")

	page := filepath.Join(t.TempDir(), "t1.html")
	p.do(t, "", "audit", "t 1", "--html", page).wants(t, exitDone, "", "open it in a browser")
	if err := os.Remove(page); err != nil {
		t.Fatal(err)
	}
	p.do(t, "", "audit", "t 1", "--html", page, "--json").wants(t, exitDone, `"findings":[]`, "open it in a browser")
	text, err := os.ReadFile(page)
	if err != nil || !strings.Contains(string(text), "find all handlers") {
		t.Errorf("the page: %v", err)
	}

	if status := p.stop(); status != exitDone {
		t.Fatalf("the processor ended with %d", status)
	}
	program(t, "", "replay", "--data", dir).wants(t, exitDone, "compared with the log", "")
	// A server that is named is asked, also where it is the one that is asked otherwise.
	program(t, "", "replay", "--data", dir, "--nats", "nats://127.0.0.1:4222", "--tlsca", "audit_test.go").wants(t, exitUnreachable, "", "connect to nats://127.0.0.1:4222")
	program(t, "", "replay", "--data", t.TempDir()).wants(t, exitUsage, "", "give the directory that the processor ran with")
}

// A record that somebody removed is found, named, and told with status 1.
func TestReplayFinds(t *testing.T) {
	p := startProcessor(t, t.TempDir())
	p.do(t, sampleThread(), "publish", "-").wants(t, exitDone, "7 events", "")
	p.awaits(t, "summary.invalidated", 1)
	p.remove(t, "SUMMARIES", 35) // behind 17 partitions' partition.claimed and config.applied
	got := p.do(t, "", "replay")
	got.wants(t, exitWrong, "summaries_unbroken", "discrepancies: the log contradicts the records")
	got.wants(t, exitWrong, "chain", "")
	p.do(t, "", "audit", "t 1").wants(t, exitWrong, "chain", "discrepancies")

	var rep struct {
		Findings []map[string]any `json:"findings"`
	}
	if err := json.Unmarshal([]byte(p.do(t, "", "replay", "--json").stdout), &rep); err != nil || len(rep.Findings) == 0 {
		t.Fatalf("%v: %+v", err, rep)
	}
	want := []string{"check", "event_seq", "got", "summary", "thread", "want"}
	for _, f := range rep.Findings {
		if got := slices.Sorted(maps.Keys(f)); !slices.Equal(got, want) {
			t.Errorf("a finding has %v", got)
		}
	}
	p.do(t, "", "replay", "--thread", "t 2").wants(t, exitWrong, "Nothing in the log matches", `the log has no thread "t 2"`)
	p.do(t, "", "replay", "--to", "2001-01-01", "--thread", "t 1").wants(t, exitWrong, "Nothing in the log matches", "up to 2001-01-01")
}

// remove takes a message out of a stream.
func (r running) remove(t *testing.T, stream string, seq uint64) {
	t.Helper()
	nc, err := nats.Connect(r.url)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	s, err := js.Stream(t.Context(), stream)
	if err == nil {
		err = s.DeleteMsg(t.Context(), seq)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// An imported session was held at other times than it was stored: both are told. That a file is published twice is no more events.
func TestAuditTellsWhenMessagesWereWritten(t *testing.T) {
	p := startProcessor(t, t.TempDir())
	lines := `{"type":"thread.message","thread_id":"old","message_id":"1","role":"user","content":"hi","created_at":"2020-01-02T03:04:05Z"}
{"type":"tool.result","thread_id":"old","message_id":"2","content":"x","created_at":"2020-01-02T03:04:06Z"}
{"type":"message.edited","thread_id":"old","message_id":"1","content":"ho","created_at":"2020-01-02T03:05:00Z"}
{"type":"thread.message","thread_id":"old","message_id":"3","role":"assistant","content":"now","created_at":"` + time.Now().UTC().Format(time.RFC3339) + `"}
`
	p.do(t, lines, "publish", "-", "--wait").wants(t, exitDone, "", "")
	got := p.do(t, "", "audit", "old")
	for _, want := range []string{
		"Z  thread.message, written 2020-01-02 03:04:05Z  ", "Z  tool.result, written 2020-01-02 03:04:06Z  ", "Z  message.edited, written 2020-01-02 03:05:00Z  ", "Z  thread.message  ",
	} {
		if !strings.Contains(got.stdout, want) {
			t.Errorf("%q is not in %s", want, got.stdout)
		}
	}
	p.do(t, "", "audit", "old", "--json").wants(t, exitDone, `"created_at":"2020-01-02T03:04:05Z"`, "")
	page := filepath.Join(t.TempDir(), "page.html")
	p.do(t, "", "audit", "old", "--html", page).wants(t, exitDone, "", "")
	html, err := os.ReadFile(page)
	if err != nil || strings.Count(string(html), "· written <time") != 3 || !strings.Contains(string(html), `<time datetime="2020-01-02T03:04:05Z">2020-01-02 03:04:05</time>`) {
		t.Errorf("%v, or the page lacks the times: %s", err, html)
	}
	once := p.do(t, "", "savings", "--thread", "old").stdout
	p.do(t, lines, "publish", "-", "--wait").wants(t, exitDone, "4 events known already", "")
	twice := p.do(t, "", "savings", "--thread", "old").stdout
	head := func(text string) string { before, _, _ := strings.Cut(text, " ("); return before }
	if head(once) != "1 thread" || head(twice) != head(once) {
		t.Errorf("savings says %q, and of the file published twice %q", head(once), head(twice))
	}
}
