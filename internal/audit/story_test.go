package audit_test

import (
	"fmt"
	"strings"

	"precis/internal/processor"
)

// output is a tool output of many lines, as an event's data.
func output(id string, lines int, more string) string {
	var b strings.Builder
	for i := range lines {
		fmt.Fprintf(&b, "step %d of %s: compiled pkg/part%d.go\n", i, id, i)
	}
	return fmt.Sprintf(`{"message_id":%q,"tool_name":"bash","arguments":{"command":"make"},"content":%q%s}`, id, b.String(), more)
}

func say(id, role, text string) string {
	return fmt.Sprintf(`{"message_id":%q,"role":%q,"content":%q}`, id, role, text)
}

// story is what agents publish: outputs by rules and by a model, a compacted thread, edits and a deletion,
// a duplicate, an edit before its message, one whose message never comes, and what can't be accepted.
func (w *world) story() {
	w.run(func(*processor.Processor) {
		w.put(
			[2]string{"thread.message.rules", `{"message_id":"u1","role":"user","content":"Build it.","agent_id":"builder"}`},
			[2]string{"tool.result.rules", output("r1", 80, "")},
			[2]string{"tool.result.rules", output("r1", 80, "")},
			[2]string{"tool.result.rules", output("r2", 90, "")},
			[2]string{"tool.result.rules", `{"message_id":"r1","content":"something else"}`},
			[2]string{"message.edited.rules", `{"message_id":"r1","edit_id":"e1","content":` + fmt.Sprintf("%q", strings.Repeat("another line of text\n", 90)) + `}`},
			[2]string{"message.edited.rules", `{"message_id":"r2","edit_id":"e2","deleted":true}`},
			[2]string{"message.edited.rules", `{"message_id":"r3","edit_id":"e3","content":"shorter"}`},
			[2]string{"tool.result.rules", output("r3", 70, "")},
			[2]string{"message.edited.rules", `{"message_id":"never","edit_id":"e4","content":"?"}`},
			[2]string{"tool.result.rules", `{"message_id":"broken"`},
			[2]string{"tool.result.=61", `{"message_id":"x","content":""}`},
			[2]string{"tool.result.model", output("m1", 80, `,"policy":"by-model","agent_id":"modeller"`)},
			[2]string{"tool.result.model", output("m2", 85, "")},
		)
		for i := range 24 {
			w.put([2]string{"thread.message.long", say(fmt.Sprintf("l%d", i), []string{"user", "assistant"}[i%2], fmt.Sprintf("Line %d of a long talk about main.go, and error E%d.", i, i))})
		}
		w.put(
			[2]string{"message.edited.long", `{"message_id":"l1","edit_id":"e5","content":"I was wrong about main.go."}`},
			[2]string{"tool.result.rules", output("r4", 60, "")},
		)
		for i := range 6 {
			w.put([2]string{"thread.message.rules", say(fmt.Sprintf("u%d", i+2), "user", "Go on.")})
		}
	})
}
