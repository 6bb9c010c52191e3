package service

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"precis/api"
)

// An answer whose messages are put in is what the library writes.
func TestEncodePrompt(t *testing.T) {
	lists := []string{"", "[]", `[{"role":"user","content":"a\"b\\"},null]`, `[{"content":",\"messages\":null"}]`}
	for _, system := range lists {
		for _, messages := range lists {
			for _, sources := range [][]api.Source{nil, {}, {{MessageIDs: []string{"m1"}, SummaryIDs: []string{`"messages":null`}}}} {
				r := api.ContextReply{TokenCount: 3, SummaryIDs: []string{"s1"}, Sources: sources, EventSeq: 7}
				if system != "" {
					r.System = jsontext.Value(system)
				}
				if messages != "" {
					r.Messages = jsontext.Value(messages)
				}
				want, err := json.Marshal(r, json.Deterministic(true))
				if err != nil {
					t.Fatal(err)
				}
				got, err := encode(r, len(want), "")
				if err != nil || string(got) != string(want) {
					t.Errorf("%s, %v; want %s", got, err, want)
				}
				if _, err := encode(r, len(want)-1, ""); asFault(err).Code != codeTooLarge {
					t.Errorf("an answer over the limit: %v", err)
				}
			}
		}
	}
}

// The content of a record is its own, wherever it stands, and a record that is cut has none.
func TestContentOf(t *testing.T) {
	for record, want := range map[string]string{
		`{"content":"a"}`: "a",
		`{"chain":"c","nested":{"content":"not this"},"list":["content",{"content":1}],"content":"\u00fc \"q\"\n","id":"x"}`: "ü \"q\"\n",
		`{"id":"content","content":""}`: "",
		`{"id":"x"}`:                    "",
		`{}`:                            "",
	} {
		if got, err := contentOf([]byte(record)); err != nil || got != want {
			t.Errorf("%s: %q, %v", record, got, err)
		}
	}
	whole := `{"chain":["c",{"d":1}],"content":"text"`
	for n := range len(whole) {
		if n > strings.LastIndex(whole, `"`) {
			continue
		}
		if got, err := contentOf([]byte(whole[:n])); err == nil {
			t.Errorf("%s: %q", whole[:n], got)
		}
	}
}
