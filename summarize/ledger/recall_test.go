package ledger

import (
	"hash/crc32"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"precis/events"
	"precis/internal/race"
	"precis/summarize"
	"precis/summarize/cut"
	"precis/summarize/tokens"
)

// The measure: of the identifiers that occur in the replaced messages, not in the kept ones, and that the
// assistant writes later, how many does a summary name; and how many of the paths that were written to.

const (
	measureTokens = 20000 // compact at this many removable tokens
	measureKeep   = 20    // messages
	measureChars  = 2000
)

// pass is one compaction of a growing thread.
type pass struct {
	thread   thread
	number   int // from 1
	replaced []int
	kept     []int
	asOf     int
	text     string
}

// passes rolls up all threads and computes every compaction.
func passes(t testing.TB, threads []thread) []pass {
	count, err := tokens.For(tokens.O200k)
	if err != nil {
		t.Fatal(err)
	}
	var all []pass
	for _, th := range threads {
		all = append(all, roll(th, count)...)
	}
	return all
}

func roll(th thread, count tokens.Counter) []pass {
	c := summarize.Compaction{Keep: summarize.Keep{Messages: measureKeep}}
	cond := summarize.Condition{Tokens: measureTokens}
	var (
		s      cut.State
		live   []cut.Item
		leaves []Ledger
		gone   []int
		made   []pass
	)
	for i, m := range th.messages {
		it := itemOf(m, count)
		s.Apply(it, c)
		live = append(live, it)
		if _, ok := cut.Fires(cond, s.Facts(c)); !ok {
			continue
		}
		p, _ := s.Choose(c.Keep)
		parts := s.Split(p, live, c)
		s.Replace(p)
		live = append(parts.Held, parts.Kept...)
		_, leaf := Leaf(th.pick(parts.Replaced), measureChars)
		leaves = append(leaves, leaf)
		text, _ := RollUp(leaves, th.pick(live), measureChars)
		gone = append(gone, indexes(parts.Replaced)...)
		made = append(made, pass{thread: th, number: len(leaves), replaced: gone[:len(gone):len(gone)], kept: indexes(live), asOf: i, text: text})
	}
	return made
}

func itemOf(m Message, count tokens.Counter) cut.Item {
	it := cut.Item{Ordinal: m.Ordinal, MessageID: m.MessageID, Role: m.Role, Result: m.ToolCallID, Pinned: m.Pinned}
	it.Tokens = int64(count.Count(fullText(m)))
	for _, call := range m.ToolCalls {
		it.Calls = append(it.Calls, call.ID)
	}
	return it
}

func (th thread) pick(items []cut.Item) []Message {
	list := make([]Message, 0, len(items))
	for _, it := range items {
		list = append(list, th.messages[it.Ordinal-1])
	}
	return list
}

func indexes(items []cut.Item) []int {
	list := make([]int, 0, len(items))
	for _, it := range items {
		list = append(list, int(it.Ordinal-1))
	}
	return list
}

func fullText(m Message) string {
	parts := []string{m.Content.Text()}
	for _, call := range m.ToolCalls {
		parseArguments(call.Arguments).strings(func(_, s string) { parts = append(parts, s) })
	}
	return strings.Join(parts, "\n")
}

// rollEachTurn compacts a thread regardless of progress: as soon as the whole prompt, including the kept messages,
// exceeds the threshold at four characters per token, it replaces everything but the newest messages, whatever
// that separates. After a large tail each message is a pass. Only this method reproduces the yardsticks that others
// report for compactions (head and tail 0.14, lists of frequent identifiers 0.51 to 0.56).
func rollEachTurn(th thread) []pass {
	const charsPerToken, fanIn, most = 4, 4, 16
	var (
		leaves []Ledger
		made   []pass
		all    []int
		live   int // characters
		from   int // the first message that no leaf covers
	)
	chars := func(i int) int { return runes(fullText(th.messages[i])) }
	for i := range th.messages {
		all, live = append(all, i), live+chars(i)
		to := i + 1 - measureKeep
		if live <= measureTokens*charsPerToken || to <= from {
			continue
		}
		_, leaf := Leaf(th.messages[from:to], measureChars)
		if leaves = append(leaves, leaf); len(leaves) > most {
			leaves = append([]Ledger{Join(leaves[:fanIn])}, leaves[fanIn:]...)
		}
		for ; from < to; from++ {
			live -= chars(from)
		}
		text, _ := RollUp(leaves, th.messages[to:i+1], measureChars)
		made = append(made, pass{thread: th, number: len(made) + 1, replaced: all[:to:to], kept: all[to : i+1 : i+1], asOf: i, text: text})
	}
	return made
}

// TestRecall checks the figures on the real transcripts; half of the threads were used to choose weights.
func TestRecall(t *testing.T) {
	race.Slow(t)
	measure(t, passes(t, transcripts(t)), 0.37, 0.475)
}

// TestRecallEachTurn measures where simple methods do best: most passes replace little, or the newest
// messages are so large that the next ones are about them.
func TestRecallEachTurn(t *testing.T) {
	race.Slow(t)
	var all []pass
	for _, th := range transcripts(t) {
		all = append(all, rollEachTurn(th)...)
	}
	measure(t, all, 0.475, 0.74)
}

// measure reports passes and requires a minimum recall, of all and of the first ones.
func measure(t *testing.T, all []pass, least, leastFirst float64) {
	t.Helper()
	dump(t, all)
	cache := map[string][]bag{}
	by := map[string]*figures{}
	for _, p := range all {
		r := score(p, cache)
		labels := []string{"all", half(p.thread.id)}
		if p.number == 1 {
			labels = append(labels, "first", "first "+half(p.thread.id))
		} else {
			labels = append(labels, "later")
		}
		for _, l := range labels {
			if by[l] == nil {
				by[l] = &figures{}
			}
			by[l].add(r)
		}
	}
	for _, l := range []string{"all", "fitted", "held out", "first", "first fitted", "first held out", "later"} {
		if by[l] != nil {
			by[l].report(t, l)
		}
	}
	yardsticks(t, all, cache)
	whole, first := by["all"], by["first"]
	if whole.mean(whole.artifacts, whole.written) < 0.98 || whole.longest > measureChars || whole.mean(whole.listed, whole.n) > 0.25 {
		t.Error("artifacts, length or the share of bare identifiers are out of bounds")
	}
	if os.Getenv("PRECIS_TRANSCRIPTS") == "" && (whole.mean(whole.recall, whole.cases) < least || first.mean(first.recall, first.cases) < leastFirst) {
		t.Error("recall fell")
	}
}

func half(id string) string {
	if crc32.ChecksumIEEE([]byte(id))%2 == 0 {
		return "fitted"
	}
	return "held out"
}

// dump writes the compactions as summary records to the file that PRECIS_DUMP names, for other measures.
func dump(t *testing.T, all []pass) {
	path := os.Getenv("PRECIS_DUMP")
	if path == "" {
		return
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, p := range all {
		asOf := p.thread.messages[p.asOf].MessageID
		s := struct {
			ThreadID string `json:"thread_id"`
			events.Summary
		}{ThreadID: p.thread.id, Summary: events.Summary{
			ID: p.thread.id + "/" + strconv.Itoa(p.number), Kind: events.KindCompaction, Current: true,
			AsOfMessageID: &asOf, Content: p.text,
		}}
		for _, i := range p.replaced {
			s.SourceMessageIDs = append(s.SourceMessageIDs, p.thread.messages[i].MessageID)
		}
		data, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write(append(data, '\n')); err != nil {
			t.Fatal(err)
		}
	}
}
