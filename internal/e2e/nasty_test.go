package e2e_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"precis/internal/race"
)

// nasty are tool outputs that have brought down what reads them: in size, in nesting, in what they look like.
func nasty() map[string]string {
	const mib = 1<<20 - 1000
	return map[string]string{
		"one character":        strings.Repeat("a", mib),
		"one space":            strings.Repeat(" ", mib),
		"newlines":             strings.Repeat("\n", mib/2),
		"carriage returns":     strings.Repeat("\r", mib/2),
		"progress bars":        strings.Repeat("\r[####    ] 50%", mib/20),
		"NULs":                 strings.Repeat("\x00", mib/6),
		"escape sequences":     strings.Repeat("\x1b[31;1m", mib/14),
		"unended escapes":      strings.Repeat("\x1b[", mib/14),
		"open braces":          strings.Repeat("{", mib),
		"open brackets":        strings.Repeat("[", mib),
		"nested JSON":          strings.Repeat(`{"a":[`, 20_000) + strings.Repeat(`]}`, 20_000),
		"quotes":               strings.Repeat(`"`, mib/2),
		"backslashes":          strings.Repeat(`\`, mib/2),
		"angle brackets":       strings.Repeat("<", mib),
		"one line of words":    strings.Repeat("word ", mib/5),
		"one long path":        strings.Repeat("dir/", mib/4),
		"colons":               strings.Repeat("a:", mib/2),
		"numbers":              strings.Repeat("1234567890", mib/10),
		"emoji":                strings.Repeat("👩‍👩‍👧‍👦", mib/60),
		"combining marks":      "e" + strings.Repeat("\u0301", mib/4),
		"right to left":        strings.Repeat("\u202e\u200fאב ", mib/20),
		"errors":               strings.Repeat("Error: it failed\n", mib/20),
		"stack traces":         strings.Repeat("  at f (file.js:1:1)\n", mib/30),
		"diff headers":         strings.Repeat("--- a/x\n+++ b/x\n@@ -1 +1 @@\n", mib/40),
		"grep lines":           strings.Repeat("a/b.go:12:func f()\n", mib/25),
		"ls lines":             strings.Repeat("-rw-r--r-- 1 root root 12 Jan 1 00:00 a\n", mib/50),
		"a JSON array":         "[" + strings.Repeat(`{"id":1,"name":"n"},`, mib/40) + `{}]`,
		"base64":               strings.Repeat("QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo=", mib/40),
		"marks of ours":        strings.Repeat("[✓ read_file: File: x | Lines: 1]\n", mib/50),
		"markers of omissions": strings.Repeat("[… 10 lines omitted: message m, lines 1-10]\n", mib/60),
		"markdown fences":      strings.Repeat("```\n", mib/5),
		"replacement":          strings.Repeat("\uFFFD", mib/4),
		"lines of one byte":    strings.Repeat("x\n", mib/3),
		"every code point":     everyRune(),
		"a pattern's worst":    strings.Repeat("a", mib/2) + "!" + strings.Repeat("=", mib/4),
		"keys":                 strings.Repeat("password=", mib/10),
		"URLs":                 strings.Repeat("http://", mib/8),
	}
}

func everyRune() string {
	var b strings.Builder
	for r := rune(0); r < 0x11000; r++ {
		if utf8.ValidRune(r) {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func TestNastyOutputs(t *testing.T) {
	race.Slow(t)
	w := begin(t, "partitions: 2\n")
	tools := []string{"bash", "read_file", "grep", "list_files", "web_search", "edit_file", "nobody's"}
	i := 0
	for name, content := range nasty() {
		tool := tools[i%len(tools)]
		i++
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			w.say("tool.result", name, object{"message_id": "m", "tool_name": tool, "content": content, "arguments": object{"path": content[:100]}})
			m := w.records(name, created)[0]
			valid(t, "summary.created", m.body)
			got := m.data(t)
			text := text(t, got, "content")
			if n := utf8.RuneCountInString(text); n > 800 || n == 0 {
				t.Errorf("%d characters", n)
			}
			if got["method"] != "rules" || got["fallback_reason"] != nil {
				t.Errorf("by %v, since %v", got["method"], got["fallback_reason"])
			}
			if strings.Contains(text, "\x1b") {
				t.Errorf("escape sequences: %q", text)
			}
			if took := time.Since(began); took > 300*time.Millisecond {
				t.Logf("%s with %s took %s", name, tool, took)
			}
		})
	}
}

// Events with very many small things in them.
func TestManyOfEverything(t *testing.T) {
	w := begin(t, "partitions: 1\n")
	var calls, parts []object
	for i := range 10_000 {
		calls = append(calls, object{"id": fmt.Sprint("c", i), "name": "f", "arguments": object{"n": i}})
		parts = append(parts, object{"type": "text", "text": fmt.Sprint(i)}, object{"type": fmt.Sprint("kind", i)})
	}
	seq := w.say("thread.message", "calls", object{"message_id": "m", "role": "assistant", "content": nil, "tool_calls": calls})
	w.counters("calls", seq, map[string]int64{"messages": 1, "rejected": 0})
	seq = w.say("tool.result", "parts", object{"message_id": "m", "content": parts})
	w.counters("parts", seq, map[string]int64{"tool_results": 1, "rejected": 0, "summaries_active": 1})
	got := w.answer("precis.message.get.parts", object{"message_id": "m"})
	if other := got["other_parts"].(object); len(other) != 10_000 || !strings.Contains(text(t, got, "content"), "[kind9999 part]") {
		t.Errorf("%d other parts", len(other))
	}
	// Hundreds of edits of one message, and of edits that wait.
	for i := range 300 {
		w.edit("edits", "m", fmt.Sprint("revision ", i))
	}
	seq = w.message("edits", "m", "at last")
	w.counters("edits", seq, map[string]int64{"messages": 1, "edits": 300, "rejected": 0})
	if got, revision := w.content("edits", "m"); got != "revision 299" || revision != 300 {
		t.Errorf("m is %v in revision %d", got, revision)
	}
}
