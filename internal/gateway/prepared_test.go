package gateway

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	client "precis/api"
)

// What is kept of a prompt makes the same request of the same messages, and of newer ones too: each message once, in their order.
func TestPreparedAndNewer(t *testing.T) {
	for seed := range uint64(2000) {
		rnd := rand.New(rand.NewPCG(seed, 3))
		m := func(i int) *message {
			raw := fmt.Sprintf(`{"own":%d,"text":%q}`, i, strings.Repeat("x", 60))
			return &message{role: []string{"user", "assistant"}[i%2], id: fmt.Sprint("m", i), raw: []jsontext.Value{jsontext.Value(raw)}}
		}
		var messages []*message
		want := []string{}
		p := &client.ContextReply{Explain: &client.Explanation{}}
		var list []jsontext.Value
		n := 3 + 2*rnd.IntN(6) // the user says the last
		for i := 0; i < n; i++ {
			id := fmt.Sprint("sum_", i)
			kind := rnd.IntN(3)
			if i == n-1 { // what the model has not read stands whole
				kind = 2
			}
			switch kind {
			case 0: // one that stands as its summary
				list, want = append(list, quote("summary of "+fmt.Sprint(i))), append(want, fmt.Sprintf("%q", "summary of "+fmt.Sprint(i)))
				p.Sources = append(p.Sources, client.Source{MessageIDs: []string{fmt.Sprint("m", i)}, SummaryIDs: []string{id}})
				p.Explain.Summaries = append(p.Explain.Summaries, client.ExplainedSummary{ID: id, MessageIDs: []string{fmt.Sprint("m", i)}})
				p.SummaryIDs = append(p.SummaryIDs, id)
				messages = append(messages, m(i))
			case 1: // several in a compaction
				var ids []string
				for end := min(n-1, i+1+rnd.IntN(4)); i < end; i++ {
					ids, messages = append(ids, fmt.Sprint("m", i)), append(messages, m(i))
				}
				i--
				list, want = append(list, quote(id)), append(want, fmt.Sprintf("%q", id))
				p.Sources = append(p.Sources, client.Source{SummaryIDs: []string{id}})
				p.Explain.Summaries = append(p.Explain.Summaries, client.ExplainedSummary{ID: id, MessageIDs: ids})
				p.SummaryIDs = append(p.SummaryIDs, id)
			default:
				list, want = append(list, quote("what precis has of "+fmt.Sprint(i))), append(want, string(m(i).raw[0]))
				p.Sources = append(p.Sources, client.Source{MessageIDs: []string{fmt.Sprint("m", i)}})
				messages = append(messages, m(i))
			}
		}
		p.Messages = asList(list)
		bytes := 0
		kept := newPrepared(1<<20, func(n int) { bytes += n })
		kept.keep("t", 1, p)
		reply, _ := kept.of("t")
		for newer := range 4 {
			s, err := spliced(messages, reply, nil)
			if err != nil {
				t.Fatalf("seed %d, %d newer: %v, want %s", seed, newer, err, want)
			}
			if got := string(asList(s.list)); s.newer != newer || got != "["+strings.Join(want, ",")+"]" {
				t.Fatalf("seed %d, %d newer: %d\n%s, want\n%s", seed, newer, s.newer, got, want)
			}
			if newer > 0 { // the client takes back the newest, or says another thing in its place
				other := slices.Clone(messages)
				other[len(other)-1] = m(1001 + n + newer)
				s, err := spliced(other, reply, nil)
				if err != nil || s.newer != newer || !strings.HasSuffix(string(asList(s.list)), string(other[len(other)-1].raw[0])+"]") {
					t.Fatalf("seed %d: %v %+v", seed, err, s)
				}
			}
			messages, want = append(messages, m(n+newer)), append(want, string(m(n + newer).raw[0]))
		}
		// What the client takes back of what a summary stands for, it stands for no more.
		for i, sum := range p.Explain.Summaries {
			if len(sum.MessageIDs) < 2 {
				continue
			}
			without := slices.DeleteFunc(slices.Clone(messages), func(m *message) bool { return m.id == sum.MessageIDs[len(sum.MessageIDs)-1] })
			if s, err := spliced(without, reply, nil); err == nil {
				t.Fatalf("seed %d, summary %d: %s", seed, i, asList(s.list))
			}
		}
		if bytes < len(reply.Messages) {
			t.Fatalf("%d bytes are counted", bytes)
		}
	}
}

// The prompts that were not used for the longest time leave when there is no room, one that was asked for earlier does not replace a later one, and
// where precis has none there is none.
func TestPreparedRoom(t *testing.T) {
	held := 0
	p := newPrepared(100<<10, func(n int) { held += n })
	reply := func(text string) *client.ContextReply {
		return &client.ContextReply{Messages: asList([]jsontext.Value{quote(text)}), SummaryIDs: []string{"s"}, Sources: []client.Source{{SummaryIDs: []string{"s"}}}}
	}
	has := func(thread string) string {
		r, there := p.of(thread)
		switch {
		case !there:
			return "unknown"
		case r == nil:
			return "none"
		}
		return string(r.Messages)[:5]
	}
	p.keep("a", 2, reply("new"))
	p.keep("a", 1, reply("old"))
	if got := has("a"); got != `["new` {
		t.Error(got)
	}
	for i := range 30 {
		p.keep(fmt.Sprint("t", i), 3, reply(strings.Repeat("x", 10<<10)))
		has("a")
		if held > 100<<10 || held != p.bytes {
			t.Fatalf("%d bytes held, %d counted", held, p.bytes)
		}
	}
	if has("a") == "unknown" || has("t29") == "unknown" || has("t0") != "unknown" {
		t.Error(has("a"), has("t29"), has("t0"))
	}
	p.keep("t29", 4, nil)
	if got := has("t29"); got != "none" {
		t.Error(got)
	}
	p.keep("t28", 4, reply(strings.Repeat("x", 60<<10)))
	if got := has("t28"); got != "unknown" {
		t.Error("what is too large is kept: " + got)
	}
}

// Questions that no request waits for are asked one after the other, at once where none was asked before.
func TestQuestionsApart(t *testing.T) {
	now := time.Unix(1, 0)
	c := &compactor{now: func() time.Time { return now }}
	if err := c.queue(t.Context(), apart); err != nil || !c.next.Equal(now.Add(apart)) {
		t.Fatal(err, c.next)
	}
	left, leave := context.WithCancel(t.Context())
	leave()
	for i := range 50 {
		if err := c.queue(left, apart); err == nil || !c.next.Equal(now.Add(time.Duration(i+2)*apart)) {
			t.Fatalf("question %d: %v, the next at %s", i, err, c.next.Sub(now))
		}
	}
	now = now.Add(time.Second)
	if err := c.queue(t.Context(), apart); err != nil || !c.next.Equal(now.Add(apart)) {
		t.Fatal(err, c.next)
	}
}
