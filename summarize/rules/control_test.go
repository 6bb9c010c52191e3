package rules

import (
	"fmt"
	"strings"
	"testing"

	"precis/summarize/rules/outline"
)

// TestControls: what code does is told by its conditions, and by what it returns and raises, unless they say nothing.
func TestControls(t *testing.T) {
	for line, want := range map[string][2]bool{ // conditions, controls
		"if len(queue) == 0 {": {true, true}, "if(ready(x))": {true, true}, "} else if (node.open) {": {true, true}, "for i, job := range jobs {": {true, true}, "elif kind == 'pc':": {true, true},
		"case EventOpened:": {true, true}, "while (!signal.aborted) {": {true, true}, "if err != nil {": {true, false}, "} else {": {true, false}, "try {": {true, false}, "} catch (error) {": {true, false},
		"else:": {true, false}, "for {": {true, false}, "default:": {true, false}, "return nil": {false, false}, "return fmt.Errorf(\"take: %w\", err)": {false, true}, "raise KeyError(name, kind)": {false, true},
		"throw new UnknownSessionError(id);": {false, true}, "form.submit()": {}, "if_ready := true": {}, "default = x": {}, "withOpeners(picks)": {}, "caseOf(1)": {}, "": {}, "form {": {}, "continue": {},
	} {
		if got := [2]bool{outline.Conditions(line), outline.Controls(line)}; got != want {
			t.Errorf("%q: %v, want %v", line, got, want)
		}
	}
}

// TestConditionAboveStatement: a statement of a file stands below its condition, or it would seem to be reached always.
func TestConditionAboveStatement(t *testing.T) {
	var b strings.Builder
	b.WriteString("package queue\n\nfunc takeNext(jobs []Job) error {\n")
	for i := range 60 {
		fmt.Fprintf(&b, "\tstep%dDone := prepareStep%d(jobs)\n\n", i, i)
	}
	b.WriteString("\tif len(jobs) == 0 {\n\t\treturn errQueueDrained\n\t}\n\treturn nil\n}\n")
	for _, numbered := range []bool{false, true} {
		text, lines := b.String(), strings.Split(b.String(), "\n")
		if numbered {
			text = ""
			for i, l := range lines {
				text += fmt.Sprintf("%6d→%s\n", i+1, l)
			}
		}
		got := ToolOutput(Input{ToolName: "Read", Arguments: []byte(`{"file_path":"queue.go"}`), Content: text, MaxChars: 800, Earlier: []string{"where is errQueueDrained returned?"}}).Text
		if !strings.Contains(got, "124|if len(jobs) == 0 {\n return errQueueDrained") {
			t.Errorf("numbered %t:\n%s", numbered, got)
		}
	}
}

// TestDeclarationThatIsLookedFor: of many declarations, one that the talk names is shown or named with its line.
func TestDeclarationThatIsLookedFor(t *testing.T) {
	var b strings.Builder
	for i := range 200 {
		fmt.Fprintf(&b, "func handle%dRequest(w http.ResponseWriter, r *http.Request) {\n\tserve%dFrom(store%d, w)\n}\n\n", i, i, i)
	}
	got := ToolOutput(Input{ToolName: "Read", Arguments: []byte(`{"file_path":"serve.go"}`), Content: b.String(), MaxChars: 800, Earlier: []string{"Look at handle117Request."}}).Text
	if !strings.Contains(got, "469|func handle117Request(") && !strings.Contains(got, "469 handle117Request") {
		t.Error(got)
	}
}

// TestAnswerOfReport: the list that the call asked for is shown as a whole, below its heading.
func TestAnswerOfReport(t *testing.T) {
	report := "# Upload Client\n\n## Overview\nThe client lives in one package and talks to the server by HTTP, as all of them do.\n\n## Tested\n" + strings.Repeat("- `TestPutOfOneFile` uploads a file of one megabyte and compares its digest\n", 12) +
		"\n## Gaps\n1. **A retry after 499**: no test makes the server cut it\n2. **An unknown key**: the second posting is never checked\n3. **Validate**: it has no test at all, of any kind\n4. **A state that was cut off**: no caller handles its error\n5. **A digest that differs**: only equal ones are compared\n6. **Two uploads at once**: saving is not atomic at all\n\n## Notes\nThe test server has a helper that nobody uses.\n"
	for prompt, want := range map[string]int{"List the gaps in the tests.": 6, "Describe the client.": 3} {
		got := ToolOutput(Input{ToolName: "Task", MessageID: "m1", Arguments: []byte(fmt.Sprintf(`{"description":"Read the client","prompt":%q}`, prompt)), Content: report, MaxChars: 800, PreserveErrors: true}).Text
		shown := 0
		for i := 1; i <= 6; i++ {
			if strings.Contains(got, fmt.Sprintf("\n%d. **", i)) {
				shown++
			}
		}
		if shown < want || !strings.Contains(got, "## Gaps\n1. **A retry") {
			t.Errorf("%s: %d of the gaps in\n%s", prompt, shown, got)
		}
	}
}
