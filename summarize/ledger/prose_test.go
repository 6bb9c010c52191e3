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
		"\nDecisions and dead ends:\n- The counter stays in memory, because the tills work offline.\n- (found before edits of pay.go, pay_test.go) The root cause is",
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
		"\nGoal: Our bakery's order service loses orders when two customers pay", "\nInstructions that hold: Never change the format of the order numbers, the tills print them.\n",
		"\n- Marta wants the numbers to start at 5000", "\n- Write the changelog, too, please.\n", "\n- (found before edits of pay.go, pay_test.go) The root cause is that Pay reads s.next without a lock",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if strings.Contains(text, "answered: ") || strings.Contains(text, "Summary]") || strings.Count(text, titleStart) != 1 {
		t.Errorf("got\n%s", text)
	}
}

// What a model says of runs counts nowhere, whatever its words; only the record has verdicts.
func TestNoClaims(t *testing.T) {
	l := Collect(script("user: Make the parser accept tabs, please.\nassistant: Next, I look at the parser of the shop."))
	for _, said := range []string{"pytest passes", "Everything is green", "all tests pass", "The build is green", "golangci-lint is clean", "They pass now"} {
		for _, head := range []string{"", "Goal: ", "Decisions: ", "State: ", "Next: "} {
			if text := Render(l, head+"The tabs are read. "+said+".\n", 900); strings.Contains(text, said) {
				t.Errorf("%q is in\n%s", head+said, text)
			} else if head == "" && !strings.Contains(text, "The tabs are read.") {
				t.Errorf("the lead is lost:\n%s", text)
			}
		}
	}
}

// An instruction is the user's only with its words in order and its restrictions.
func TestUsersInstructions(t *testing.T) {
	v := newView(Ledger{Instructions: []Note{{Text: "Never push to main without my review, it breaks the tills. Use tabs in Go files."}, {Text: "Don't touch vendor."}}})
	for line, want := range map[string]bool{
		"- never push to main without my review":      true,
		"- Use tabs in Go files.":                     true,
		"- Don't touch vendor":                        true,
		"- push to main without review":               false,
		"- Push to main without my review.":           false,
		"- Never push to main":                        false,
		"- touch vendor":                              false,
		"- review main without my push to the tills":  false,
		"- Never push to main, use vendor in Go":      false,
		"- Never push to main without the new review": false,
	} {
		if got := len(v.users([]string{line})) > 0; got != want {
			t.Errorf("%s: %v, want %v", line, got, want)
		}
	}
}

// A long text of a model leaves room for errors, the newest request and the next step; a next step that does not fit is cut.
func TestRoomBesideAModel(t *testing.T) {
	lines, err := os.ReadFile("testdata/bakery.script")
	if err != nil {
		t.Fatal(err)
	}
	var long strings.Builder
	for _, title := range []string{"", titleGoal, titleDecisions, titleState} {
		long.WriteString(title + "\n")
		for range 30 {
			long.WriteString("- The counter stays in memory " + strings.Repeat("and in the tills ", len(title)) + "\n")
		}
	}
	long.WriteString("Next: raise the counter " + strings.Repeat("and then the other counter ", 80))
	l := Collect(script(string(lines))).Trim()
	for _, room := range []int{1600, 2400, 4000} {
		text := Render(l, long.String(), room)
		for _, want := range []string{"\nErrors:", "\nRequests:", "\nNext: raise the counter"} {
			if !strings.Contains(text, want) {
				t.Errorf("%d: %q is not in\n%s", room, want, text)
			}
		}
	}
}
