package rules

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestEnterTriesWhatMayWin: the beginnings that enter passes over within a line are none that a better fragment has.
func TestEnterTriesWhatMayWin(t *testing.T) {
	entered := 0
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.OneOf(
			rapid.SampledFrom([]string{"store", "(", ",", "error:", "=", "and", "the"}),
			rapid.StringMatching(`(get|https://x[.]example/|"|/src/|a\.b)[A-Z][a-z]{1,9}[0-9]{1,3}[)";]?`),
		)
		text := strings.Join(rapid.SliceOfN(word, 1, 60).Draw(t, "words"), " ")
		in := Input{ToolName: "read_file", Arguments: []byte(`{"path":"/a.go"}`), Content: text, MaxChars: 800}
		doc := newDocument(in.Content, FileContent, parseArguments(in.Arguments))
		doc.countAlike()
		v := newVocabulary(&doc)
		v.weigh(&doc, in)
		c := newChooser(&doc, v)
		for id := range c.value {
			c.value[id] = rapid.SampledFrom([]float64{0, 0.01, 0.1, 0.5, 1}).Draw(t, "value")
		}
		for i := range doc.lines {
			if !doc.enters(&doc.lines[i]) {
				continue
			}
			entered++
			best := c.offer(i)
			mentions := v.of(i)[:min(len(v.of(i)), mostMentions)]
			var gains [mostMentions]float64
			c.gains(mentions, gains[:])
			every := best
			for a, m := range mentions {
				if start := naturalStart(doc.lines[i].text, int(m.start)); gains[a] > 0 && int(m.start) >= tail && start > 0 {
					c.grow(&every, doc.lines[i].text, mentions, gains[:], a, start, c.overhead(i)+lineCost+startCost)
				}
			}
			if every != best {
				t.Fatalf("%+v, but %+v is there in %q", best, every, doc.lines[i].text)
			}
		}
	})
	if entered == 0 {
		t.Error("no line was entered")
	}
}
