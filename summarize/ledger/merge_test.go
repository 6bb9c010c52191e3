package ledger

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"precis/events"
	"precis/summarize/lex"
)

// spans generates the messages of a thread, in adjoining spans.
func spans() *rapid.Generator[[][]Message] {
	return rapid.Custom(func(t *rapid.T) [][]Message {
		var all [][]Message
		at := uint64(0)
		for range rapid.IntRange(1, 6).Draw(t, "spans") {
			var span []Message
			for range rapid.IntRange(1, 12).Draw(t, "messages") {
				at++
				m := message(t, at)
				span = append(span, Message{Ordinal: at, Message: m})
				for _, call := range m.ToolCalls { // no cut parts a call from its result
					at++
					answer := &events.Message{MessageID: fmt.Sprintf("m%d", at), Role: events.RoleTool, ToolCallID: call.ID, ToolName: call.Name, Content: events.TextContent("done")}
					span = append(span, Message{Ordinal: at, Message: answer})
				}
			}
			all = append(all, span)
		}
		return all
	})
}

func message(t *rapid.T, at uint64) *events.Message {
	m := &events.Message{MessageID: fmt.Sprintf("m%d", at), Role: events.RoleAssistant}
	path := rapid.SampledFrom([]string{"/w/a.go", "/w/b.go", "c/d_test.py", "Ünïcode.md", "x"}).Draw(t, "path")
	args := fmt.Sprintf(`{"file_path":%q,"content":"func ParseHeader_%d() {}"}`, path, at)
	switch rapid.IntRange(0, 5).Draw(t, "kind") {
	case 0:
		m.Role, m.Content = events.RoleUser, events.TextContent("Always read "+path+" first. Then go on with part "+fmt.Sprint(at))
	case 1:
		tool := rapid.SampledFrom([]string{"Write", "Read"}).Draw(t, "tool")
		m.ToolCalls = []events.ToolCall{{ID: m.MessageID, Name: tool, Arguments: jsontext.Value(args)}}
	case 2:
		m.ToolCalls = []events.ToolCall{{ID: m.MessageID, Name: "bash", Arguments: jsontext.Value(`{"command":"go vet ./... && rm -f /w/a.go"}`)}}
	case 3:
		m.ToolCalls = []events.ToolCall{{ID: m.MessageID, Name: "TodoWrite", Arguments: jsontext.Value(fmt.Sprintf(`{"todos":[{"content":"part %d","status":"pending"}]}`, at))}}
	case 4:
		bad := true
		m.Role, m.ToolCallID, m.ToolName, m.IsError = events.RoleTool, "elsewhere", "bash", &bad
		m.Content = events.TextContent(fmt.Sprintf("error: %s:%d: undefined: someName", path, at))
	default:
		m.Content = events.TextContent("I changed readHeader2 in " + path + ".")
	}
	return m
}

// Merge is associative, and merging spans' ledgers in any grouping loses nothing.
func TestMergeIsAssociative(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var leaves []Ledger
		for _, s := range spans().Draw(t, "spans") {
			leaves = append(leaves, Collect(s))
		}
		left, right := Ledger{}, Ledger{}
		for i := range leaves {
			left = Merge(left, leaves[i])
			right = Merge(leaves[len(leaves)-1-i], right)
		}
		if a, b := encoded(t, left), encoded(t, right); a != b {
			t.Fatalf("grouping matters:\n%s\n%s", a, b)
		}
	})
}

// Collecting two spans as one, or each separately and then merging, gives the same artifacts.
func TestMergeIsCollecting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var merged Ledger
		all := slices.Concat(spans().Draw(t, "spans")...)
		n := rapid.IntRange(0, len(all)).Draw(t, "split")
		for n < len(all) && all[n].Role == events.RoleTool {
			n++
		}
		merged = Merge(Collect(all[:n]), Collect(all[n:]))
		whole := Collect(all)
		if a, b := encoded(t, merged), encoded(t, whole); a != b {
			t.Fatalf("%s\n%s", a, b)
		}
	})
}

func encoded(t *rapid.T, l Ledger) string {
	data, err := json.Marshal(l)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// A stored ledger is read back unchanged.
func TestLedgerIsStored(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := Collect(slices.Concat(spans().Draw(t, "spans")...))
		l.Omitted = Counts{Files: 1, Runs: 2, Tasks: 400, Requests: 5}
		data, err := l.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		var back Ledger
		if err := back.UnmarshalBinary(data); err != nil {
			t.Fatal(err)
		}
		if encoded(t, back) != encoded(t, l) {
			t.Fatalf("differs:\n%s\n%s", encoded(t, l), encoded(t, back))
		}
		if err := back.UnmarshalBinary(data[:len(data)-1]); !errors.Is(err, ErrFormat) {
			t.Fatal(err)
		}
	})
}

