package sessions

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/go-json-experiment/json/jsontext"

	"precis/events"
	"precis/internal/race"
)

// samples are sessions of each format, with what they become beside them.
func samples(t testing.TB) []string {
	t.Helper()
	names, err := filepath.Glob("testdata/*.json*")
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	return slices.DeleteFunc(names, func(name string) bool { return strings.HasSuffix(name, ".golden") })
}

// formatIn is the format that a sample's name says.
func formatIn(name string) string {
	base, _, _ := strings.Cut(filepath.Base(name), ".")
	for _, format := range slices.Backward(Formats()) {
		if strings.HasPrefix(base, format) {
			return format
		}
	}
	return ""
}

// mapped is a file's events as an event file, its broken lines, and what no event stands for.
func mapped(t testing.TB, in io.Reader, format, name string) string {
	t.Helper()
	var out bytes.Buffer
	f, err := Open(in, format, Options{Name: name})
	if err != nil {
		return err.Error() + "\n"
	}
	file := events.NewFileWriter(&out)
	for {
		event, err := f.Next()
		switch {
		case errors.Is(err, io.EOF):
			for _, u := range f.Unmapped() {
				fmt.Fprintf(&out, "unmapped: %s: %d, line %d\n", u.Kind, u.Count, u.Line)
			}
			return out.String()
		case err != nil:
			fmt.Fprintf(&out, "broken: %v\n", err)
		default:
			fmt.Fprintf(&out, "%d ", event.Line)
			if err := file.Write(event.Type, event.Thread, event.Data); err != nil {
				t.Fatal(err)
			}
			if reject := rejected(event); reject != nil {
				fmt.Fprintf(&out, "rejected: %v\n", reject)
			}
		}
	}
}

func rejected(e events.FileEvent) error {
	subject, err := e.Subject()
	if err != nil {
		return err
	}
	if _, reject := events.Decode(events.Raw{Subject: subject, Body: e.Data}, events.Limits{}); reject != nil {
		return reject
	}
	return nil
}

