package processor_test

import (
	"bufio"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"precis/events"
	"precis/summarize"
)

// cell is one case of the table: a summary of a kind, made by rules or by a model, that goes stale for a
// reason, under a policy with an action, at a moment of the work on it.
type cell struct{ by, kind, reason, action, moment string }

// Moments of the work on a summary.
const (
	before = "before" // a model's job is decided, and nobody has taken it up
	during = "during" // the model has been asked, and has not answered
	after  = "after"  // the summary stands
)

// dimensions are the values of a cell's fields.
var dimensions = [5][]string{
	{events.MethodLLM, events.MethodRules},
	{events.KindToolResult, events.KindCompaction, events.KindHistory},
	{
		events.ReasonSourceEdited, events.ReasonSourceDeleted, events.ReasonSourceInvalidated, events.ReasonPolicyChanged,
		events.ReasonPromptChanged, events.ReasonModelChanged, events.ReasonTTLExpired,
	},
	{summarize.ActionRegenerate, summarize.ActionTrim, summarize.ActionFail},
	{before, during, after},
}

func cellOf(f [5]string) cell { return cell{f[0], f[1], f[2], f[3], f[4]} }

func (c cell) fields() [5]string { return [5]string{c.by, c.kind, c.reason, c.action, c.moment} }

// String names the cell, and its thread and its policy.
func (c cell) String() string {
	f := c.fields()
	return strings.Join(f[:], "-")
}

// want is what the table says of a cell.
type want struct {
	line    int
	why     string // it can't occur, and why
	records []string
	// meanwhile is what prompts hold behind the change and before anything is made again, finally what they
	// hold when all is done; of a history, which no prompt holds, what became of it.
	meanwhile, finally string
}

// readTable reads testdata/staleness.txt, which says what its lines mean. Each cell is in it once.
func readTable(t *testing.T) map[cell]want {
	t.Helper()
	f, err := os.Open("testdata/staleness.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	table := map[cell]want{}
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		text, _, _ := strings.Cut(lines.Text(), "#")
		if strings.TrimSpace(text) == "" {
			continue
		}
		parts := strings.Split(text, "|")
		for i := range parts {
			parts[i] = strings.Join(strings.Fields(parts[i]), " ")
		}
		w := want{line: n}
		switch len(parts) {
		case 2:
			w.why = parts[1]
		case 4:
			w.records, w.meanwhile, w.finally = strings.Split(parts[1], "; "), parts[2], parts[3]
		default:
			t.Fatalf("line %d: %d parts", n, len(parts))
		}
		for _, c := range cells(t, parts[0]) {
			if old, ok := table[c]; ok {
				t.Fatalf("line %d: %v is in line %d too", n, c, old.line)
			}
			own := w
			own.records = slices.Clone(w.records)
			for i := range own.records {
				own.records[i] = strings.ReplaceAll(own.records[i], "$reason", c.reason)
			}
			table[c] = own
		}
	}
	for _, c := range cells(t, "* * * * *") {
		if _, ok := table[c]; !ok {
			t.Errorf("the table says nothing of %v", c)
		}
	}
	return table
}

// cells are those that a pattern names: five fields, each a value, values with commas between, or *.
func cells(t *testing.T, pattern string) []cell {
	t.Helper()
	fields := strings.Fields(pattern)
	if len(fields) != len(dimensions) {
		t.Fatalf("%q has %d fields", pattern, len(fields))
	}
	list := [][5]string{{}}
	for i, field := range fields {
		values := strings.Split(field, ",")
		if field == "*" {
			values = dimensions[i]
		}
		var next [][5]string
		for _, have := range list {
			for _, v := range values {
				if !slices.Contains(dimensions[i], v) {
					t.Fatalf("%q: nothing is called %q", pattern, v)
				}
				have[i] = v
				next = append(next, have)
			}
		}
		list = next
	}
	named := make([]cell, len(list))
	for i, f := range list {
		named[i] = cellOf(f)
	}
	return named
}

// policy is the cell's own, so that what changes for one changes nothing for another.
func (c cell) policy() summarize.Policy {
	p := summarize.Default()
	p.Name, p.Match, p.Provider = c.String(), summarize.Match{ThreadID: c.String()}, c.String()
	p.Tokenizer, p.Mode, p.Staleness.Action = "estimate", c.by, c.action
	p.Compaction.Trigger = summarize.Condition{Messages: 1_000_000}
	p.Compaction.Keep = summarize.Keep{Messages: 3}
	p.Context.KeepOutputs = summarize.KeepOutputs{}
	if c.compacts() {
		p.Compaction.Trigger = summarize.Condition{Messages: 5}
	}
	if c.kind == events.KindHistory {
		p.History = summarize.History{Enabled: true, EveryMessages: c.notes(), MaxSummaryTokens: 60}
	}
	return p
}

func (c cell) cascades() bool { return c.reason == events.ReasonSourceInvalidated }

// compacts says whether the cell's thread is compacted: a history goes stale by what it was made from.
func (c cell) compacts() bool {
	return c.kind == events.KindCompaction || c.kind == events.KindHistory && c.cascades()
}

// notes is how many messages the thread has when its summary is due, earlier of them before anything is
// held up: a compaction cascades from a leaf through a node.
func (c cell) notes() int {
	switch {
	case c.kind == events.KindHistory && !c.compacts():
		return 4
	case c.kind == events.KindCompaction && c.cascades():
		return 27
	}
	return 9
}

func (c cell) earlier() int {
	if c.kind == events.KindCompaction && c.cascades() {
		return 21
	}
	return 0
}

// edited is the message that changes.
func (c cell) edited() string {
	if c.kind == events.KindToolResult {
		return "out"
	}
	return "m2"
}

// text is what a message of the cell's thread says.
func (c cell) text(id string, edited bool) string {
	body := large(id)
	if c.kind != events.KindToolResult {
		n := 0
		_, _ = fmt.Sscanf(id, "m%d", &n)
		body = note(n)
	}
	var m struct{ Content string }
	if err := json.Unmarshal([]byte(body), &m, json.MatchCaseInsensitiveNames(true)); err != nil {
		panic(err)
	}
	if edited {
		return "Again: " + m.Content
	}
	return m.Content
}
