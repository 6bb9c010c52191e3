package ledger

import (
	"fmt"
	"strings"
	"testing"

	"precis/events"
)

// askMany is a thread of n requests of one word or more, each followed by a step.
func askMany(n int, request, step string) string {
	var s strings.Builder
	for i := range n {
		fmt.Fprintf(&s, "user: %s %d\n%s", request, i, step)
	}
	return s.String()
}

// What a compaction says of requests, once it is joined from trimmed spans: of those that are dropped it tells nothing as another's.
func TestRequestsDropped(t *testing.T) {
	const edit = `call Edit {"file_path":"/w/quay/%s.go","new_string":"x"}` + "\nok: done\n"
	first := "user: Read the theme of the harbour's editor in full, please.\n" + fmt.Sprintf(edit, "theme")
	dropped := askMany(9, "tint", fmt.Sprintf(edit, "tint"))
	kept := askMany(maxNotes+5, "Now change the colour of the berth number", fmt.Sprintf(edit, "berth"))
	text := Collect(script(first + dropped + kept)).Trim().Text(9000)
	for _, want := range []string{"full, please. → then: edited theme.go\n", " others)\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	for _, not := range []string{"tint.go\n- (", "edited tint.go", " earlier)"} {
		if strings.Contains(text, not) {
			t.Errorf("%q is in\n%s", not, text)
		}
	}
}

