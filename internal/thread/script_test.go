package thread_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"precis/events"
	"precis/internal/thread"
)

// The scripts in testdata are the fold's readable specification. A line is a command, and behind " -> "
// what must come of it:
//
//	pending N                          limits.pending_edit_events
//	message ID ROLE "TEXT" [k=v …]     thread.message (calls=ID:ARGUMENTS with + for spaces, call=ID, policy=P, agent=A)
//	tool ID "TEXT" [k=v …]             tool.result
//	edit ID "TEXT" [id=E]              message.edited
//	delete ID [id=E]
//	json TYPE BODY                     any event, to the byte
//	created|invalidated|started|failed|usage ID [k=v …]   a record is folded in
//	header field=value …               counters that must hold
//	row ID field=value …               of a message's row
//	summary ID field=value …           of a summary's row
//
// An outcome is accepted, duplicate, ignored, held, or "rejected CODE"; "+ CODE SEQ" is an edit that was
// given up with it.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			runScript(t, string(text))
		})
	}
}

// runScript runs the stories of a file; each begins with a line "== what it is about".
func runScript(t *testing.T, text string) {
	b := newBook()
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if strings.HasPrefix(line, "== ") {
			b = newBook()
			continue
		}
		command, want, _ := strings.Cut(line, " -> ")
		got, err := b.run(fields(command))
		if err == nil && got != strings.TrimSpace(want) {
			err = fmt.Errorf("got %q", got)
		}
		if err == nil {
			err = b.sums()
		}
		if err != nil {
			t.Errorf("line %d: %s: %v", i+1, line, err)
		}
	}
}

// fields splits at spaces outside quotes and unquotes.
func fields(s string) []string {
	var list []string
	for s = strings.TrimSpace(s); s != ""; s = strings.TrimSpace(s) {
		if q, err := strconv.QuotedPrefix(s); err == nil {
			text, _ := strconv.Unquote(q)
			list, s = append(list, text), s[len(q):]
			continue
		}
		word, rest, _ := strings.Cut(s, " ")
		if word == "json" && len(list) == 0 {
			typ, body, _ := strings.Cut(strings.TrimSpace(rest), " ")
			return []string{word, typ, body}
		}
		list, s = append(list, word), rest
	}
	return list
}

func (b *book) run(f []string) (string, error) {
	switch verb, args := f[0], f[1:]; verb {
	case "pending":
		n, err := strconv.ParseUint(args[0], 10, 64)
		b.pending = n
		return "", err
	case "json":
		return told(b.publish(events.Type(args[0]), args[1])), nil
	case "message", "tool", "edit", "delete":
		typ, body := eventBody(verb, args)
		return told(b.publish(typ, body)), nil
	case "header":
		return "", holds(b.header, args)
	case "row":
		m, ok := b.messages[args[0]]
		if !ok {
			return "", fmt.Errorf("no row")
		}
		return "", holds(m, args[1:])
	case "summary":
		return "", holds(b.summaries[args[0]], args[1:])
	default:
		return "", b.record(verb, args[0], options(args[1:]))
	}
}

func told(res thread.Result) string {
	s := res.Outcome.String()
	list := res.Rejections
	if res.Outcome == thread.Rejected {
		s += " " + list[0].Reason.Code
		list = list[1:]
	}
	for _, r := range list {
		s += fmt.Sprintf(" + %s %d", r.Reason.Code, r.Seq)
	}
	return s
}

func eventBody(verb string, args []string) (events.Type, string) {
	q := strconv.Quote
	o := options(args)
	more := ""
	for key, name := range map[string]string{"call": "tool_call_id", "policy": "policy", "agent": "agent_id", "id": "edit_id", "at": "created_at"} {
		if v, ok := o[key]; ok {
			more += fmt.Sprintf(",%q:%q", name, v)
		}
	}
	if v, ok := o["calls"]; ok {
		id, arguments, _ := strings.Cut(v, ":")
		more += fmt.Sprintf(`,"tool_calls":[{"id":%q,"name":"bash","arguments":%q}]`, id, strings.ReplaceAll(arguments, "+", " "))
	}
	switch verb {
	case "message":
		return events.ThreadMessage, `{"message_id":` + q(args[0]) + `,"role":` + q(args[1]) + `,"content":` + q(args[2]) + more + `}`
	case "tool":
		return events.ToolResult, `{"message_id":` + q(args[0]) + `,"content":` + q(args[1]) + more + `}`
	case "edit":
		return events.MessageEdited, `{"message_id":` + q(args[0]) + `,"content":` + q(args[1]) + more + `}`
	}
	return events.MessageEdited, `{"message_id":` + q(args[0]) + `,"deleted":true` + more + `}`
}

func options(args []string) map[string]string {
	o := map[string]string{}
	for _, a := range args {
		if k, v, ok := strings.Cut(a, "="); ok {
			o[k] = v
		}
	}
	return o
}

// holds compares fields of a row by name; Text.Tokens names one inside another.
func holds(row any, args []string) error {
	for key, want := range options(args) {
		v := reflect.ValueOf(row)
		for _, name := range strings.Split(key, ".") {
			if v = v.FieldByName(name); !v.IsValid() {
				return fmt.Errorf("no field %s", key)
			}
		}
		if got := fmt.Sprint(v.Interface()); got != want {
			return fmt.Errorf("%s is %s", key, got)
		}
	}
	return nil
}
