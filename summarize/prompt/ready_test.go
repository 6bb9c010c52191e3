package prompt

import (
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A message that is written by hand is what the library writes, and one with members of its own is not written by hand.
func TestReadyMessages(t *testing.T) {
	texts := []string{"", "a", "\"quotes\" and \\ and /", "tab\tline\nreturn\r\x00\x1f\x7f", "<b>&amp;</b>", "ü 漢字 🙂 \u2028\u2029", "\ufeff"}
	for _, role := range append(texts, "tool") {
		for _, text := range texts {
			for _, id := range append(texts, "call_1") {
				for _, content := range []jsontext.Value{quoted(text), encoded([]jsontext.Value{jsontext.Value(`{"type": "text",  "text":"\u00e9 x"}`)}), jsontext.Value("null")} {
					m := openAIMessage{Role: role, Content: content, ToolCallID: id}
					want, err := json.Marshal(m)
					if err != nil {
						t.Fatal(err)
					}
					if got := m.append(nil); !m.isReady() || string(got) != string(want) {
						t.Errorf("%s, want %s", got, want)
					}
				}
			}
		}
	}
	for _, m := range []openAIMessage{
		{Role: "assistant", ToolCalls: []jsontext.Value{jsontext.Value("{}")}, Content: quoted("x")}, {Role: "user", Content: quoted("x"), Native: jsontext.Value(`{"name":"x"}`)}, {Role: "user"},
	} {
		if m.isReady() {
			t.Errorf("%+v is written by hand", m)
		}
	}
	if got := quoted("\xff"); string(got) != "null" {
		t.Errorf("%s", got)
	}
}

// A list of both kinds is what the library writes, with null for what is no summary where only those are asked for.
func TestWrittenList(t *testing.T) {
	list := []openAIMessage{{Role: "user", Content: quoted("a")}, {Role: "assistant", ToolCalls: []jsontext.Value{jsontext.Value(`{"id": "1"}`)}}, {Role: "tool", Content: quoted("b"), ToolCallID: "1"}}
	for _, messages := range [][]openAIMessage{nil, {}, list[:1], list} {
		got, err := written(draft{}, messages)
		if err != nil {
			t.Fatal(err)
		}
		if want, _ := json.Marshal(messages); string(got) != string(want) {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
