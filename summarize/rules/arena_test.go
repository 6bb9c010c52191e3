package rules

import (
	"slices"
	"sync"
	"testing"

	"precis/summarize/rules/words"
)

func TestArena(t *testing.T) {
	var a words.Arena[int]
	first := a.Take(3)
	copy(first, []int{1, 2, 3})
	second := a.Take(100)
	second[0] = 4
	if !slices.Equal(first, []int{1, 2, 3}) {
		t.Errorf("the first list became %v", first)
	}
	first = append(first, 5)
	if second[0] != 4 || len(first) != 4 {
		t.Errorf("a list grew into the one behind it: %v", second[0])
	}
	a.Reset()
	if again := a.Take(100); slices.Max(again) != 0 {
		t.Errorf("what is taken again is not zero: %v", again)
	}
}

// TestVocabularyUsedAgain computes summaries of many sizes and kinds concurrently; each equals that of a new vocabulary.
func TestVocabularyUsedAgain(t *testing.T) {
	inputs := make([]Input, 0, 40)
	for i := range 20 {
		inputs = append(inputs,
			Input{MessageID: "m1", ToolName: "read_file", Content: source(3000 << (i % 5)), MaxChars: 800, Earlier: []string{source(500 * i)}},
			Input{MessageID: "m1", ToolName: "bash", Content: worst()["errors"][:20000+i*1000], MaxChars: 400})
	}
	want := make([]string, len(inputs))
	for i, in := range inputs {
		vocabularies = sync.Pool{New: vocabularies.New} // nothing to reuse
		want[i] = ToolOutput(in).Text
	}
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for i, in := range inputs {
				if got := ToolOutput(in).Text; got != want[i] {
					t.Errorf("input %d: got\n%s\nwant\n%s", i, got, want[i])
				}
			}
		})
	}
	group.Wait()
}
