package handlers_test

import (
	"fmt"
	"strings"
	"testing"

	"precis/events"
	"precis/internal/content"
)

// say publishes messages of five words.
func (w *walker) say(role string, from, to int) (records []string) {
	w.t.Helper()
	for n := from; n <= to; n++ {
		records = append(records, w.event([]string{"message", fmt.Sprintf("m%d", n), role, "5"})...)
	}
	return records
}

// calls publishes an assistant's message that calls a tool.
func (w *walker) calls(message, call, tool string) {
	w.t.Helper()
	w.publish("thread.message", map[string]any{"message_id": message, "role": "assistant", "content": message, "tool_calls": []any{
		map[string]any{"id": call, "name": tool, "arguments": map[string]any{"file_path": "/src/x.go"}},
	}})
}

// Messages that a rewind has removed take nothing of a history's room.
func TestHistoryAfterALongRewind(t *testing.T) {
	w := newWalker(t)
	w.configure("history", "50")
	w.say("user", 1, 1180)
	w.event([]string{"edit", "m150", "rewind"})
	made := 0
	for _, r := range w.say("user", 2001, 2030) {
		if strings.HasPrefix(r, "created history") {
			made++
			if !strings.Contains(r, "m1,") {
				t.Errorf("the history leaves out the messages that stay: %.200s", r)
			}
		}
	}
	if made == 0 {
		t.Error("no history was made")
	}
}

// However much a rewind has removed, a result that comes then belongs to its call before it.
func TestLateResultAfterARewind(t *testing.T) {
	for _, gone := range []int{50, 150} {
		w := newWalker(t)
		w.say("user", 1, 1)
		w.calls("m2", "c", "Read")
		w.say("user", 3, 2+gone)
		w.event([]string{"edit", "m2", "rewind"})
		w.publish("thread.message", map[string]any{
			"message_id": "r1", "role": "tool", "tool_call_id": "c", "content": strings.Repeat("package x // a line of code\n", 40),
		})
		slot, err := w.part.Slot("t", events.ToolSlot("r1"))
		if err != nil {
			t.Fatal(err)
		}
		if sum, err := w.part.Summary("t", slot.Holder); err != nil || !strings.Contains(string(sum.Record), "/src/x.go") {
			t.Errorf("%d gone: the result's summary does not know the call: %v, %v", gone, sum, err)
		}
		w.say("user", 900, 900)
		w.say("assistant", 901, 901)
		w.event([]string{"edit", "m901", "deleted"})
		if turn := w.compaction().Cut.Assistant; len(turn.Members) != 1 {
			t.Errorf("%d gone: the latest assistant turn has lost its result: %+v", gone, turn)
		}
	}
}

// A result that a rewind has removed is not taken for one of a call that stays.
func TestRemovedResultIsOfItsOwnCall(t *testing.T) {
	w := newWalker(t)
	result := func(id string) map[string]any {
		return map[string]any{"message_id": id, "role": "tool", "tool_call_id": "c", "content": id}
	}
	w.calls("m1", "c", "Read")
	w.publish("thread.message", result("m2"))
	w.calls("m3", "c", "Bash")
	w.publish("thread.message", result("m4"))
	w.event([]string{"edit", "m2", "rewind"})
	w.publish("thread.message", result("m5"))
	for ordinal, want := range map[uint64]string{2: "Read", 4: "", 5: "Read"} {
		id := fmt.Sprint("m", ordinal)
		m := &events.Message{MessageID: id, Role: "tool", ToolCallID: "c"}
		if got, err := content.Called(t.Context(), w.part.View, w, "t", ordinal, content.Now, m); err != nil || got.ToolName != want {
			t.Errorf("%s is a result of %q, want %q: %v", id, got.ToolName, want, err)
		}
	}
}

// A call that is restored waits for its result again, and a restored result ends the wait of its call: behind a rewind as behind a
// single deletion.
func TestRestoredCallsAndResults(t *testing.T) {
	for _, how := range []string{"deleted", "rewind"} {
		t.Run(how, func(t *testing.T) {
			w := newWalker(t)
			w.configure("keep", "2")
			w.configure("compact", "4")
			remove := func(id, before string) {
				if how == "rewind" {
					id = before
				}
				w.event([]string{"edit", id, how})
			}
			w.say("user", 1, 1)
			w.calls("m2", "c", "Read")
			remove("m2", "m1")
			w.event([]string{"edit", "m2", "9"})
			if open := w.compaction().Cut.Open; len(open) != 1 {
				t.Fatalf("%+v wait for their results, want the call of m2", open)
			}
			for n := 10; n < 20; n++ {
				for _, r := range w.say([]string{"user", "assistant"}[n%2], n, n) {
					if strings.HasPrefix(r, "created leaf") && strings.Contains(r, "m2,") {
						t.Errorf("a cut passes the call that waits: %s", r)
					}
				}
			}
			w.publish("tool.result", map[string]any{"message_id": "m3", "tool_call_id": "c", "tool_name": "Read", "content": "x"})
			remove("m3", "m19")
			w.event([]string{"edit", "m3", "9"})
			if open := w.compaction().Cut.Open; len(open) != 0 {
				t.Errorf("%+v wait for their results, and m3 is restored", open)
			}
			leaves := 0
			for n := 30; n < 80; n++ {
				for _, r := range w.say([]string{"user", "assistant"}[n%2], n, n) {
					if strings.HasPrefix(r, "created leaf") {
						leaves++
					}
				}
			}
			if leaves == 0 {
				t.Error("no cut in 50 messages")
			}
		})
	}
}
