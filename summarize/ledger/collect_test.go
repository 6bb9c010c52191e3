package ledger

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"precis/events"
)

// script builds messages from lines: "user: text", "assistant: text", "call NAME {arguments}", "ok: output",
// "fail: output" (of the previous call; \n in an output is a line break).
func script(lines string) []Message {
	var list []Message
	var last events.ToolCall
	for line := range strings.SplitSeq(strings.TrimSpace(lines), "\n") {
		line = strings.TrimSpace(line)
		m := events.Message{MessageID: fmt.Sprintf("m%d", len(list)+1)}
		kind, rest, _ := strings.Cut(line, " ")
		if kind != "call" {
			rest = strings.ReplaceAll(rest, `\n`, "\n")
		}
		switch kind {
		case "call":
			name, args, _ := strings.Cut(rest, " ")
			last = events.ToolCall{ID: fmt.Sprintf("c%d", len(list)), Name: name, Arguments: jsontext.Value(args)}
			m.Role, m.ToolCalls = events.RoleAssistant, []events.ToolCall{last}
		case "ok:", "fail:":
			failed := kind == "fail:"
			m.Role, m.ToolCallID, m.ToolName, m.IsError = events.RoleTool, last.ID, last.Name, &failed
			m.Content = events.TextContent(rest)
		default:
			m.Role, m.Content = strings.TrimSuffix(kind, ":"), events.TextContent(rest)
		}
		list = append(list, Message{Ordinal: uint64(len(list) + 1), Message: &m})
	}
	return list
}

