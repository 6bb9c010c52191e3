package rules

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"precis/summarize/rules/call"
)

// TestOfferTriesWhatMayWin: no better fragment has one of the beginnings and ends that an offer skips.
func TestOfferTriesWhatMayWin(t *testing.T) {
	entered := 0
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.OneOf(
			rapid.SampledFrom([]string{"store", "(", ",", "error:", "=", "and", "the"}),
			rapid.StringMatching(`(get|https://x[.]example/|"|/src/|a\.b)[A-Z][a-z]{1,9}[0-9]{1,3}[)";]?`),
		)
		text := strings.Join(rapid.SliceOfN(word, 1, 60).Draw(t, "words"), " ")
		in := Input{ToolName: "read_file", Arguments: []byte(`{"path":"/a.go"}`), Content: text, MaxChars: 800}
		doc := newDocument(in.Content, FileContent, call.ParseArguments(in.Arguments))
		doc.countAlike()
		v := newVocabulary(&doc, nil)
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
			gains := make([]float64, len(mentions))
			c.adds(mentions, gains)
			every := offer{choice: choice{line: i}}
			base := c.overhead(i) + lineCost
			c.growAll(&every, mentions, gains, 0, 0, base)
			c.remark(&every, i, mentions, gains, base, c.remarks[i])
			for a, m := range mentions {
				if start := naturalStart(doc.lines[i].text, int(m.start)); gains[a] > 0 && int(m.start) >= tail && start > 0 {
					c.growAll(&every, mentions, gains, a, start, base+startCost)
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

// growAll is grow without skipping any end.
func (c *chooser) growAll(best *offer, mentions []mention, gains []float64, a, start, base int) {
	text := c.doc.lines[best.line].text
	gain, before := 0.0, 0.0
	for k := a; k < len(mentions); k++ {
		gain += gains[k]
		if k+1 < len(mentions) && mentions[k+1].end <= mentions[k].end || gain == before {
			continue
		}
		before = gain
		end, cost := len(text), 0
		if len(text) > shortLine {
			e := ends{doc: c.doc, text: text}
			end = e.end(max(int(mentions[k].end), start+shortest))
			end = undangled(text, end, max(int(mentions[k].end), start+countedLine))
		}
		if end < len(text) {
			cost = endCost
		}
		if start > 0 && end-start < countedLine {
			continue
		}
		if rate := gain / float64(end-start+base+cost); rate > best.rate {
			best.rate, best.start, best.end = rate, start, end
		}
	}
}

// TestPassedTestsAreWhole: a part of the name of a test that passed would read like a message.
func TestPassedTestsAreWhole(t *testing.T) {
	var b strings.Builder
	for i := range 40 {
		b.WriteString("(pass) order store > keeps the totals of all carts apart when request_" + itoa(i) + " is sent again behind its reply_" + itoa(i) + " [12.3ms]\n")
	}
	b.WriteString(" 40 pass\n 0 fail\nRan 40 tests across 1 file. [1.2s]\n")
	text := ToolOutput(Input{ToolName: "bash", Arguments: []byte(`{"command":"bun test"}`), Content: b.String(), MaxChars: 800}).Text
	if strings.Contains(text, "\n"+innerMark) || !strings.Contains(text, "(pass) order store") {
		t.Errorf("\n%s", text)
	}
}

// TestBridge: a line between two chosen ones is offered for less, at a rate that is one, and takes the room that it takes.
func TestBridge(t *testing.T) {
	in := Input{Content: "1\tretryLimit := 3\n2\tfooB\n3\tcloseAll(store)\n4\t}\n5\tsegmentPath(dir)\n", MaxChars: 800}
	doc := read(in, in.Content, FileContent, call.ParseArguments([]byte(`{"file_path":"a.go"}`)))
	v := newVocabulary(&doc, nil)
	defer v.release()
	v.weigh(&doc, in)
	c := newChooser(&doc, v)
	c.open()
	c.value[v.find("fooB")] = 0.1
	alone := c.offer(1)
	for _, i := range []int{0, 2, 4} {
		c.choose(choice{line: i, end: len(doc.lines[i].text)})
	}
	if o := c.offer(1); o.rate <= alone.rate || math.IsInf(o.rate, 0) {
		t.Errorf("rate %v between two lines, %v alone", o.rate, alone.rate)
	}
	if got := c.cost(choice{line: 3, end: 1}); got != len(" }\n") {
		t.Errorf("a bracket takes %d characters", got)
	}
}
