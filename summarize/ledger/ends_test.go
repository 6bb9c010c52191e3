package ledger

import (
	"strings"
	"testing"

	"precis/summarize/lex"
)

// What decides stands at the end of a request as often as at its beginning.
func TestRequestsKeepTheirEnd(t *testing.T) {
	const begins = "Give the clerk of the ferry a second book for the winter, with the boats, the berths and the names of the masters in it"
	for _, c := range []struct{ name, text, end string }{
		{"a sentence", begins + ", and let the harbour read it each night as well. First cut only for the boats.", " … First cut only for the boats."},
		{"a clause", begins + ", y que el puerto la lea cada noche tambien, pero primero verifica los nombres de los barcos", " … pero primero verifica los nombres de los barcos"},
		{"thanks", begins + ", and let the harbour read it each night as well. Only once the clerk has signed it. Thanks!", " … Only once the clerk has signed it. Thanks!"},
	} {
		told := withAsk(c.text, 130)
		if !strings.HasPrefix(told, begins[:leastOpening]) || !strings.HasSuffix(told, c.end) || lex.Runes(told) > 130 {
			t.Errorf("%s: %q", c.name, told)
		}
		if again := withAsk(withAsk(c.text, 140), 130); !strings.HasSuffix(again, c.end) {
			t.Errorf("%s, again: %q", c.name, again)
		}
	}
	if told := withAsk(begins+" and "+begins+"\n{\"a\": [1, 2], \"b\": {\"c\": 4}}", 130); strings.Contains(told, " … ") {
		t.Errorf("code as an end: %q", told)
	}
}

// An answer is cut behind a clause, not within one.
func TestAnswersEndWithAClause(t *testing.T) {
	if told := concluded(`The changes are: The lamp moved to the left — it now hangs in a row with the "Quay" sign on the left and…`); told != "The changes are: The lamp moved to the left …" {
		t.Errorf("%q", told)
	}
}

// Last words that begin above a list keep the question at their end.
func TestLastWordsKeepTheirQuestion(t *testing.T) {
	play(t, []scenario{
		{"a list below a line", askFerry + editFerry + "assistant: All tests pass. Let me review what we have so far:\\n\\n---\\n\\n### Step 3: Report\\n\\n**Completed:**\\n\\n1. **Task 1: Bookings in `quay/book.go`**\\n   - Added `Berth`, `BerthBook`, `MasterBook` types\\n\\n2. **Task 2: The log of the ferry**\\n   - Writes each booking\\n\\n**Ready for feedback.** Should I:\\n1. Commit this as it is?\\n2. Go on with the pier?\n",
			[]string{"(last words) Completed: Task 1: Bookings", " … Should I: Commit this as it is? Go on with the pier?"}, nil},
	})
}

// What the last calls said stands beside what was said before them.
func TestSaidBeforeTheLastResults(t *testing.T) {
	const guess = "assistant: The clerk of the ferry keeps the boats in `book.go` and never closes it. Let me check where the berth is closed\n"
	play(t, []scenario{
		{"a search without a match", askFerry + guess + `call bash {"command":"grep -n closeBerth quay/book.go"}` + "\nfail: Command exited with code 1\n", []string{"- printed since: grep -n closeBerth quay/book.go → found nothing"}, nil},
		{"one that may have failed", askFerry + guess + `call bash {"command":"grep -n closeBerth quay/book.go 2>/dev/null"}` + "\nfail: Command exited with code 1\n", nil, []string{"found nothing"}},
		{"a look", askFerry + guess + `call bash {"command":"sed -n 1,80p quay/book.go"}` + "\nok: package quay\\n\\nfunc a() {}\n", []string{"said before sed -n 1,80p quay/book.go ran: "}, nil},
	})
}

// What the user forbids when refusing a call holds, and git status names no part as all.
func TestRefusedAndUncommitted(t *testing.T) {
	long := ""
	for _, name := range strings.Split("abcdefghijklm", "") {
		long += `\n?? quay/` + strings.Repeat("far/", 12) + name + ".go"
	}
	play(t, []scenario{
		{"a refusal", askFerry + claude("git commit -am x") + "fail: The user doesn't want to proceed with this tool use. The tool use was rejected. To tell you how to proceed, the user said:\\ndon't check this in\n", []string{"Instructions that hold: don't check this in"}, nil},
		{"a long status", askFerry + editFerry + claude("git status --short") + `ok:  M quay/book.go\n M quay/tide.go` + long + "\n", []string{"uncommitted (git status): book.go, tide.go, +4 more"}, nil},
	})
}