func TestNoFieldOfLedgerIsForgotten(t *testing.T) {
	var want, got Ledger
	fill(reflect.ValueOf(&want).Elem(), new(int64))
	data, err := want.MarshalBinary()
	if err == nil {
		err = got.UnmarshalBinary(data)
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("got %+v, %v, want %+v", got, err, want)
	}
}

// fill gives every field a distinct value.
func fill(v reflect.Value, n *int64) {
	switch *n++; v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), n)
		}
	case reflect.Slice, reflect.Array:
		if v.Kind() == reflect.Slice {
			v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		}
		for i := range v.Len() {
			fill(v.Index(i), n)
		}
	case reflect.String:
		v.SetString(fmt.Sprint("s", *n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int:
		v.SetInt(*n)
	case reflect.Uint64:
		v.SetUint(uint64(*n))
	default:
		panic(v.Kind())
	}
}

// Merging many spans at once equals merging them one by one.
func TestMergeOfMany(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var spansOf []Ledger
		var one Ledger
		for _, s := range spans().Draw(t, "spans") {
			spansOf = append(spansOf, Collect(s))
			one = Merge(one, Collect(s))
		}
		if a, b := encoded(t, Merge(spansOf...)), encoded(t, one); a != b {
			t.Fatalf("%s\n%s", a, b)
		}
	})
}

// Trim keeps its bounds and counts what it drops. The first request stays, and written files go last.
func TestTrim(t *testing.T) {
	l := Ledger{Messages: 1}
	for i := range 400 {
		at := uint64(i + 1)
		l.Requests = append(l.Requests, Note{Text: fmt.Sprintf("Please write part %d of it, %s", i, strings.Repeat("long ", 100)), First: at, Last: at})
		l.Decisions = append(l.Decisions, Note{Text: fmt.Sprintf("I decided on part %d.", i), Rank: i % 2, First: at, Last: at})
		l.Runs = append(l.Runs, Run{Line: fmt.Sprintf("make part%d", i), First: at, Last: at})
		l.Files = append(l.Files, File{Path: fmt.Sprintf("f%d", i), Read: 1, Touched: at})
	}
	l.Files[0].Written = 1
	cut := l.Trim()
	if len(cut.Requests) != maxNotes || cut.Omitted.Requests != 400-maxNotes || cut.Requests[0].Text != l.Requests[0].Text || cut.Requests[maxNotes-1].Text != l.Requests[399].Text {
		t.Errorf("%d requests, %d dropped, from %q to %q", len(cut.Requests), cut.Omitted.Requests, cut.Requests[0].Text, cut.Requests[maxNotes-1].Text)
	}
	if n := lex.Runes(cut.Requests[1].Text); n > maxOlder {
		t.Errorf("an older request has %d characters", n)
	}
	if len(cut.Decisions) != maxNotes || cut.Decisions[0].Rank != 1 {
		t.Errorf("decisions %+v", cut.Decisions[0])
	}
	if len(cut.Runs) != maxRuns || len(cut.Files) != maxFiles || cut.Files[0].Path != "f0" || cut.Omitted != (Counts{Requests: 340, Runs: 340, Files: 100}) {
		t.Errorf("%d runs, %d files, first %s, dropped %+v", len(cut.Runs), len(cut.Files), cut.Files[0].Path, cut.Omitted)
	}
}

// Through any number of passes the first request and every written file stay in the text, as long as they fit at all; and
// the text keeps its length limit.
func TestRollUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l Ledger
		for _, s := range spans().Draw(t, "spans") {
			l = Join([]Ledger{l, Collect(s).Trim()})
			text := l.Text(2000)
			if lex.Runes(text) > 2000 {
				t.Fatalf("%d characters", lex.Runes(text))
			}
			for _, f := range l.Files {
				if (f.Written > 0 || f.Deleted > 0) && !strings.Contains(text, base(f.Path)) {
					t.Fatalf("%s is not in\n%s", f.Path, text)
				}
			}
			if len(l.Requests) > 0 && !strings.Contains(text, goalOf(l.Requests).Text) {
				t.Fatalf("the first request is not in\n%s", text)
			}
		}
	})
}
