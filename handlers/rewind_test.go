package handlers_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"precis/events"
	"precis/summarize"
	"precis/summarize/cut"
)

// course makes up the events of a thread: turns with calls, results in any order, some of them before their call or never there.
type course struct {
	t       *rapid.T
	n       int
	calls   int
	waiting []string
	ids     []string
	outputs []string
	edits   bool
}

// said is an event as a walker publishes it.
type said struct {
	typ  string
	data map[string]any
}

// text is a content that no other message has.
func (c *course) text(sizes ...int) string {
	c.n++
	words := rapid.SampledFrom(sizes).Draw(c.t, "words")
	text := fmt.Sprintf("text %d", c.n)
	for i := range words {
		text += fmt.Sprintf(" word%d-%d", words, i)
	}
	return text
}

func (c *course) next() said {
	kind := rapid.IntRange(0, 9).Draw(c.t, "kind")
	if kind == 9 && c.edits && len(c.outputs) > 0 {
		return c.edit(rapid.SampledFrom(c.outputs).Draw(c.t, "edited"))
	}
	id := fmt.Sprintf("m%d", c.n)
	c.ids = append(c.ids, id)
	data := map[string]any{"message_id": id, "content": c.text(5, 5, 40, 90)}
	switch {
	case kind < 2:
		data["role"] = events.RoleUser
	case kind < 6:
		data["role"] = events.RoleAssistant
		if rapid.IntRange(0, 4).Draw(c.t, "reasons") == 0 {
			data["content"] = []any{map[string]any{"type": "thinking", "thinking": data["content"], "signature": "c2ln"}}
			break
		}
		calls := []any{}
		for range rapid.IntRange(0, 2).Draw(c.t, "calls") {
			c.calls++
			call := fmt.Sprintf("c%d", c.calls%30)
			c.waiting = append(c.waiting, call)
			calls = append(calls, map[string]any{"id": call, "name": "bash", "arguments": map[string]any{}})
		}
		data["tool_calls"] = calls
	case kind == 6:
		c.several(id, data)
	default:
		c.outputs = append(c.outputs, id)
		data["tool_name"] = "bash"
		switch {
		case rapid.IntRange(0, 5).Draw(c.t, "early") == 0:
			data["tool_call_id"] = fmt.Sprintf("c%d", c.calls+1)
		case len(c.waiting) > 0:
			data["tool_call_id"], c.waiting = c.waiting[0], c.waiting[1:]
		}
		return said{"tool.result", data}
	}
	return said{"thread.message", data}
}

// several makes a message of the user the results of some calls, with a text beside them or without.
func (c *course) several(id string, data map[string]any) {
	parts := []any{}
	for range rapid.IntRange(1, 3).Draw(c.t, "results") {
		call := fmt.Sprintf("c%d", c.calls+1) // not made yet
		if len(c.waiting) > 0 {
			call, c.waiting = c.waiting[0], c.waiting[1:]
		}
		parts = append(parts, map[string]any{"type": "tool_result", "tool_use_id": call, "content": c.text(5, 40)})
	}
	if rapid.Bool().Draw(c.t, "beside") {
		parts = append(parts, map[string]any{"type": "text", "text": c.text(5)})
	} else {
		c.outputs = append(c.outputs, id)
	}
	data["role"], data["content"] = events.RoleUser, parts
}

// edit changes an output; it stays one that is summarized.
func (c *course) edit(id string) said {
	c.n++
	return said{"message.edited", map[string]any{"message_id": id, "edit_id": fmt.Sprint(c.n), "content": c.text(40, 90)}}
}

