package prompt

import (
	"os"
	"regexp"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The examples of docs/prompts.md: what is published, and the same thread in another format.
func TestExamples(t *testing.T) {
	doc, err := os.ReadFile("../../docs/prompts.md")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile("(?s)### (\\w+)\n\n```json\n(.*?)```\n\nIn `(\\w+)`:\n\n```json\n(.*?)```").FindAllSubmatch(doc, -1)
	if len(found) != len(formats) {
		t.Fatalf("%d examples for %d formats", len(found), len(formats))
	}
	for _, m := range found {
		format, other := string(m[1]), string(m[3])
		t.Run(format, func(t *testing.T) {
			var list []jsontext.Value
			if err := json.Unmarshal(m[2], &list); err != nil {
				t.Fatal(err)
			}
			messages := published(t, list)
			for _, d := range dialects {
				if d.format == format {
					p, err := Build(request(messages, format))
					if err != nil {
						t.Fatal(err)
					}
					same(t, d, p, list)
				}
			}
			p, err := Build(request(messages, other))
			if err != nil {
				t.Fatal(err)
			}
			if err := validity(p, other); err != nil {
				t.Error(err)
			}
			got, want := p.Messages.Clone(), jsontext.Value(m[4]).Clone()
			if got.Canonicalize() != nil || want.Canonicalize() != nil || string(got) != string(want) {
				t.Errorf("%s:\n%s\nwant\n%s", other, got, want)
			}
		})
	}
}
