package rules

import (
	"fmt"
	"strings"
	"testing"
)

// TestFailedLog: a log of a failure that is read without one has no mark of success, and what went wrong comes first, without its times.
func TestFailedLog(t *testing.T) {
	log := func(end string) string {
		var b strings.Builder
		for i := range 120 {
			fmt.Fprintf(&b, "2026-06-18T08:57:50.92%04dZ ESM dist/chunk-%04X.js %d.5 KB\n", i, i*7919, i)
		}
		return b.String() + end
	}
	failed := log("2026-06-18T08:57:53.1Z npm error code E404\n2026-06-18T08:57:53.2Z npm error 404 Not Found - PUT https://registry.example/core\n2026-06-18T08:57:54.3Z ##[error]Process completed with exit code 1\n2026-06-18T08:57:55.0Z Cleaning up orphan processes\n")
	for command, want := range map[string]string{"sed -n '1,124p' /tmp/job.log": "121|npm error code E404\n", "docker logs build": "\nnpm error code E404\n"} {
		text := ToolOutput(Input{ToolName: "exec_command", MessageID: "m1", MaxChars: 600, PreserveErrors: true, Arguments: []byte(`{"cmd":"` + command + `"}`), Content: failed}).Text
		if strings.HasPrefix(text, "[✓") || !strings.Contains(text, want) || !strings.Contains(text, "##[error]Process completed with exit code 1") {
			t.Errorf("%s:\n%s", command, text)
		}
	}
	if text := ToolOutput(Input{ToolName: "Read", MaxChars: 600, PreserveErrors: true, Arguments: []byte(`{"path":"/tmp/job.log"}`), Content: log("2026-06-18T08:57:55.0Z Done in 4s\n")}).Text; !strings.HasPrefix(text, "[✓") {
		t.Errorf("a good log:\n%s", text)
	}
}