// A thread that was taken back to a message goes on as one that ended there: the same outputs stand whole, with as many turns behind
// them, a prompt has as many tokens, and the next cut would take as much.
func TestRewoundThreadGoesOnAsIfItHadEndedThere(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		keep := summarize.KeepOutputs{Turns: rapid.IntRange(0, 3).Draw(r, "turns"), Tokens: rapid.SampledFrom([]int{0, 300, 1000}).Draw(r, "tokens")}
		// By tokens outputs are released in the order in which they came or changed, which an edit makes another one.
		c := &course{t: r, edits: keep.Tokens == 0}
		var before, edits, after []said
		for range rapid.IntRange(2, 40).Draw(r, "before") {
			before = append(before, c.next())
		}
		stay := rapid.IntRange(1, len(before)-1).Draw(r, "stay")
		to, ids := "", map[string]bool{}
		for _, e := range before[:stay] {
			if e.typ != "message.edited" {
				to = e.data["message_id"].(string)
				ids[to] = true
			}
		}
		for _, e := range before[stay:] {
			if e.typ == "message.edited" && ids[e.data["message_id"].(string)] {
				edits = append(edits, e)
			}
		}
		c.outputs = slices.DeleteFunc(c.outputs, func(id string) bool { return !ids[id] })
		for range rapid.IntRange(0, 30).Draw(r, "after") {
			after = append(after, c.next())
		}
		walk := func(list ...[]said) *walker {
			w := newWalker(t)
			w.policy.Context.KeepOutputs = keep
			for _, e := range slices.Concat(list...) {
				w.publish(e.typ, e.data)
			}
			return w
		}
		got := walk(before, []said{{"message.edited", map[string]any{"message_id": to, "rewind": true, "edit_id": "back"}}})
		want := walk(before[:stay], edits)
		same(r, "behind the rewind", got, want, true)
		for i, e := range after {
			got.publish(e.typ, e.data)
			want.publish(e.typ, e.data)
			same(r, fmt.Sprintf("%d events later", i+1), got, want, false)
		}
	})
}

// A rewind goes by the policy of now: where that keeps no outputs any more, the summary of one that was kept stands in for it.
func TestRewindReleasesWhatThePolicyNoLongerKeeps(t *testing.T) {
	w := newWalker(t)
	w.configure("turns", "1")
	w.event([]string{"message", "m1", "user", "10"})
	w.event([]string{"tool", "m2", "90"})
	if whole := w.outputs(); whole != "m2" {
		t.Fatalf("%s stands whole, want m2", whole)
	}
	w.configure("turns", "0")
	w.apply()
	w.event([]string{"message", "m3", "user", "10"})
	w.event([]string{"edit", "m2", "rewind"})
	h, err := w.part.Header("t")
	if err != nil {
		t.Fatal(err)
	}
	slot, err := w.part.Slot("t", events.ToolSlot("m2"))
	if err != nil {
		t.Fatal(err)
	}
	sum, err := w.part.Summary("t", slot.Holder)
	if err != nil {
		t.Fatal(err)
	}
	if w.outputs() != "none" || sum.Withheld || h.TokensLive != h.Tokens-sum.Saved() || h.TokensLive != w.compaction().Cut.Seen.Tokens {
		t.Errorf("%s stands whole, %d of %d tokens are live", w.outputs(), h.TokensLive, h.Tokens)
	}
}

// same holds a thread against another one with the same messages, at other ordinals. Summaries that are made behind a rewind may
// have other lengths: rules know the identifiers of what was removed.
func same(t *rapid.T, where string, got, want *walker, tokens bool) {
	type facts struct {
		Whole        string
		Turns        []uint64
		Tokens, Live int64
		Facts        cut.Facts
		Speaking     bool
		Open, Early  int
		Active       uint64
	}
	of := func(w *walker) (f facts) {
		c := w.compaction()
		h, err := w.part.Header("t")
		if err != nil {
			t.Fatal(err)
		}
		if h.TokensLive != c.Cut.Seen.Tokens {
			t.Fatalf("%s: %d tokens are live, and the cut has counted %d", where, h.TokensLive, c.Cut.Seen.Tokens)
		}
		f = facts{
			Whole: w.outputs(), Tokens: h.Tokens, Live: h.TokensLive, Facts: c.Cut.Facts(w.policy.Compaction),
			Speaking: c.Cut.Speaking(), Open: len(c.Cut.Open), Early: len(c.Cut.Early), Active: h.SummariesActive,
		}
		for _, o := range c.Outputs {
			f.Turns = append(f.Turns, o.Turns)
		}
		if !tokens {
			f.Live, f.Facts.LiveTokens, f.Facts.RemovableTokens = 0, 0, 0
		}
		return f
	}
	if g, w := fmt.Sprintf("%+v", of(got)), fmt.Sprintf("%+v", of(want)); g != w {
		t.Fatalf("%s:\n%s, want\n%s", where, g, w)
	}
}
