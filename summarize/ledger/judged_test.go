package ledger

import (
	"fmt"
	"strings"
	"testing"
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
		text, want := Collect(script("user: "+goal+"\n"+askMany(6, "Now change the colour of the berth number", ""))).Text(1500), "\nGoal: (first of 7 requests) "+goal+"\n"
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