// Each sample becomes what stands beside it: named, found out, in gzip, and byte by byte.
func TestSamplesBecomeEvents(t *testing.T) {
	for _, name := range samples(t) {
		t.Run(filepath.Base(name), func(t *testing.T) {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			got := mapped(t, bytes.NewReader(text), formatIn(name), name)
			if os.Getenv("UPDATE_GOLDEN") != "" {
				if err := os.WriteFile(name+".golden", []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(name + ".golden")
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("UPDATE_GOLDEN=1 writes it\ngot\n%s\nwant\n%s", got, want)
			}
			if strings.Contains(got, "rejected: ") {
				t.Errorf("events are not valid\n%s", got)
			}
			var zipped bytes.Buffer
			z := gzip.NewWriter(&zipped)
			if _, err := z.Write(text); err != nil {
				t.Fatal(err)
			}
			if err := z.Close(); err != nil {
				t.Fatal(err)
			}
			for how, in := range map[string]io.Reader{
				"auto": bytes.NewReader(text), "gzip": &zipped, "bytes": iotest.OneByteReader(bytes.NewReader(text)),
				"mark": io.MultiReader(strings.NewReader("\uFEFF"), bytes.NewReader(text)),
			} {
				if again := mapped(t, in, FormatAuto, name); again != got {
					t.Errorf("%s: %s\ninstead of\n%s", how, again, got)
				}
			}
		})
	}
}

// What is read of a file that is still written are the first events of the whole: nothing that was published is taken back.
func TestAFileThatGrows(t *testing.T) {
	for _, name := range samples(t) {
		if !formatOf(formatIn(name)).watched {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		whole := pushed(t, name, text, false)
		lines := bytes.SplitAfter(text, []byte("\n"))
		for n := range lines {
			got := pushed(t, name, bytes.Join(lines[:n], nil), false)
			if len(got) > len(whole) || !slices.Equal(got, whole[:len(got)]) {
				t.Fatalf("%s: the first %d lines become\n%s\nand all of them\n%s", name, n, strings.Join(got, "\n"), strings.Join(whole, "\n"))
			}
		}
	}
}

// pushed maps complete lines.
func pushed(t testing.TB, name string, text []byte, flush bool) (list []string) {
	t.Helper()
	lines, err := NewLines(formatIn(name), Options{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	add := func(events []events.FileEvent) {
		for _, e := range events {
			list = append(list, fmt.Sprint(e.Line, e.Type, e.Thread, string(e.Data)))
		}
	}
	for line := range bytes.Lines(text) {
		got, _ := lines.Push(line)
		add(got)
	}
	if flush {
		add(lines.Flush())
	}
	return list
}

// A session that is read as one of another agent is refused before it becomes an event: a whole one became a message of its own thread.
func TestAnotherFormatIsRefused(t *testing.T) {
	refused := 0
	for _, name := range samples(t) {
		for _, as := range Formats() {
			if is := formatIn(name); as == is || formatOf(is).loose {
				continue
			}
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			f, err := Open(bytes.NewReader(text), as, Options{Name: name})
			for err == nil {
				var e events.FileEvent
				if e, err = f.Next(); err == nil {
					t.Errorf("%s as %s: %s", name, as, e.Data)
				} else if !errors.Is(err, io.EOF) && !errors.As(err, new(*OtherFormatError)) {
					err = nil // a line of a document
				}
			}
			var other *OtherFormatError
			if document := formatOf(formatIn(name)).documents && !formatOf(as).documents; document && errors.Is(err, io.EOF) {
				continue
			}
			if !errors.As(err, &other) || other.As != as || other.Is != formatIn(name) {
				t.Errorf("%s as %s: %v", name, as, err)
			}
			refused++
		}
	}
	if refused < 50 {
		t.Errorf("only %d files were read as another format", refused)
	}
}

// A format is told by the lines that say it, whatever stands before them, and nothing is guessed.
func TestFormatsAreTold(t *testing.T) {
	for text, want := range map[string]string{
		"{\"role\":\"user\",\"content\":\"x\"}\n":                                                      "openai",
		"not JSON\n\n{\"type\":\"unknown\"}\n{\"messages\":[{\"role\":\"user\",\"content\":\"x\"}]}\n": "openai",
		`{"type":"thread.message","thread_id":"t","message_id":"m","role":"user","content":"x"}`:       FormatEvents,
		"[\n{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"a\"}]}\n]":     "anthropic",
		"[\n{\"name\":\"x\"}\n]": "", "": FormatEvents, " \n": FormatEvents, "\x00\x01": "", `{"a":1}`: "", "[]": "", "null\n": "", `{"messages":[]}`: "", "\x1f\x8b": "open",
		"{\"type\":\"user\"}": "",
	} {
		f, err := Open(strings.NewReader(text), FormatAuto, Options{})
		switch {
		case want == "open":
			if err == nil || errors.Is(err, ErrFormat) {
				t.Errorf("%q: %v", text, err)
			}
		case want == "":
			if !errors.Is(err, ErrFormat) {
				t.Errorf("%q: %v", text, err)
			}
		case err != nil || f.Format() != want:
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	if _, err := Open(strings.NewReader("x"), "no-such-format", Options{}); !errors.Is(err, ErrFormat) {
		t.Error(err)
	}
}

// Hostile files cost what they must, and the lines beside them come through.
func TestHostileFiles(t *testing.T) {
	race.Slow(t)
	const (
		head = `{"type":"user","sessionId":"s","uuid":"u1","message":{"role":"user","content":"before"}}` + "\n"
		tail = "\n" + `{"type":"user","sessionId":"s","uuid":"u2","message":{"role":"user","content":"behind"}}` + "\n"
	)
	for name, middle := range map[string]string{
		"100 MB in a line": strings.Repeat("a", 100<<20), "NUL": "\x00\x00\x00", "no UTF-8": "\xff\xfe\xfd", "cut": `{"type":"user","mess`, "null": "null", "a list": "[1,2]",
		"deep": strings.Repeat("[", 20_000), "a number": "1e999", "text": `"text"`, "empty lines": "\n\n\r\n",
		"parents in a circle": `{"type":"progress","uuid":"p1","parentUuid":"p2","sessionId":"s"}` + "\n" + `{"type":"progress","uuid":"p2","parentUuid":"p1","sessionId":"s"}`,
		"its own parent":      `{"type":"progress","uuid":"p1","parentUuid":"p1","sessionId":"s","isSidechain":true}`,
		"long ids":            `{"type":"user","uuid":"` + strings.Repeat("u", 300) + `","sessionId":"s","message":{"role":"user","content":"x"}}`,
		"odd members":         `{"type":"user","uuid":7,"sessionId":[],"message":{"role":[],"content":{}}}` + "\n" + `{"type":"assistant","message":{"content":7,"usage":{"input_tokens":-1}}}`,
	} {
		got := mapped(t, io.MultiReader(strings.NewReader(head), strings.NewReader(middle), strings.NewReader(tail)), "claude-code", name)
		if !strings.Contains(got, "before") || !strings.Contains(got, "behind") || strings.Contains(got, "rejected: ") {
			t.Errorf("%s: %.2000s", name, got)
		}
	}
}

// Turns that no message says may be equal; their records have ids of their own, the same whenever the thread is written.
func TestMadeTurns(t *testing.T) {
	call := Turn{Role: events.RoleAssistant, Content: jsontext.Value(`[{"type":"tool_use","id":"c","name":"bash","input":{}}]`)}
	said := Turn{Role: events.RoleUser, Content: jsontext.Value(`[{"type":"text","text":"(no text)"}]`)}
	written := func() string {
		var b bytes.Buffer
		if _, _, err := WriteClaudeCode(&b, Transcript{Thread: "t", CWD: "/src", Turns: []Turn{call, said, call, said, call}}); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	ids, messages := map[string]bool{}, map[string]bool{}
	first := written()
	for line := range strings.Lines(first) {
		o := objectOf([]byte(line))
		if id := o.text("uuid"); ids[id] || o.has("parentUuid") && o.text("parentUuid") != "" && !ids[o.text("parentUuid")] {
			t.Errorf("the id is used again, or its parent is not before it: %s", line)
		} else {
			ids[id] = true
		}
		if id := o.object("message").text("id"); id != "" && messages[id] {
			t.Errorf("the message's id is used again: %s", line)
		} else {
			messages[id] = true
		}
	}
	if len(ids) != 5 || written() != first {
		t.Errorf("%d records, not the same again", len(ids))
	}
}

// A damaged archive ends with its error, once.
func TestADamagedArchive(t *testing.T) {
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	for range 2000 {
		fmt.Fprintf(z, "{\"role\":\"user\",\"content\":%q}\n", "x")
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	got := mapped(t, bytes.NewReader(zipped.Bytes()[:zipped.Len()-6]), "openai", "x")
	if strings.Count(got, "broken: ") != 1 || !strings.Contains(got, "read gzip: unexpected EOF") {
		t.Errorf("%.300s … %s", got, got[max(0, len(got)-300):])
	}
}

// Any file is read to its end, and read again gives the same events, all of them valid.
func FuzzOpen(f *testing.F) {
	for _, name := range samples(f) {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, format := range append(Formats(), FormatAuto) {
			got := mapped(t, bytes.NewReader(text), format, "name")
			if again := mapped(t, bytes.NewReader(text), format, "name"); again != got {
				t.Errorf("%s: read again: %s\ninstead of\n%s", format, again, got)
			}
		}
	})
}
