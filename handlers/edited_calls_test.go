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

// parts are some calls or results of a message with a text beside them, of which an edit leaves others.
func (c *course) parts(kind string, ids []string) (list []any) {
	list = append(list, map[string]any{"type": "text", "text": c.text(5)})
	for _, id := range ids {
		if kind == "tool_use" {
			list = append(list, map[string]any{"type": kind, "id": id, "name": "bash", "input": map[string]any{"command": "ls " + id}})
		} else {
			list = append(list, map[string]any{"type": kind, "tool_use_id": id, "content": "result of " + id})
		}
	}
	return list
}

// some draws some of a list, in its order.
func (c *course) some(list []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(string) bool { return rapid.Bool().Draw(c.t, "without") })
}

// A thread whose messages have other calls and results since an edit goes on as one where they were published so: counters, pairs and
// the next cut are the same.
func TestEditedCallsAreThoseOfTheContent(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		c := &course{t: r}
		var edited, edits, plain, after []said
		for n := range rapid.IntRange(1, 25).Draw(r, "messages") {
			id := fmt.Sprintf("m%d", n)
			message := func(role string, content any, calls []any) said {
				data := map[string]any{"message_id": id, "role": role, "content": content}
				if calls != nil {
					data["tool_calls"] = calls
				}
				return said{"thread.message", data}
			}
			edit := func(content any) {
				edits = append(edits, said{"message.edited", map[string]any{"message_id": id, "edit_id": "e" + id, "content": content}})
			}
			switch kind := rapid.IntRange(0, 5).Draw(r, "kind"); {
			case kind < 3: // an assistant's, with calls as members beside those that an edit replaces
				var calls []any
				var ids []string
				for range rapid.IntRange(0, 3).Draw(r, "calls") {
					c.calls++
					ids = append(ids, fmt.Sprintf("c%d", c.calls))
				}
				if kind == 2 {
					c.calls++
					own := fmt.Sprintf("c%d", c.calls)
					calls = []any{map[string]any{"id": own, "name": "bash", "arguments": map[string]any{"command": "pwd"}}}
					c.waiting = append(c.waiting, own)
				}
				c.waiting = append(c.waiting, ids...)
				now := c.parts("tool_use", ids)
				was := c.parts("tool_use", append(c.some(ids), "gone"+id))
				if rapid.IntRange(0, 3).Draw(r, "reasons") == 0 {
					was = []any{map[string]any{"type": "thinking", "thinking": "hm", "signature": "c2ln"}}
				}
				edited, plain = append(edited, message(events.RoleAssistant, was, calls)), append(plain, message(events.RoleAssistant, now, calls))
				edit(now)
			case kind == 3: // results of the calls so far
				ids := c.some(c.waiting)
				c.waiting = slices.DeleteFunc(c.waiting, func(id string) bool { return slices.Contains(ids, id) })
				first := ids[:min(len(ids), rapid.IntRange(0, 2).Draw(r, "first"))]
				now := c.parts("tool_result", ids)
				edited, plain = append(edited, message(events.RoleUser, c.parts("tool_result", first), nil)), append(plain, message(events.RoleUser, now, nil))
				edit(now)
			default:
				e := message(events.RoleUser, c.text(5, 40), nil)
				edited, plain = append(edited, e), append(plain, e)
			}
		}
		for range rapid.IntRange(0, 15).Draw(r, "after") {
			c.n += 100
			after = append(after, c.next())
		}
		walk := func(list ...[]said) *walker {
			w := newWalker(t)
			w.policy.Context.KeepOutputs = summarize.KeepOutputs{}
			w.policy.ToolOutput.OverChars = 0 // a summary goes by the thread's names, those of former revisions included
			for _, e := range slices.Concat(list...) {
				w.publish(e.typ, e.data)
			}
			return w
		}
		got, want := walk(edited, edits), walk(plain)
		equal(r, "behind the edits", got, want)
		for i, e := range after {
			got.publish(e.typ, e.data)
			want.publish(e.typ, e.data)
			equal(r, fmt.Sprintf("%d events later", i+1), got, want)
		}
	})
}

// equal holds counters, and what decides on the next cut, of two threads with the same messages at the same places.
func equal(t *rapid.T, where string, got, want *walker) {
	of := func(w *walker) string {
		h, err := w.part.Header("t")
		if err != nil {
			t.Fatal(err)
		}
		rows, err := w.part.Messages("t", 1, h.Ordinals+1)
		if err != nil {
			t.Fatal(err)
		}
		state := w.compaction().Cut
		first := func(p cut.Position) bool { return p.At == 1 } // where a cut would remove nothing
		if state.Pending = slices.DeleteFunc(state.Pending, first); first(state.BestAny) {
			state.BestAny = cut.Position{}
		}
		if first(state.BestUser) {
			state.BestUser = cut.Position{}
		}
		s := fmt.Sprintf("%d tokens, %d live, %d bytes\n%+v\n", h.Tokens, h.TokensLive, h.Bytes, state)
		for _, m := range rows {
			s += fmt.Sprintf("%s calls %q results %q, %+v and %+v\n", m.ID, m.Calls(), m.Results(), m.Text, m.Args)
		}
		return s
	}
	if g, w := of(got), of(want); g != w {
		t.Fatalf("%s:\n%s\nwant\n%s", where, g, w)
	}
}