// TestFiles covers the file tools of many vendors.
func TestFiles(t *testing.T) {
	tests := []struct{ name, script, want string }{
		{"claude code", `
			call Read {"file_path":"/w/a.go"}
			call Edit {"file_path":"/w/a.go","old_string":"x","new_string":"y"}
			call Write {"file_path":"/w/b.go","content":"package b"}
			call NotebookEdit {"notebook_path":"/w/n.ipynb","new_source":"1"}`,
			"/w/a.go read 1 written 1, /w/b.go written 1, /w/n.ipynb written 1"},
		{"editor with commands", `
			call str_replace_editor {"command":"view","path":"/w/a.py"}
			call str_replace_editor {"command":"create","path":"/w/b.py","file_text":"pass"}
			call str_replace_editor {"command":"str_replace","path":"/w/a.py","old_str":"x","new_str":"y"}`,
			"/w/a.py read 1 written 1, /w/b.py written 1 created"},
		{"patches", `
			call apply_patch {"input":"*** Begin Patch\n*** Update File: src/a.ts\n@@\n*** Add File: src/b.ts\n+x\n*** Delete File: src/c.ts\n*** End Patch"}`,
			"src/a.ts written 1, src/b.ts written 1 created, src/c.ts deleted"},
		{"mcp", `call mcp__files__create_file {"path":"docs/x.md","content":"#"}`, "docs/x.md written 1 created"},
		{"arguments as a string", `call edit_file "{\"path\":\"a.c\",\"content\":\"int\"}"`, "a.c written 1"},
		{"shell", `
			call bash {"command":"cat src/in.txt | grep x > out/res.txt && rm -f old.log && mv a.txt b.txt"}
			call bash {"command":"sed -i 's/a/b/' conf/app.yaml; touch new.md"}
			call bash {"command":"cat > gen.py <<'EOF'\nprint(1) > nothing.txt\nEOF\nls"}`,
			"a.txt deleted, b.txt written 1 created, conf/app.yaml written 1, gen.py written 1, new.md written 1 created, old.log deleted, out/res.txt written 1, src/in.txt read 1"},
		{"swe-agent", `
			call open {"command":"open src/x.py 10"}
			call edit {"command":"edit 3:4\nreturn 1\nend_of_edit"}
			call create {"command":"create t.py"}`,
			"src/x.py read 1 written 1, t.py written 1 created"},
		{"no file", `
			call create_issue {"title":"x.go is broken"}
			call Grep {"pattern":"edit","path":"src"}`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := filesOf(Collect(script(tt.script))); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func filesOf(l Ledger) string {
	slices.SortFunc(l.Files, func(a, b File) int { return cmp.Compare(a.Path, b.Path) })
	var out []string
	for _, f := range l.Files {
		s := f.Path
		for _, n := range []struct {
			what  string
			count int
		}{{"read", f.Read}, {"written", f.Written}} {
			if n.count > 0 {
				s += fmt.Sprintf(" %s %d", n.what, n.count)
			}
		}
		if f.Created {
			s += " created"
		}
		if f.Deleted > f.Changed {
			s += " deleted"
		}
		out = append(out, s)
	}
	return strings.Join(out, ", ")
}

func TestCommandsAndErrors(t *testing.T) {
	l := Collect(script(`
		call bash {"command":"cd /w && go test ./..."}
		fail: Exit code 1\nx_test.go:12: want 3, got 4\nerror: build failed at 12
		call bash {"command":"go test ./..."}
		fail: Exit code 1\nerror: build failed at 90
		call bash {"command":"go test ./..."}
		ok: compiling\nok  	w	0.1s
		call bash {"command":"make lint"}
		ok: Process exited with code 2`))
	if len(l.Commands) != 2 {
		t.Fatalf("commands %+v", l.Commands)
	}
	c := l.Commands[0]
	if c.Line != "go test ./..." || c.Runs != 3 || c.Failed != 2 || c.Bad || !strings.HasPrefix(c.Result, "ok") {
		t.Errorf("command %+v", c)
	}
	if !l.Commands[1].Bad {
		t.Errorf("a stated exit code is not seen: %+v", l.Commands[1])
	}
	if len(l.Errors) == 0 || l.Errors[0].Seen != 2 || l.Errors[0].First != 2 || l.Errors[0].Last != 4 {
		t.Errorf("errors %+v", l.Errors)
	}
}

func TestTasks(t *testing.T) {
	tests := []struct{ name, script, want string }{
		{"the last whole list counts", `
			call TodoWrite {"todos":[{"content":"a","status":"in_progress"},{"content":"b","status":"pending"}]}
			call TodoWrite {"todos":[{"content":"a","status":"completed"},{"content":"c","status":"pending"}]}`,
			"a completed, c pending"},
		{"plan with steps", `call update_plan {"plan":[{"step":"look","status":"completed"},{"step":"write","status":"in_progress"}]}`,
			"look completed, write in_progress"},
		{"one by one", `
			call TaskCreate {"subject":"fix it","description":"d"}
			ok: Task #7 created successfully
			call TaskUpdate {"taskId":"7","status":"completed"}`, "fix it completed"},
		{"a subagent is no task", `call Task {"description":"look","prompt":"look around"}`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, task := range Collect(script(tt.script)).Tasks {
				got = append(got, task.Title+" "+task.Status)
			}
			if s := strings.Join(got, ", "); s != tt.want {
				t.Errorf("got %s, want %s", s, tt.want)
			}
		})
	}
}

func TestRequests(t *testing.T) {
	l := Collect(script(`
		user: <system-reminder>never mind</system-reminder>
		user: [Request interrupted by user]
		user: Fix the parser. Never touch the generated files. Thanks`))
	if len(l.Requests) != 2 || l.Requests[0].Standing || l.Requests[1].Text != "Never touch the generated files." || !l.Requests[1].Standing {
		t.Errorf("requests %+v", l.Requests)
	}
}

// A result whose call is outside the span is read on its own; one whose call is inside counts once.
func TestResultWithoutItsCall(t *testing.T) {
	lone := script(`
		call Write {"file_path":"a.go","content":"x"}
		ok: done`)[1:]
	lone[0].Arguments = jsontext.Value(`{"file_path":"a.go","content":"x"}`)
	if got := filesOf(Collect(lone)); got != "a.go written 1" {
		t.Errorf("got %q", got)
	}
	whole := script(`
		call Write {"file_path":"a.go","content":"x"}
		ok: done`)
	whole[1].Arguments = whole[0].ToolCalls[0].Arguments
	if got := filesOf(Collect(whole)); got != "a.go written 1" {
		t.Errorf("got %q", got)
	}
}

// Calls of tools that neither run a shell nor work on files are described by their arguments.
func TestOtherCalls(t *testing.T) {
	l := Collect(script(`
		call book_reservation {"user_id":"mia_li_3668","flights":[{"number":"HAT136"}],"bags":2}
		ok: {"reservation_id":"HATHAT"}
		call cancel_reservation {"reservation_id":"8JX2WO"}
		fail: Error: reservation is not found`))
	var got []string
	for _, c := range l.Commands {
		got = append(got, c.line())
	}
	want := "- book_reservation HAT136 mia_li_3668 → ok\n- cancel_reservation 8JX2WO → failed: Error: reservation is not found"
	if s := strings.Join(got, "\n"); s != want {
		t.Errorf("got\n%s", s)
	}
}

// The letter of an escaped line end or tab is not part of a word; the letter in a path is.
func TestEscapedWords(t *testing.T) {
	var words []string
	eachWord(`"\n\tEndedAt \tSetUp\nnewName done\nTheEnd C:\temp_a C:\nProject D:\tools\New_b src\tRPC_c \n`, func(w string) { words = append(words, w) })
	want := []string{"EndedAt", "SetUp", "nnewName", "TheEnd", "temp_a", "nProject", "New_b", "tRPC_c"}
	if !slices.Equal(words, want) {
		t.Errorf("%q, want %q", words, want)
	}
}

// TestColouredWords: a terminal's colour codes are not part of the words after them.
func TestColouredWords(t *testing.T) {
	var words []string
	eachWord("\x1b[1mPlan_a:\x1b[0m \x1b[38;5;12mlib/http.go\x1b[?25l9_dots \x1b[12 \x1b", func(w string) { words = append(words, w) })
	if got, want := strings.Join(words, " "), "Plan_a lib/http.go 9_dots"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
