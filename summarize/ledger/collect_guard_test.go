package ledger

import (
	"strings"
	"testing"
)

// unguarded shows the panics that Collect survives.
func unguarded(messages []Message) Ledger { return collect(messages, func(f func()) { f() }) }

// A path that names the working directory or a root is no file.
func TestPathsOfNoFile(t *testing.T) {
	for _, path := range []string{"./", ".", "", "/", "..", "../", "./.", "//", "./a/"} {
		l := unguarded(script(`
			call Read {"path":"` + path + `"}
			ok: a.go
			call Edit {"file_path":"/w/a.go","new_string":"1"}
			ok: done`))
		if got := filesOf(l); got != "/w/a.go written 1" {
			t.Errorf("%q: files %s", path, got)
		}
		if text := render("", l, "", 800); !strings.Contains(text, "a.go") {
			t.Errorf("%q: %s", path, text)
		}
	}
	stored := Ledger{Messages: 1, Files: []File{{Path: "", Read: 1}, {Path: "/w/a.go", Written: 1}}}
	if text := render("", stored, "", 800); !strings.Contains(text, "Files: /w/a.go") {
		t.Errorf("a stored ledger with an empty path: %s", text)
	}
}

// A message that cannot be read costs its own statements, not the others'.
func TestCollectSurvivesAMessage(t *testing.T) {
	messages := script(`
		user: Find the bug in the till of the shop.
		user: lost
		user: Never touch the receipts of the till.`)
	messages[1].Message = nil
	l := Collect(messages)
	if l.To != 3 || len(l.Requests) != 2 || len(l.Instructions) != 1 {
		t.Errorf("%+v", l)
	}
	if guarded(func() { panic("cannot be read") }) || !guarded(func() {}) {
		t.Error("a panic is not reported, or a return is")
	}
}