// A short goal is marked as the first of many requests as well.
func TestShortGoalOfMany(t *testing.T) {
	for _, goal := range []string{"Create a theme for fog.", "Please add a theme for the dark hours.", "Please add a theme for the dark hours to the harbour's editor, and one for the hours of the fog."} {
		text, want := Collect(script("user: "+goal+"\n"+askMany(6, "Now change the colour of the berth number", ""))).Text(1500), "\nGoal: (first of 7 or more requests) "+goal+"\n"
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}

// The last run of a turn is not told where a line that ran in it ran again later: of that run only the last end is known.
func TestRunOfATurn(t *testing.T) {
	run := func(line, end string) string { return `call bash {"command":"` + line + `"}` + "\n" + end + "\n" }
	const fails, passes = `fail: Exit code 1\nsrc/quay.ts(7,2): error TS2304: Cannot find name 'berth'.`, `ok: Tests  3 passed (3)`
	const edit = `call Edit {"file_path":"/w/quay/theme.ts","new_string":"x"}` + "\nok: done\n"
	first := "user: Read the theme of the harbour's editor in full, please.\n" + edit + run("npx tsc", fails)
	later := "user: Now change the colour of the berth to blue.\n" + edit
	for _, tt := range []struct{ name, script, want string }{
		{"its own", first + later + run("npm test", passes), "theme.ts; npx tsc → failed\n"},
		{"one that ran again", first + run("npm test", passes) + later + run("npm test", passes), "→ then: edited theme.ts\n"},
		{"one that passed beside another kind", strings.ReplaceAll(first, fails, "ok: Found 0 errors.") + run("npm test", passes) + later + run("npm test", passes), "theme.ts; npx tsc → passed\n"},
		{"one that passed beside its kind", strings.ReplaceAll(first, fails, "ok: Found 0 errors.") + run("npm run build", passes) + later + run("npm run build", passes), "→ then: edited theme.ts\n"},
	} {
		if text := Collect(script(tt.script)).Text(2400); !strings.Contains(text, tt.want) {
			t.Errorf("%s: %q is not in\n%s", tt.name, tt.want, text)
		}
	}
}

// Requests that got a reply do not look open where there is no room for what was said: those without one are marked.
func TestRequestsReplied(t *testing.T) {
	const edit = `call Edit {"file_path":"/w/quay/book.go","new_string":"x"}` + "\nok: done\n"
	script1 := "user: Why does the harbour's clerk lose a booking when two pilots ask for one berth at once?\nassistant: The clerk of the harbour reads the berth before it locks the book, so that both pilots get the berth.\n"
	for i := range 6 {
		script1 += fmt.Sprintf("user: Now tell me why the lamp number %d of the harbour is dark at noon.\nassistant: The lamp number %d is dark since its clock counts the hours of the winter, which are not those of the harbour at noon.\n", i, i)
	}
	broken := "user: Then write the berth into the book.\n" + edit + "user: Look up who keeps the keys of the harbour.\n" + claude("ls keys") + "ok: clerk\n" + "user: Ask the pilots of the harbour what they owe.\nassistant: API Error: 500 the server is under high load now\n"
	goOn := "user: Count the ropes that lie on the pier of the harbour.\nassistant: Request was aborted.\nuser: continue\nassistant: There are nine.\n"
	newest := "user: And now print the whole book for the pilots, with their berths and the hours.\nassistant: ok\n"
	long := Collect(script(script1 + broken + goOn + newest)).Trim()
	for _, chars := range []int{900, 1500, 6000} {
		text := long.Text(chars)
		for _, want := range []string{"- (", allReplied + ")\n", "keys of the harbour. → no reply of its own\n", "what they owe. → no reply of its own\n", "\n- And now print the whole book"} {
			if !strings.Contains(text, want) {
				t.Errorf("%d: %q is not in\n%s", chars, want, text)
			}
		}
		if !strings.Contains(text, "into the book. → worked on\n") && !strings.Contains(text, "into the book. → then: edited book.go\n") {
			t.Errorf("%d: what was edited is not in\n%s", chars, text)
		}
		for _, not := range []string{"the pier of the harbour. →", "hours. →", "pilots ask for one berth at once? → no"} {
			if strings.Contains(text, not) {
				t.Errorf("%d: %q is in\n%s", chars, not, text)
			}
		}
		list := script("user: x")
		list[0].Content = events.TextContent(text + "\n\nWrite the log, please.")
		for _, n := range unguarded(list).Requests {
			if strings.Contains(n.Text, " → ") || strings.Contains(n.Text, allReplied) {
				t.Errorf("adopted with its outcome: %q", n.Text)
			}
		}
	}
	// A boundary between spans is none of a turn, and of a ledger of another version nothing is known.
	messages := script(script1 + broken + goOn + newest)
	for cut := 1; cut < len(messages); cut++ {
		if text := Join([]Ledger{Collect(messages[:cut]).Trim(), Collect(messages[cut:]).Trim()}).Text(1500); text != long.Text(1500) {
			t.Fatalf("cut at %d:\n%s", cut, text)
		}
	}
	long.Ends, long.EndsFrom = nil, 0
	if text := long.Text(1500); strings.Contains(text, allReplied) || strings.Contains(text, noReply) {
		t.Errorf("of another version:\n%s", text)
	}
	// Agents that hand back with a call.
	asks := func(tool string) string {
		return "user: Count the boats in the harbour at night.\n" + edit + "user: Tell the clerk which ropes of the pier are old.\n" + "call " + tool + ` {"result":"There are nine."}` + "\nok: \nuser: And those at sea, with the names of the pilots.\n"
	}
	for tool, hands := range map[string]bool{"attempt_completion": true, "finish": true, "send_msg_to_user": true, "Read": false} {
		if text := Collect(script(asks(tool))).Text(2000); !strings.Contains(text, "at night. → then: edited") || strings.Contains(text, "→ no reply of its own") || strings.Contains(text, allReplied) != hands {
			t.Errorf("%s:\n%s", tool, text)
		}
	}
}

// What is a reply, and what is not known to be none.
func TestWhatIsAReply(t *testing.T) {
	const looked, kept = "user: Look up who keeps the keys of the harbour.\n", "user: Ask the pilots of the harbour what they owe.\nassistant: They owe nothing at all to the harbour.\nuser: And now print the whole book for the pilots.\n"
	for said, replied := range map[string]bool{
		"assistant: The server is running on port 3000 now.":                                 true,
		"assistant: Error: none. The clerk keeps them, as he always did.":                    true,
		"assistant: Under high load the pool is exhausted, since the clerk keeps the keys.":  true,
		"assistant: The request was cancelled by the browser because the token had expired.": true,
		"assistant: These are the clerks of the":                                             true, // cut off there
		"assistant: API Error: 529 overloaded":                                               false,
		"assistant: The server had an error while processing your request":                   false,
		"assistant: Request was aborted.":                                                    false,
		`call AskUserQuestion {"question":"Which keys?"}`:                                    true,
		`call ExitPlanMode {"plan":"Look at the keys."}`:                                     true,
		`call attempt_completion {"result":"The clerk.","command":"open keys.html"}`:         true,
		`call submit_form {"form":"keys"}`:                                                   false,
	} {
		text := Collect(script(looked + said + "\n" + kept)).Text(1200)
		if strings.Contains(text, "harbour. → replied") != replied && strings.Contains(text, "harbour. → answered: ") != replied || strings.Contains(text, "harbour. → no reply of its own") == replied {
			t.Errorf("%s:\n%s", said, text)
		}
	}
}

// Where a ledger of another version, or one that has dropped the ends of older turns, stands between others, nothing is said of its requests.
func TestRepliesOfJoinedLedgers(t *testing.T) {
	turns := func(name string, n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "user: Now tell me why the lamp %s%d is dark.\nassistant: Its clock %s%d is late.\n", name, i, name, i)
		}
		return b.String()
	}
	messages := script(turns("a", 3) + turns("b", 3) + turns("c", 3) + "user: And now print the whole book for the pilots.\n")
	parts := []Ledger{Collect(messages[:6]), Collect(messages[6:12]), Collect(messages[12:])}
	parts[1].Ends, parts[1].EndsFrom = nil, 0
	for _, joined := range []Ledger{Join(parts), Join([]Ledger{Join(parts[:2]), parts[2]}), Join([]Ledger{parts[0], Join(parts[1:])})} {
		if text := joined.Text(3000); strings.Contains(text, allReplied) || strings.Contains(text, noReply) || joined.EndsFrom != messages[12].Ordinal {
			t.Errorf("known from %d on:\n%s", joined.EndsFrom, text)
		}
	}
	long := script(turns("a", maxEnds+20) + turns("b", maxEnds+20) + "user: And now print the whole book for the pilots.\n")
	half := 2 * (maxEnds + 20)
	joined := Join([]Ledger{Collect(long[:half]).Trim(), Collect(long[half:]).Trim()}).Trim()
	if text := joined.Text(3000); strings.Contains(text, noReply) || joined.EndsFrom <= long[half].Ordinal {
		t.Errorf("known from %d on:\n%s", joined.EndsFrom, text)
	}
}

