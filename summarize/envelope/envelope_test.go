package envelope

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
)

// A case is what a tool returns and what it holds: text, exit code, `failed`, `quoted`, line, what is beside it. "-": it is not an envelope.
func TestOpen(t *testing.T) {
	long := strings.Repeat("a line of a document\n", 20)
	quoted := func(v any) string {
		text, err := json.Marshal(v, json.Deterministic(true))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for _, c := range []struct{ name, output, want string }{
		{"text", "ok\tshop/cart", "-"},
		{"quotes around words", `"a" and "b"`, "-"},
		{"a string", `"ok \tshop/cart\n--- FAIL: TestTotal\n"`, "ok \tshop/cart\n--- FAIL: TestTotal\n"},
		{"a string in a string", quoted(`"a\nb"`), "a\nb"},
		{"blanks around", "\n  \"a\\nb\"\n", "a\nb"},
		{"a string without its end", `"ok\n\tshop/cart 0.0`, "ok\n\tshop/cart 0.0"},
		{"cut within an escape", `"ok\nsch\u00f`, "ok\nsch"},
		{"cut within a pair of escapes", `"ok\n\ud83d\ude`, "ok\n\uFFFD"},
		{"a word with one quote", `"ok`, "-"},
		{"a message of more lines", "\"ok\n\\n", "-"},
		{"a surrogate alone", `"a\ud800b"`, "a\uFFFDb"},
		{"JSON in a string", `"{\"total\":3}"`, `{"total":3}`},
		{"content parts", `[{"type":"text","text":"a\nb"},{"type":"text","text":"c","annotations":null}]`, "a\nb\nc"},
		{"with an image", `[{"type":"text","text":"a"},{"type":"image","data":"AAAA","mimeType":"image/png"}]`, "a\n[image: image/png], 53 without"},
		{"only an image", `[{"type":"image","data":"AAAA","mimeType":"image/png"}]`, "-"},
		{"a resource", `[{"type":"resource","resource":{"uri":"file:///a","text":"a"}}]`, "a"},
		{"records with a text", `[{"type":"text","text":"a","author":"b"}]`, "-"},
		{"records", `[{"id":1},{"id":2}]`, "-"},
		{"no list of objects", `[1,2]`, "-"},
		{"MCP's result", `{"content":[{"type":"text","text":"a"}],"isError":true}`, "a, failed"},
		{"MCP's result with data", `{"content":[{"type":"text","text":"{\"a\":1}"}],"structuredContent":{"a":1},"isError":false}`, `{"a":1}, 7 without`},
		{"an output", `{"output":"a\nb"}`, "a\nb"},
		{"an output and its exit code", `{"output":"a","metadata":{"exit_code":1,"duration_seconds":0.2}}`, "a, exit 1, duration_seconds=0.2"},
		{"an object beside", `{"user":{"name":"ana"},"output":"a"}`, `a, user.name="ana"`},
		{"streams", `{"stdout":"a\n","stderr":"b","exitCode":0,"timedOut":false}`, "a\nb, exit 0"},
		{"streams the other way", `{"stderr":"b\n","stdout":"a longer one"}`, "b\na longer one"},
		{"one stream", `{"stdout":"","stderr":"b","code":2}`, "b, exit 2"},
		{"no stream", `{"stdout":"","stderr":""}`, ""},
		{"a stream twice", `{"output":"a b","stdout":"a"}`, "a b"},
		{"an error beside", `{"output":"a","error":"b"}`, "a\nb, failed"},
		{"no error", `{"output":"a","error":null}`, "a"},
		{"no success", `{"success":false,"result":"a"}`, "a, failed"},
		{"a status", `{"status":"failed","result":"a text of some length"}`, `a text of some length, failed, status="failed"`},
		{"an issue's status", `{"status":"failed","number":7,"body":` + quoted(long) + `}`, long + `, quoted, status="failed", number=7`},
		{"a file", `{"path":"a.go","start_line":12,"content":"package a\n\nfunc A() {}\n"}`, "package a\n\nfunc A() {}\n, line 12, path=\"a.go\", start_line=12"},
		{"another text", `{"id":3,"report":` + quoted(long) + `}`, long + ", quoted, id=3"},
		{"a script that is a record's", `{"id":3,"script":` + quoted(long) + `,"error":"","status":"ready"}`, long + `, quoted, id=3, status="ready"`},
		{"an input and an output", `{"id":3,"input":` + quoted(long+long) + `,"output":` + quoted(long) + `}`, "-"},
		{"two texts", `{"a":` + quoted(long) + `,"b":` + quoted(long) + `}`, "-"},
		{"a text and records", `{"body":` + quoted(long) + `,"files":[` + strings.Repeat(`{"path":"src/a.go"},`, 40) + `{}]}`, "-"},
		{"much beside", `{"content":` + quoted(long+long) + `,"x":` + quoted(strings.Repeat("x", 700)) + `}`, "-"},
		{"settings", `{"name":"shop","version":"1.2.3","scripts":{"test":"jest"}}`, "-"},
		{"a result of data", `{"result":{"id":3,"name":"a"}}`, "-"},
		{"a result of parts", `{"result":[{"type":"text","text":"a"}]}`, "a"},
		{"broken", `{"output":"a"`, "-"},
		{"two values", `{"output":"a"} {"output":"b"}`, "-"},
		{"nothing", "", "-"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o, ok := Open(c.output)
			got := say(o)
			if !ok {
				got += "-"
			}
			if got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// say is what was opened, in one line.
func say(o Opened) string {
	text := o.Text
	if o.Exit != nil {
		text += fmt.Sprintf(", exit %d", *o.Exit)
	}
	if o.Failed {
		text += ", failed"
	}
	if o.Quoted {
		text += ", quoted"
	}
	if o.Line > 0 {
		text += fmt.Sprintf(", line %d", o.Line)
	}
	for _, m := range o.Beside {
		text += ", " + m.Name + "=" + string(m.Value)
	}
	if o.Without > 0 {
		text += fmt.Sprintf(", %d without", o.Without)
	}
	return text
}

// Whatever is opened is valid text, no longer than what it was in; a text that is encoded is opened as it was, unless it is an envelope itself.
func FuzzOpen(f *testing.F) {
	f.Add(`"a\nb`)
	f.Add(`{"output":"a","exit_code":1}`)
	f.Add(`[{"type":"text","text":"\ud800"}]`)
	f.Fuzz(func(t *testing.T, output string) {
		if o, ok := Open(output); ok && (!utf8.ValidString(o.Text) || utf8.RuneCountInString(o.Text) > utf8.RuneCountInString(output)) {
			t.Fatalf("%q from %q", o.Text, output)
		}
		encoded, err := json.Marshal(output)
		if err != nil {
			return // not UTF-8
		}
		inner, ok := Open(output)
		if o, isText := Open(string(encoded)); !isText || !ok && o.Text != output || ok && o.Text != inner.Text {
			t.Fatalf("%q from %q", o.Text, encoded)
		}
	})
}

// TestFlagOfSuccess: beside an exit code, which can be an answer, a flag says nothing.
func TestFlagOfSuccess(t *testing.T) {
	if o, ok := Open(`{"success":false,"stdout":"12 rows","stderr":"","returncode":1}`); !ok || o.Exit == nil || *o.Exit != 1 || o.Failed {
		t.Errorf("%+v", o)
	}
	if o, _ := Open(`{"success":false,"stdout":"12 rows"}`); !o.Failed {
		t.Error("no failure without an exit code")
	}
}
