package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// What may differ from run to run: the port and the time.
var unsteady = regexp.MustCompile(`127\.0\.0\.1:\d+|arrived \d+ ms after`)

func steady(output string) string { return unsteady.ReplaceAllString(output, "*") }

func TestDemoPrintsTheSameEveryTime(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	t.Setenv("PRECIS_PARTITIONS", "none") // a demo ignores the environment
	first := program(t, "", "demo")
	first.wants(t, exitDone, "Try next", "")
	for _, want := range []string{
		"summary.created", "source_edited by m5, then regenerate", "replaces it as version 2",
		"source_deleted by m4, then trim", "invalid_json: ", "schema: ", "message_conflict: ", "duplicate",
	} {
		if !strings.Contains(first.stdout, want) {
			t.Errorf("the output has no %q", want)
		}
	}
	shown := regexp.MustCompile("(?s)```\n(.*?)```").FindStringSubmatch(projectFile(t, "README.md"))
	for line := range strings.Lines(shown[1]) {
		if !strings.Contains(first.stdout, line) {
			t.Errorf("README.md shows a line that the demo does not print: %s", line)
		}
	}
	if second := program(t, "", "demo"); steady(second.stdout) != steady(first.stdout) {
		t.Errorf("differs the second time:\n%s\nbefore:\n%s", second.stdout, first.stdout)
	}
	if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// printed is a line of --json.
type printed struct {
	Step   string         `json:"step"`
	Agent  string         `json:"agent"`
	Thread string         `json:"thread_id"`
	Data   jsontext.Value `json:"data"`
}

func TestDemoAsJSON(t *testing.T) {
	got := program(t, "", "demo", "--json")
	got.wants(t, exitDone, "", "")
	steps := map[string]int{}
	for line := range strings.Lines(got.stdout) {
		var f printed
		if err := json.Unmarshal([]byte(line), &f); err != nil {
			t.Fatalf("%v in %q", err, line)
		}
		steps[f.Step]++
	}
	want := map[string]int{
		"began": 1, "published": 15 + 2 + 1 + 3, "summary.created": 6 + 1, "summary.invalidated": 2,
		"event.rejected": 3, "counters": 3, "next": 1,
	}
	if fmt.Sprint(steps) != fmt.Sprint(want) {
		t.Errorf("steps\n%v, want\n%v", steps, want)
	}
}

// --keep leaves a data directory that other commands can use.
func TestDemoKeeps(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "kept")
	program(t, "", "demo", "--keep", dir).wants(t, exitDone, "run --data "+dir, "")
	program(t, "", "demo", "--keep", dir).wants(t, exitUsage, "", "not empty")
	program(t, "", "check", "--data", dir).wants(t, exitDone, "0 problems", "")
	p := startProcessor(t, dir)
	p.awaitThread(t, "fix-rounding", "4 messages, 3 tool results, 1 edit")
	p.do(t, "", "message", "fix-rounding", "m5", "--revision", "0").wants(t, exitDone, "func (l Line) Tax() Money", "")
	p.do(t, "", "rejected").wants(t, exitDone, "message_conflict", "3 rejected")
}

// awaitThread asks until the processor knows a thread: it may have the log to go through first.
func (r running) awaitThread(t *testing.T, thread, wants string) {
	t.Helper()
	got := r.do(t, "", "thread", thread)
	for begun := time.Now(); !strings.Contains(got.stdout, wants) && time.Since(begun) < testTimeout; {
		got = r.do(t, "", "thread", thread)
	}
	got.wants(t, exitDone, wants, "")
}