// TestScreen: of what a terminal shows the end is shown, whole and without the boxes around it.
func TestScreen(t *testing.T) {
	var b strings.Builder
	for i := range 80 {
		fmt.Fprintf(&b, "  │ + line %d of the plan, which the agent wrote into docs/plan-%d.md a while ago\n", i, i)
	}
	b.WriteString("─────────────────────────────\n• Commit: not committed\n  Validation is clean\n╭──────────────╮\n│ › Run /review │\n╰──────────────╯\n  esc to interrupt\n")
	text := ToolOutput(Input{ToolName: "bash", MessageID: "m1", MaxChars: 500, PreserveErrors: true, Arguments: []byte(`{"command":"tmux capture-pane -p -t worker"}`), Content: b.String()}).Text
	for _, want := range []string{"\n• Commit: not committed\n", "Validation is clean\n", "› Run /review\n", "+ line 79 of the plan"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.ContainsAny(text, "│╭─") {
		t.Errorf("boxes:\n%s", text)
	}
}

// TestDiffSigns: of each file what changed is shown, and what stands around it, with the function that a hunk names, mostly behind that, and only in hunks with a shown change.
func TestDiffSigns(t *testing.T) {
	var b strings.Builder
	for _, file := range []string{"setup.go", "main.go"} {
		fmt.Fprintf(&b, "diff --git a/cmd/%s b/cmd/%s\nindex 1..2 100644\n--- a/cmd/%s\n+++ b/cmd/%s\n@@ -1,61 +1,62 @@ func runEnableWithStrategy(selectedStrategy string)\n", file, file, file, file)
		for i := range 60 {
			fmt.Fprintf(&b, " 	telemetryEnabled%d = settings.Telemetry%d\n", i, i)
		}
		fmt.Fprintf(&b, "-	return oldValueOf(\"%s\")\n+	// the new one\n+	return newValueOf(\"%s\")\n", file, file)
	}
	text := ToolOutput(Input{ToolName: "bash", MessageID: "m1", MaxChars: 500, Arguments: []byte(`{"command":"git diff main"}`), Content: b.String()}).Text
	for _, want := range []string{"\ncmd/setup.go +2 -1\n", "\ncmd/main.go +2 -1\n", "-\treturn oldValueOf(\"setup.go\")", "+\treturn newValueOf(\"main.go\")"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if short := ToolOutput(Input{ToolName: "bash", MessageID: "m1", MaxChars: 300, Arguments: []byte(`{"command":"git diff main"}`), Content: b.String()}).Text; strings.Contains(short, "telemetryEnabled") || !strings.Contains(short, "oldValueOf") {
		t.Errorf("what did not change in the place of what did:\n%s", short)
	}
	unchanged := "diff --git a/go.mod b/go.mod\n--- a/go.mod\n+++ b/go.mod\n@@ -1,30 +1,31 @@ func openStoreAt(segmentPath string)\n" + strings.Repeat(" 	x\n", 30) + "+y\n" + b.String()
	if text = ToolOutput(Input{ToolName: "bash", MessageID: "m1", MaxChars: 700, Arguments: []byte(`{"command":"git diff main"}`), Content: unchanged}).Text; strings.Contains(text, "segmentPath") {
		t.Errorf("the place of a change that is not shown:\n%s", text)
	}
}

// TestSearchTree: the files of a search that no line shows stand below their directories, with how many matches they have.
func TestSearchTree(t *testing.T) {
	var b strings.Builder
	for _, dir := range []string{"packages/core/src", "packages/web/src", "tests/unit"} {
		for _, file := range []string{"catalog", "service", "plan"} {
			for i := range 3 {
				fmt.Fprintf(&b, "/home/dev/shop/%s/%s.ts:%d:export const %sDeviceCatalog%d = loadDeviceCatalog('%s', %d);\n", dir, file, 10*i+4, file, i, dir, i)
			}
		}
	}
	text := ToolOutput(Input{ToolName: "grep", MessageID: "m1", MaxChars: 700, Arguments: []byte(`{"pattern":"DeviceCatalog"}`), Content: b.String()}).Text
	if !strings.Contains(text, "See ") || !strings.Contains(text, "tests/unit/: ") || !strings.Contains(text, ".ts 3") {
		t.Errorf("no directories, or no counts:\n%s", text)
	}
	for _, dir := range []string{"packages/core/src/: ", "packages/web/src/: ", "tests/unit/: "} {
		if strings.Count(text, dir) > 1 {
			t.Errorf("%s more than once:\n%s", dir, text)
		}
	}
}

// TestPageItems: a text of a page is below what it is about, a link says once what it is called, and what has no name is not shown.
func TestPageItems(t *testing.T) {
	var b strings.Builder
	b.WriteString("RootWebArea 'Catalog', url='https://shop.example/catalog_home.do?v=1'\n")
	for i := range 30 {
		fmt.Fprintf(&b, "\t[a%d] cell ''\n\t\t[b%d] heading 'Section %d'\n\t\t\t[c%d] link 'Section %d', url='https://shop.example/s/%d'\n\t\t[d%d] link '', url='https://shop.example/s/%d'\n\t\tStaticText 'Text on the wares of kind number %d'\n", i, i, i, i, i, i, i, i, i)
	}
	text := ToolOutput(Input{ToolName: "browser_click", MessageID: "m1", MaxChars: 700, Arguments: []byte(`{"ref":"c7"}`), Content: b.String()}).Text
	if strings.Contains(text, "''") || strings.Contains(text, "heading 'Section") || !strings.Contains(text, "URL: catalog_home.do") {
		t.Errorf("nameless elements, names twice, or no address:\n%s", text)
	}
	for i := range 30 {
		if at := strings.Index(text, fmt.Sprintf("of kind number %d'", i)); at >= 0 && strings.LastIndex(text[:at], "link '") != strings.LastIndex(text[:at], fmt.Sprintf("link 'Section %d'", i)) {
			t.Errorf("text %d is below another section:\n%s", i, text)
		}
	}
}

// TestHidden: the mark counts what a table does not have.
func TestHidden(t *testing.T) {
	d := document{source: `[{"id":"A-1","city":"Bern"},{"id":"A-2","city":"Turin"}]`, total: 1}
	if _, chars := d.hidden("id | city\nA-1 | Bern\nA-2 | Turin"); chars != 0 {
		t.Errorf("all is shown: %d", chars)
	}
	if _, chars := d.hidden("id\nA-1\nA-2"); chars != len("city")+len("Bern")+len("Turin")+len("city") {
		t.Errorf("%d characters are hidden", chars)
	}
}
