package main

import (
	"bytes"
	"context"
	"io"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"precis/cmd/processor/console"
	"precis/cmd/processor/remote"
	"precis/events"
	"precis/internal/broker"
)

// A log as a processor would leave it, in the order in which it came to be.
func fill(t *testing.T, b *broker.Broker) {
	t.Helper()
	for _, event := range [][2]string{
		{"thread.message.t1", `{"message_id":"m1","role":"user","content":"fix\nthe test"}`},
		{"thread.message.t1", `{"message_id":"m2","role":"assistant","content":null,"tool_calls":[{"id":"c1","name":"bash","arguments":{}}]}`},
		{"tool.result.t1", `{"message_id":"m3","tool_call_id":"c1","tool_name":"bash","content":"boom \u001b[2J","exit_code":1}`},
		{"summary.created.t1", `{"thread_id":"t1","id":"sum_1","kind":"tool_result","slot":"tool:m3","token_count_before":4120,"token_count_after":310,"method":"rules","tool_summary":{"tool_name":"bash"},"trigger":{"reason":"tool_output_chars","threshold":1500,"value":15234},"cost":{"amount_microusd":0}}`},
		{"message.edited.t1", `{"message_id":"m3","content":"changed"}`},
		{"summary.invalidated.t1", `{"thread_id":"t1","summary_id":"sum_1","kind":"tool_result","reason":"source_edited","cause":{"message_id":"m3"},"action":"regenerate"}`},
		{"message.edited.t2", `{"message_id":"m9","deleted":true}`},
		{"tool.result.t2", `not JSON`},
		{"event.rejected.t2", `{"code":"invalid_json","message":"no JSON","field":null,"subject":"1.tool.result.t2","stream_seq":6,"headers":{},"body_base64":"bm90IEpTT04=","body_sha256":null}`},
		{"summary.started.t2", `{"thread_id":"t2","summary_id":"sum_2","kind":"compaction","slot":"leaf:m1","trigger":{"reason":"requested"}}`},
		{"summary.failed.t2", `{"thread_id":"t2","summary_id":"sum_2","kind":"compaction","code":"timeout","message":"no answer","action":"trim"}`},
		{"usage.recorded.t2", `{"thread_id":"t2","summary_id":"sum_2","provider":"openai","model":"m","outcome":"failed","usage":{"input_tokens":1200,"output_tokens":3},"cost":{"amount_microusd":null}}`},
		{"config.applied.=p3", `{"thread_id":null,"partition":3,"program_version":"v1","rules_version":"rules-1","fingerprint":"f"}`},
		{"partition.claimed.=p3", `{"thread_id":null,"partition":3,"epoch":2,"owner":"host/1/x","program_version":"v1","rules_version":"rules-1","fingerprint":"f"}`},
	} {
		publish(t, b.JetStream(), event[0], event[1])
	}
}

var stamp = regexp.MustCompile(`(?m)^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}Z`)

func TestTailForPeople(t *testing.T) {
	b := newServer(t)
	fill(t, b)
	got := command(t, b, "", "tail", "--all", "--from", "start", "--until-caught-up")
	got.wants(t, exitDone, "", "")
	golden(t, "tail.txt", stamp.ReplaceAllString(got.stdout, "TIME"))
}

// Records of no thread are shown where they are asked for; the other filters see the line, or with --json the data.
func TestTailFilters(t *testing.T) {
	b := newServer(t)
	fill(t, b)
	for args, want := range map[string][]string{
		"":                                   {"14 lines without", "config.applied", "partition.claimed"},
		"--prefix t1":                        {"6"},
		"--match boom":                       {"1"},
		"--match (?i)REGENERATE":             {"1"},
		"--match needle":                     {"0"},
		"--json":                             {"14"},
		"--json --match host/1":              {"1"},
		"--type config.applied":              {"1"},
		"--all --match ^.{24}..partition.cl": {"1"},
	} {
		got := command(t, b, "", append([]string{"tail", "--from", "start", "--until-caught-up"}, strings.Fields(args)...)...)
		got.wants(t, exitDone, "", "")
		lines := strings.Count(got.stdout, "\n")
		if args == "" {
			if lines != 12 || strings.Contains(got.stdout, want[1]) || strings.Contains(got.stdout, want[2]) {
				t.Errorf("%d lines\n%s", lines, got.stdout)
			}
			continue
		}
		if args == "--json" { // one is not a JSON object and skipped with a note
			lines++
		}
		if strconv.Itoa(lines) != want[0] {
			t.Errorf("%s: %d lines, want %s\n%s", args, lines, want[0], got.stdout)
		}
	}
	command(t, b, "", "tail", "--match", "(").wants(t, exitUsage, "", "--match: error parsing regexp")
}

// A line is coloured on a terminal alone, and then still acts on it by nothing else.
func TestColouredLine(t *testing.T) {
	e := remote.Entry{Typ: events.SummaryCreated, Thread: "a\x1b[2Jb"}
	plain := regexp.MustCompile("\x1b\\[[0-9]{1,2}m").ReplaceAllString(e.ColouredLine(), "")
	if plain != e.Line() || strings.Contains(plain, "\x1b") || !strings.Contains(e.ColouredLine(), "\x1b[32msummary.created") {
		t.Errorf("%q, plain %q", e.ColouredLine(), e.Line())
	}
	var out bytes.Buffer
	a := console.New(strings.NewReader(""), &out, &out)
	if a.Colourful() {
		t.Error("a file is coloured")
	}
}