// Of requests that an earlier compaction told nothing is known, and a request with an arrow is not marked by that.
func TestRequestsOfUnknownTurns(t *testing.T) {
	newest := "user: And now print the whole book for the pilots.\nassistant: ok\nuser: And their berths, with the hours of the tide.\n"
	list := script("user: x\nassistant: All of it is done now.\n" + newest)
	list[0].Content = events.TextContent("--- Summarized Context (9 items) ---\nGoal: Count the boats in the harbour at night.\nRequests:\n- Fix the tide of the harbour today. → no reply of its own\n- Paint the pier of the harbour blue.\n\nTell me of the keys.")
	if text := Collect(list).Text(2000); strings.Contains(text, allReplied) || !strings.Contains(text, "Fix the tide") {
		t.Errorf("adopted:\n%s", text)
	}
	text := Collect(script("user: Count the boats in the harbour at night.\nassistant: Nine.\nuser: Rename the pier → jetty in the book of the harbour.\nassistant: It is done, and so are all the others there.\n" + newest)).Text(2000)
	if !strings.Contains(text, allReplied) {
		t.Errorf("with an arrow:\n%s", text)
	}
}

// A request that begins with a paste is told with its end, where it asks.
func TestPastedRequest(t *testing.T) {
	paste := "➜ ferry git:(main) git push origin main\\nerror: No `tide.toml` found in the current directory or parent directories.\\n" + strings.Repeat("hint: rerun the command with the flag that scans the whole harbour again. ", 40) + "\\n\\nplease fix it, we no longer use tide"
	text := Collect(script("user: " + paste + "\nassistant: ok\nuser: go on then, and also look at the pier of the harbour\n")).Trim().Text(1200)
	for _, want := range []string{"Goal: ➜ ferry git:(main) git push", "please fix it, we no longer use tide"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}

// Tags around the user's words go, and one that the user writes about stays.
func TestOwnTags(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"<user_query>\nAdd the berth.\n</user_query>", "Add the berth."},
		{"<query>Add the berth.</query> And <task>book it</task>", "Add the berth.  And  book it"},
		{"<task>\nAdd the berth.", "Add the berth."},
		{"Add the berth.</query>", "Add the berth."},
		{`It says: started with "<prompt>" and ends.`, `It says: started with "<prompt>" and ends.`},
		{"Print <query> where the name stands, and <message> below.", "Print <query> where the name stands, and <message> below."},
	} {
		if got := own(tt.text); got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.text, got, tt.want)
		}
	}
}
