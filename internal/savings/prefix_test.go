package savings_test

import (
	"bufio"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/go-json-experiment/json"

	"precis/events"
	"precis/summarize"
)

// stable names a directory with event files whose prompts TestPrefixStands compares.
var stable = flag.String("savings.transcripts", "", "event files (*/*.jsonl) for TestPrefixStands")

// TestPrefixStands measures how much of a prompt without a limit still begins the thread's prompt ten events later, with the default
// policy and without kept outputs.
func TestPrefixStands(t *testing.T) {
	if *stable == "" {
		t.Skip("it measures: see docs/savings.md")
	}
	files, err := filepath.Glob(filepath.Join(*stable, "*", "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for name, turns := range map[string]int{"default": summarize.Default().Context.KeepOutputs.Turns, "keep_outputs.turns: 0": 0} {
		var before, stand int64
		var prompts, shares, whole float64
		for _, th := range threadsOf(t, files) {
			b := newBench(t, func(p *summarize.Policy) {
				*p = summarize.Default()
				p.Context.KeepOutputs.Turns = turns
			})
			o := &oracle{bench: b}
			var last []element
			for i, e := range th {
				kind := events.Type(e["type"].(string))
				delete(e, "type")
				delete(e, "thread_id")
				b.event(kind, e)
				if i%10 != 9 || b.header().Ordinals == 0 {
					continue
				}
				now := o.prompt()
				if n := weight(last); n > 0 {
					same := weight(common(last, now))
					before, stand = before+n, stand+same
					prompts++
					if shares += float64(same) / float64(n); same == n {
						whole++
					}
				}
				last = now
			}
		}
		t.Logf("%s: %.0f prompts; %.2f %% of their tokens stand ten events later, %.2f %% of a prompt on average, %.1f %% of prompts whole",
			name, prompts, 100*float64(stand)/float64(before), 100*shares/prompts, 100*whole/prompts)
	}
}

// threadsOf reads the threads of event files, in the order of their names.
func threadsOf(t *testing.T, files []string) (list [][]fields) {
	byName := map[string][]fields{}
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(f)
		lines.Buffer(nil, 64<<20)
		for lines.Scan() {
			var e fields
			if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
				t.Fatal(err)
			}
			name := e["thread_id"].(string)
			byName[name] = append(byName[name], e)
		}
		if err := lines.Err(); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		list = append(list, byName[name])
	}
	return list
}
