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
				span = append(span, Message{Ordinal: at, Message: message(t, at)})
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
		l.Omitted = Omitted{Files: 1, Commands: 2, Errors: 3, Tasks: 400, Requests: 5}
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
		for n := range data {
			if err := back.UnmarshalBinary(data[:n]); !errors.Is(err, ErrFormat) {
				t.Fatalf("its first %d bytes: %v", n, err)
			}
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

// Data that is not a ledger is refused, and allocates no more than its own size allows.
func FuzzUnmarshalBinary(f *testing.F) {
	data, err := Collect(longSpan(2)).Trim(Limits{Lines: 200, Words: 3}).MarshalBinary()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte{formatVersion, 1, 2, 1, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		var l, again Ledger
		if l.UnmarshalBinary(data) != nil {
			return
		}
		back, err := l.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		if err := again.UnmarshalBinary(back); err != nil || !reflect.DeepEqual(again, l) {
			t.Fatalf("%+v came back as %+v: %v", l, again, err)
		}
	})
}

// Condense is equivalent to Trim followed by Renderer, at any length.
func TestCondense(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := spans().Draw(t, "spans")
		var ledgers []Ledger
		for _, s := range all {
			ledgers = append(ledgers, Collect(s))
		}
		var kept []Message
		if rapid.Bool().Draw(t, "kept") {
			kept = all[len(all)-1]
		}
		merged := Merge(ledgers...)
		l, write := Condense(merged, kept)
		want := merged.Trim(DefaultLimits())
		if a, b := encoded(t, l), encoded(t, want); a != b {
			t.Fatalf("%s\n%s", a, b)
		}
		for _, chars := range []int{2000, 1500, 300, 60, 2000} {
			if a, b := write(chars), Renderer(want, kept)(chars); a != b {
				t.Fatalf("%s\n%s", a, b)
			}
		}
	})
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

// Trim keeps its limits and counts what it drops; written files go last.
func TestTrim(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := Collect(slices.Concat(spans().Draw(t, "spans")...))
		lim := Limits{Files: 2, Commands: 1, Errors: 2, Tasks: 1, Requests: 3, Lines: 200, Words: 5}
		cut := l.Trim(lim)
		sizes := []struct{ before, after, limit, omitted int }{
			{len(l.Files), len(cut.Files), lim.Files, cut.Omitted.Files},
			{len(l.Commands), len(cut.Commands), lim.Commands, cut.Omitted.Commands},
			{len(l.Errors), len(cut.Errors), lim.Errors, cut.Omitted.Errors},
			{len(l.Tasks), len(cut.Tasks), lim.Tasks, cut.Omitted.Tasks},
			{len(l.Requests), len(cut.Requests), lim.Requests, cut.Omitted.Requests},
		}
		for i, s := range sizes {
			if s.after > s.limit || s.before-s.after != s.omitted {
				t.Fatalf("list %d: %+v", i, s)
			}
		}
		kept := func(path string) bool {
			return slices.ContainsFunc(cut.Files, func(f File) bool { return f.Path == path })
		}
		for _, f := range cut.Files {
			for _, g := range l.Files {
				if f.Written+int(f.Deleted) == 0 && g.Written > 0 && !kept(g.Path) {
					t.Fatalf("%s was read only and stays, %s was written and went", f.Path, g.Path)
				}
			}
		}
	})
}

// Every written file is named in the text, through any number of passes, as long as the names fit at all;
// and the text keeps its length limit.
func TestRollUpNamesWrittenFiles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l Ledger
		for _, s := range spans().Draw(t, "spans") {
			_, leaf := Leaf(s, 2000)
			var text string
			text, l = RollUp([]Ledger{l, leaf}, s, 2000)
			if runes(text) > 2000 {
				t.Fatalf("%d characters", runes(text))
			}
			for _, f := range l.Files {
				if f.Written > 0 && !strings.Contains(text, base(f.Path)) {
					t.Fatalf("%s is not in\n%s", f.Path, text)
				}
			}
		}
	})
}
