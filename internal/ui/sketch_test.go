package ui_test

import (
	"strings"
	"testing"
)

// While the log takes long a timeline has what the store has, says what it has not read, and looks that follow each other get to the whole.
func TestSketch(t *testing.T) {
	w := begin(t, options{contents: true, server: true, slow: true})
	w.sample("t")
	w.sample("other")
	const path = "/ui/threads/t"
	release := w.hold()
	a := w.look(path, nil)
	if a.status != 200 || strings.Count(a.text, ">not read yet</span>") != 6 { // behind an outline, on a machine that is slow
		t.Errorf("%d: %s", a.status, a.text)
	}
	for _, want := range []string{`data-unread="6"`, "6 events are not read yet", "Not yet", "and nothing is checked", `id="told"`, "</html>", ">u1<", ">r2<", "source_edited by r1", "its record is not read yet", `data-pick-message="a2"`, path + "?whole=on"} {
		if !strings.Contains(a.text, want) {
			t.Errorf("a page of which nothing is read does not show %q", want)
		}
	}
	for _, not := range []string{"zanzibar", "No discrepancies", "0001-01-01", "calls ·", "message_conflict"} {
		if strings.Contains(a.text, not) {
			t.Errorf("a page of which nothing is read shows %q", not)
		}
	}
	release()
	unread := 6
	for { // what the first look began to read is kept
		a := w.look(path, nil)
		if !strings.Contains(a.text, "data-unread") {
			break
		}
		if now := strings.Count(a.text, ">not read yet</span>"); now > unread {
			t.Fatalf("%d rows are not read, before %d", now, unread)
		} else {
			unread = now
		}
	}
	w.wants(200, path, "No discrepancies", "zanzibar", "message_conflict", "I will.")

	// A page that is asked for as a whole is whole, behind an outline where that takes long.
	release = w.hold()
	res := w.begun("/ui/threads/other?whole=on")
	defer res.Body.Close()
	w.readTo(res.Body, "</ol></div>")
	release()
	w.readTo(res.Body, "No discrepancies")
}
