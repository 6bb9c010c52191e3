package events_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"precis/events"
)

func TestContent(t *testing.T) {
	for _, c := range []struct {
		json, text string
		other      []events.OtherPart
	}{
		{`null`, "", nil},
		{`""`, "", nil},
		{`"a\nb\u0000"`, "a\nb\x00", nil},
		{`[]`, "", nil},
		{`[{"type":"text","text":"a"}]`, "a", nil},
		{`[{"type":"text","text":"a"},{"type":"text","text":"b","cache":1}]`, "a\nb", nil},
		{
			`[{"type":"text","text":"see"},{"type":"image_url","image_url":{"url":"…"}},{"type":"image_url"},{"type":"input_audio"}]`,
			"see\n[image_url part]\n[image_url part]\n[input_audio part]",
			[]events.OtherPart{{1, "image_url"}, {2, "image_url"}, {3, "input_audio"}},
		},
		{`[{"type":"x]\n[y"}]`, "[x___y part]", []events.OtherPart{{0, "x]\n[y"}}},
		{`[{"type":""}]`, "[unnamed part]", []events.OtherPart{{0, ""}}},
	} {
		var got events.Content
		if err := json.Unmarshal([]byte(c.json), &got); err != nil {
			t.Errorf("%s: %v", c.json, err)
			continue
		}
		if got.Text() != c.text || !slices.Equal(got.OtherParts(), c.other) {
			t.Errorf("%s: text %q, other parts %v", c.json, got.Text(), got.OtherParts())
		}
		if got.IsNull() != (c.json == "null") {
			t.Errorf("%s: IsNull is %v", c.json, got.IsNull())
		}
		back, err := json.Marshal(got)
		if err != nil || string(back) != c.json {
			t.Errorf("%s came back as %s, %v", c.json, back, err)
		}
	}
}

func TestContentOfText(t *testing.T) {
	if c := events.TextContent(""); c.IsNull() || c.Text() != "" {
		t.Error("the empty text is not null")
	}
	if !(events.Content{}).IsNull() {
		t.Error("the zero content is null")
	}
	long := strings.Repeat("y", 200)
	var c events.Content
	if err := json.Unmarshal([]byte(`[{"type":"`+long+`"}]`), &c); err != nil {
		t.Fatal(err)
	}
	if len(c.Text()) > 100 {
		t.Errorf("a mark of %d bytes", len(c.Text()))
	}
}

func TestContentErrors(t *testing.T) {
	for _, bad := range []string{`1`, `true`, `{}`, `["a"]`, `[null]`, `[{}]`, `[{"type":1}]`, `[{"type":"text"}]`, `[{"type":"text","text":1}]`} {
		var c events.Content
		if err := json.Unmarshal([]byte(bad), &c); err == nil {
			t.Errorf("%s is accepted", bad)
		}
	}
	for _, broken := range []string{``, `"`, `"a`, `[`, `nul`, `"\xff"`} {
		var c events.Content
		if err := c.UnmarshalJSON([]byte(broken)); err == nil {
			t.Errorf("%q is accepted", broken)
		}
	}
}

func FuzzContent(f *testing.F) {
	for _, seed := range []string{`null`, `""`, `[]`, `"\u0000"`, `[{"type":"text","text":"a"},{"type":"b"}]`, ` [ {"text":"a" , "type":"text"} ] `} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var c, again events.Content
		if err := c.UnmarshalJSON(data); err != nil {
			return
		}
		out, err := c.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		if err := again.UnmarshalJSON(out); err != nil || again.Text() != c.Text() {
			t.Fatalf("%q came back as %q: %v", data, out, err)
		}
		call := []events.ToolCall{}
		if events.DigestOf("t", "r", c, call, "") != events.DigestOf("t", "r", again, call, "") {
			t.Fatalf("%q: the digest changed on the way through JSON", data)
		}
	})
}