func TestTailNarrows(t *testing.T) {
	b := newServer(t)
	fill(t, b)
	for _, c := range []struct {
		args  string
		types []string
	}{
		{"--type summary.created", []string{"summary.created"}},
		{"--type tool.result,summary.failed", []string{"tool.result", "tool.result", "summary.failed"}},
		{"--thread t1 --type message.edited", []string{"message.edited"}},
		{"--thread t1", []string{"thread.message", "thread.message", "tool.result", "summary.created", "message.edited", "summary.invalidated"}},
		{"--thread nobody", nil},
		{"--type config.applied", []string{"config.applied"}},
	} {
		got := command(t, b, "", append([]string{"tail", "--from", "start", "--until-caught-up"}, strings.Fields(c.args)...)...)
		var types []string
		for line := range strings.Lines(got.stdout) {
			types = append(types, strings.Fields(line)[2])
		}
		if got.status != exitDone || strings.Join(types, " ") != strings.Join(c.types, " ") {
			t.Errorf("%s: status %d, got %q, want %q\n%s", c.args, got.status, types, c.types, got.stderr)
		}
	}
}

// What tail writes as JSON is an event file: the same events when published again.
func TestTailJSON(t *testing.T) {
	b := newServer(t)
	fill(t, b)
	got := command(t, b, "", "tail", "--from", "start", "--until-caught-up", "--json", "--type", "thread.message,tool.result,message.edited")
	got.wants(t, exitDone, `{"type":"message.edited","thread_id":"t2","message_id":"m9","deleted":true}`, "EVENTS 6 on")
	again := newServer(t)
	command(t, again, got.stdout, "publish", "-").wants(t, exitDone, "5 events of 2 threads", "")

	summaries := command(t, b, "", "tail", "--from", "start", "--until-caught-up", "--json", "--type", "summary.created")
	if !strings.HasPrefix(summaries.stdout, `{"type":"summary.created","thread_id":"t1","id":"sum_1"`) || strings.Count(summaries.stdout, "\n") != 1 {
		t.Errorf("got %s", summaries.stdout)
	}
}

// An auditor checks the chains from the file alone: a line without its type is the record as it was published.
func TestTailJSONKeepsTheChain(t *testing.T) {
	b := newServer(t)
	subjects := []string{"config.applied.=p3", "summary.started.t1"}
	for i, record := range []map[string]any{{"thread_id": nil, "partition": 3}, {"thread_id": "t1", "partition": 3}} {
		data, _, err := events.Seal("", record)
		if err != nil {
			t.Fatal(err)
		}
		publish(t, b.JetStream(), subjects[i], string(data))
	}
	got := command(t, b, "", "tail", "--from", "start", "--until-caught-up", "--json")
	got.wants(t, exitDone, "", "")
	lines := events.NewFileReader(strings.NewReader(got.stdout))
	for range subjects {
		line, err := lines.Next()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := events.VerifyChain("", line.Data); err != nil {
			t.Errorf("%s: %v", line.Data, err)
		}
	}
}

// Without --until-caught-up it goes on with what happens, in all streams.
func TestTailFollows(t *testing.T) {
	b := newServer(t)
	publish(t, b.JetStream(), "tool.result.t1", `{"message_id":"old","content":""}`)
	t.Setenv("NATS_URL", b.URL())
	ctx, stop := context.WithCancel(t.Context())
	out, writer := newLines(t)
	ended := make(chan int)
	go func() {
		ended <- run(ctx, []string{"tail", "--from", "start", "--json"}, strings.NewReader(""), writer, io.Discard)
	}()
	for _, event := range [][2]string{
		{"", `{"type":"tool.result","thread_id":"t1","message_id":"old","content":""}`},
		{"tool.result.t1", `{"type":"tool.result","thread_id":"t1","message_id":"new","content":""}`},
		{"summary.created.t1", `{"type":"summary.created","thread_id":"t1","id":"sum_1"}`},
		{"event.rejected.t1", `{"type":"event.rejected","thread_id":"t1","code":"schema"}`},
	} {
		if event[0] != "" {
			_, data, _ := strings.Cut(event[1], `"thread_id":"t1",`)
			publish(t, b.JetStream(), event[0], "{"+data)
		}
		if got := out.next(t); got != event[1] {
			t.Errorf("got %s, want %s", got, event[1])
		}
	}
	stop()
	if status := <-ended; status != exitDone {
		t.Errorf("told to stop, it ended with %d", status)
	}
}

// A server that goes away and comes back is no end: what was published meanwhile comes too, once.
func TestTailOutlivesTheServer(t *testing.T) {
	dir := t.TempDir()
	first := open(t, dir, "127.0.0.1:0")
	address := strings.TrimPrefix(first.URL(), "nats://")
	provision(t, first)
	publish(t, first.JetStream(), "tool.result.t1", `{"message_id":"1","content":""}`)
	t.Setenv("NATS_URL", first.URL())
	ctx, stop := context.WithCancel(t.Context())
	out, writer := newLines(t)
	ended := make(chan int)
	go func() {
		ended <- run(ctx, []string{"tail", "--from", "start", "--json"}, strings.NewReader(""), writer, io.Discard)
	}()
	expect := func(id string) {
		if got := out.next(t); !strings.Contains(got, `"message_id":"`+id+`"`) {
			t.Errorf("got %s, want message %s", got, id)
		}
	}
	expect("1")
	publish(t, first.JetStream(), "tool.result.t1", `{"message_id":"2","content":""}`)
	expect("2")
	shut(t, first)
	second := open(t, dir, address)
	publish(t, second.JetStream(), "tool.result.t1", `{"message_id":"3","content":""}`)
	publish(t, second.JetStream(), "tool.result.t2", `{"message_id":"4","content":""}`)
	expect("3")
	expect("4")
	stop()
	if status := <-ended; status != exitDone {
		t.Errorf("told to stop, it ended with %d", status)
	}
	shut(t, second)
}
