package rules

import (
	"fmt"
	"strings"
	"testing"

	"precis/summarize/rules/call"
)

// TestOpeners: a value is shown below its key and a line below its condition, whatever stands between them; what opens a block stands
// there once, and a line behind a blank one is not part of a key with a value.
func TestOpeners(t *testing.T) {
	var text strings.Builder
	for i := range 40 {
		fmt.Fprintf(&text, "Worker queue_%d:\n    wait for the lock\n    Reason: LeaseLost_%d\n", i, i)
	}
	out := ToolOutput(Input{MessageID: "m1", ToolName: "bash", Arguments: []byte(`{"command":"queuectl describe"}`), Content: text.String(), MaxChars: 400}).Text
	shown := 0
	for i := range 40 {
		key, value := fmt.Sprintf("\nWorker queue_%d:\n", i), fmt.Sprintf("\nReason: LeaseLost_%d\n", i)
		if strings.Contains(out, value) {
			if shown++; strings.Count(out, key) != 1 || strings.Index(out, key) > strings.Index(out, value) {
				t.Errorf("%q is not below its key in\n%s", strings.TrimSpace(value), out)
			}
		}
	}
	if shown < 3 {
		t.Errorf("%d values in\n%s", shown, out)
	}
	doc := newDocument("State: Waiting\n  Reason: CrashLoopBackOff\nDate: Tue\n\n  window: keep late points\nif ready {\n  serve()\n", CommandOutput, nil)
	doc.findOpeners()
	for line, want := range map[int]int{0: -1, 1: 0, 4: -1, 5: -1, 6: 5} {
		if got := doc.openers(line)[1]; got != want {
			t.Errorf("%q is below line %d, want %d", doc.lines[line].text, got, want)
		}
	}
}

// TestLeads: an item of a list is below what leads to it by its indentation, also behind one that is wrapped.
func TestLeads(t *testing.T) {
	check := func(args, text string, want map[int]int) {
		t.Helper()
		doc := read(Input{}, text, FileContent, call.ParseArguments([]byte(args)))
		for line, above := range want {
			if got := doc.openers(line)[1]; got != above {
				t.Errorf("%q is below line %d, want %d", doc.lines[line].text, got, above)
			}
		}
	}
	check(`{"file_path":"a.md","offset":1}`, "Requirements:\n- Optional:\n  - redis, for what is kept\n    between two starts\n\n  - nginx\n- postgres\nA paragraph.\n- none\n",
		map[int]int{1: 0, 2: 1, 3: -1, 5: 1, 6: 0, 8: -1})
	settings := "on: push\njobs:\n  - name: build\n    steps:\n# nothing else: yet\n      cores: 2\n  - name: test\n    needs: build\n  - name: lint\n    needs: test\n"
	check(`{"file_path":"a.yaml","offset":1}`, settings, map[int]int{5: 3, 2: 1, 6: 1})
	long := "jobs:\n" + strings.Repeat("  - name: build\n    needs: all\n", maxLines) + "  - name: last\n"
	check(`{"file_path":"a.yaml","offset":1}`, long, map[int]int{1: 0, maxLines / 2: -1, maxLines/2 + 1: maxLines / 2})
	blank := strings.Repeat("\nneeds: all\n", maxLines)
	if doc := read(Input{Drop: []string{"none"}}, blank, FileContent, call.ParseArguments([]byte(`{"file_path":"a.yaml"}`))); doc.resumes != maxLines/4 {
		t.Errorf("the rest begins at line %d of %d, want %d", doc.resumes, len(doc.lines), maxLines/4)
	}
}

// TestSigns: what belongs to a name in front of it is listed with it.
func TestSigns(t *testing.T) {
	words := "open .github/workflows and @acme/queue with --max-age=3 in /srv/queue/run.py, x/y-z and a-b--c_d"
	in := Input{MessageID: "m1", ToolName: "bash", Content: strings.Repeat("nothing of interest is said in this line of words, and in none of the others\n", 9) + words, MaxChars: 300}
	doc := newDocument(in.Content, CommandOutput, nil)
	v := newVocabulary(&doc, nil)
	defer v.release()
	v.weigh(&doc, in)
	c := newChooser(&doc, v)
	for name, want := range map[string]string{"github/workflows": ".", "acme/queue": "@", "max-age": "--", "srv/queue/run.py": "/", "x/y-z": "", "queue": ""} {
		if id := v.find(name); id >= 0 {
			if got := c.sign(id); got != want {
				t.Errorf("%s has %q in front of it, want %q", name, got, want)
			}
		} else if strings.Contains(name, "/") {
			t.Errorf("%s is not found", name)
		}
	}
}

// TestKeysAreNoSentence: between lines that begin with a key nothing marks what is left out, as between the halves of sentences.
func TestKeysAreNoSentence(t *testing.T) {
	doc := newDocument("shellId: 1, mode: sync\nsomething said\nshellId: 2, mode: sync\nsomething else\nand the rest of it\n", Other, nil)
	whole := func(line int) choice { return choice{line: line, end: len(doc.lines[line].text)} }
	if doc.runsOn(whole(0), whole(2)) {
		t.Error("a key goes on with a sentence")
	}
	if !doc.runsOn(whole(2), whole(4)) {
		t.Error("a sentence seems to go on where lines are left out")
	}
}
