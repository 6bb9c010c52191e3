package ledger

import (
	"os"
	"strings"
	"testing"

	"precis/events"
)

// A model's text adds to the sections of the record: what it says of requests, files, errors and verdicts does not count.
func TestRenderWithAModel(t *testing.T) {
	lines, err := os.ReadFile("testdata/bakery.script")
	if err != nil {
		t.Fatal(err)
	}
	const said = `## Goal
- No order is lost, and numbers start at 5000.
**Instructions that hold:**
- never change the format of the order numbers
- Always deploy on Fridays after the tills are closed.
Requests: something else entirely
Decisions:
- The counter stays in memory, because the tills work offline.
State
- The lock is in, the start at 5000 is half done.
- All tests pass and lint is clean.
Files: invented.go
Errors: none
5. Next: raise the counter in Open`
	text := Render(Collect(script(string(lines))).Trim(), said, 2400)
	for _, want := range []string{
		"\nGoal:\n- Our bakery's order service loses orders", "\n- No order is lost, and numbers start at 5000.\n",
		"\n- never change the format of the order numbers\n", "\nRequests:\n- Good. Also write a test",
		"\nDecisions and dead ends:\n- The counter stays in memory, because the tills work offline.\n- The root cause is",
		"\n- golangci-lint run ./services/orders → failed\n", "\n- The lock is in, the start at 5000 is half done.\n",
		"\nErrors:\n- lint: services/orders/pay_test.go:12:2", "\nNext: raise the counter in Open",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	for _, not := range []string{"Fridays", "something else", "All tests pass", "invented.go", "#", "**"} {
		if strings.Contains(text, not) {
			t.Errorf("%q is in\n%s", not, text)
		}
	}
	at := 0
	for _, title := range Titles() {
		i := strings.Index(text, "\n"+title)
		if i < at {
			t.Errorf("%s stands at %d, behind %d:\n%s", title, i, at, text)
		}
		at = i
	}
}

// A model that keeps to no sections is quoted before them.
func TestRenderWithProse(t *testing.T) {
	l := Collect(script("user: Make the parser accept tabs, please.\nassistant: I look at the parser of the shop first."))
	want := "--- Summarized Context (2 items) ---\nNext week the parser was worked on.\nIt accepts tabs.\nGoal: Make the parser accept tabs, please."
	if text := Render(l, "Next week the parser was worked on.\n\nIt accepts tabs.", 600); !strings.HasPrefix(text, want) {
		t.Errorf("got\n%s", text)
	}
}

// A thread that begins with the compaction of another one goes on from what it says.
func TestCompactionOfACompaction(t *testing.T) {
	before, err := os.ReadFile("testdata/bakery.2000.txt")
	if err != nil {
		t.Fatal(err)
	}
	list := script("user: x\nassistant: I raise the counter when the store opens.\nuser: Write the changelog, too, please.")
	list[0].Content = events.TextContent("[Previous Conversation Summary]\n" + string(before))
	text := Collect(list).Text(2000)
	for _, want := range []string{
		"\nGoal: Our bakery's order service loses orders when two customers pay", "\n- Never change the format of the order numbers, the tills print them.\n",
		"\n- Marta wants the numbers to start at 5000", "\n- Write the changelog, too, please.\n", "\n- The root cause is that Pay reads s.next without a lock",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if strings.Contains(text, "Summary]") || strings.Count(text, titleStart) != 1 {
		t.Errorf("got\n%s", text)
	}
}
