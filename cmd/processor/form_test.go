package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"precis/internal/race"
)

// Commands have one form for tables, times, numbers and plurals: that of console. What they print is read, and what they could print elsewhere is
// looked for in their source.

// plainWorld is hostileWorld with names that nothing is wrong with, so that what a line holds of numbers and words is the command's.
func plainWorld(t *testing.T, each func(t *testing.T, u use, got outcome)) *hostileWorld {
	return newWorld(t, []string{"fix-rounding", "clean-up", "read-logs", "release"}, each)
}

func TestCommandsHaveOneForm(t *testing.T) {
	race.Slow(t)
	grouped := 0
	check := func(t *testing.T, u use, got outcome) {
		t.Helper()
		if u.form != text || slices.Contains([]string{"completion", "man", "config", "version", "demo"}, u.args[0]) { // scripts, a page, YAML, versions; prose with samples
			return
		}
		for line := range strings.Lines(got.stdout) {
			for _, wrong := range wrongForms(line) {
				t.Errorf("%q: %s in %q", u.args, wrong, line)
			}
			grouped += len(regexp.MustCompile(`\d,\d{3}\b`).FindAllString(line, -1))
		}
	}
	w := plainWorld(t, check)
	for name, uses := range w.table() {
		for _, u := range uses {
			t.Run(label(name, u.args), func(t *testing.T) { check(t, u, program(t, u.stdin, u.args...)) })
		}
	}
	if grouped < 10 {
		t.Errorf("%d numbers with groups: too few to say that they are grouped", grouped)
	}
}

var (
	timeForm = regexp.MustCompile(`\b\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{3})?Z`)
	// notCounts are what has digits and counts nothing: ids and digests, addresses, amounts, numbers of events and records, names in quotes.
	notCounts = regexp.MustCompile(`\b(sum|policy|claim)_[0-9a-z]+…?|sha256:[0-9a-f]+…?|\b[0-9a-f]{8,}…?|\S*(/|://|:\d)\S*|\$[\d,]+\.\d+|\b\d+\.\d+\b|(?i)\b(events?|record|rejected|summaries|sequences?)\s+\d+( to \d+)?|^\d+ +cost .*|\b\d+ (summary|partition|config)\.\w+|^\s*\d+  |"[^"]*"`)
	digits    = regexp.MustCompile(`(^|[^\w,.-])\d{4,}\b`)
	quoted    = regexp.MustCompile(`"[^"]*"`) // what a record says, to the letter
	dates     = regexp.MustCompile(`\d{4}-\d\d-\d\d|\b\d\d:\d\d:\d\d`)
	percents  = regexp.MustCompile(`\d%`)
	plurals   = regexp.MustCompile(`(^|[^\d,.$-])1 (events|messages|tokens|summaries|records|edits|threads|checks|bytes|rejections|duplicates|discrepancies|problems|calls|tool results|turns|rows|partitions|files|sessions|lines|prompts)\b`)
	singulars = regexp.MustCompile(`(^|[^\w,.$-])(0|[02-9]|\d[\d,]+) (event|message|token|summary|record|edit|thread|check|byte|discrepancy|problem|call|tool result|turn|row|partition|file|session|line|prompt)( |,|;|\.|$)`)
)

// wrongForms are the places of a line that have another form.
func wrongForms(line string) (wrong []string) {
	line = timeForm.ReplaceAllString(strings.TrimRight(line, "\n"), "TIME")
	if at := dates.FindString(quoted.ReplaceAllString(line, "X")); at != "" {
		wrong = append(wrong, "the time "+at)
	}
	counts := notCounts.ReplaceAllString(line, "X")
	for _, p := range []*regexp.Regexp{percents, plurals, singulars, digits} {
		if at := p.FindString(counts); at != "" {
			wrong = append(wrong, "the form "+at)
		}
	}
	return wrong
}

func TestWrongForms(t *testing.T) {
	for line, want := range map[string]bool{
		"EVENTS  2,100 messages, up to 2,100": false, "1 message, 0 edits, 2 summaries": false, "4,120 → 310 tokens (-92 %)": false, "2026-11-25 03:00:00.123Z  t": false,
		"     3  2026-11-25 03:00:00Z  schema": false, "decided at event 12345, record 3": false, "127.0.0.1:4222": false, "$0.001234": false, "sum_12345678": false,
		"2100 messages": true, "1 messages": true, "2 message": true, "0 edit": true, "92%": true, "2026-11-25T03:00:00Z": true, "2026-11-25 03:00": true, `created_at: "2026-11-25T03:00:00.1234Z"`: false, "12,345 tokens": false, "11 summaries": false,
	} {
		if got := wrongForms(line); (len(got) > 0) != want {
			t.Errorf("%q: %v", line, got)
		}
	}
}

// elsewhere are ways to write a table, a column, a time, a percentage or a number with its noun beside console.
var elsewhere = regexp.MustCompile(`tabwriter\.|%[-+ ]*\d+[dsvqx]|%[.\d]*f ?%%|%d%%|%d [a-z]{3,}s\b|\.Format\((?:time\.(?:ANSIC|Kitchen|Stamp|DateTime|RFC1123|RFC822|RFC3339\))|"2006-01-02 )`)

func TestCommandsFormatInOnePlace(t *testing.T) {
	read := 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "console" || d.Name() == "testdata"):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		read++
		for n, line := range strings.Split(string(source), "\n") {
			if at := elsewhere.FindString(line); at != "" {
				t.Errorf("%s:%d: %s: use console's", path, n+1, at)
			}
		}
		return nil
	})
	if err != nil || read < 20 {
		t.Errorf("read %d files: %v", read, err)
	}
}
