package prompt

import (
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"
)

// A prompt of texts takes what OpenAI's cookbook counts: 3 tokens for each message, its role, its text, and 3 for the
// reply. What is made up so that a provider takes the prompt is counted like everything else.
func TestTokenCountOfTexts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var list []Message
		for n := range rapid.IntRange(0, 12).Draw(t, "messages") {
			role := rapid.SampledFrom([]string{"user", "assistant", "system", "developer"}).Draw(t, "role")
			list = append(list, msg(uint64(n+1), role, strings.Repeat("a word ", rapid.IntRange(1, 60).Draw(t, "words"))))
		}
		r := request(list, rapid.SampledFrom([]string{FormatOpenAI, FormatAnthropic}).Draw(t, "format"))
		r.MaxTokens = rapid.SampledFrom([]int{0, 50, 300}).Draw(t, "limit")
		r.Count = func(text string) int { return len(strings.TrimRight(text, " ")) } // Anthropic takes no space at the end
		if rapid.Bool().Draw(t, "compacted") {
			r.Compaction = &Summary{ID: "sum_current", Content: strings.Repeat("what happened. ", 10)}
		}
		p, err := Build(r)
		if err != nil {
			t.Fatal(err)
		}
		want := 3
		for _, text := range textsOf(t, p, r.Format) {
			want += 3 + 1 + r.Count(text)
		}
		if p.TokenCount != want {
			t.Fatalf("%s: %d tokens, the cookbook counts %d\n%s", r.Format, p.TokenCount, want, p.Messages)
		}
	})
}

// textsOf are the texts of a prompt, one for each message that it was made of.
func textsOf(t *rapid.T, p Prompt, format string) (texts []string) {
	if format == FormatOpenAI {
		var list []struct {
			Content string `json:"content"`
		}
		if err := json.Unmarshal(p.Messages, &list); err != nil {
			t.Fatal(err)
		}
		for _, m := range list {
			texts = append(texts, m.Content)
		}
		return texts
	}
	type textBlock struct {
		Text string `json:"text"`
	}
	var blocks []textBlock
	var list []struct {
		Content jsontext.Value `json:"content"`
	}
	if err := json.Unmarshal(p.System, &blocks); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(p.Messages, &list); err != nil {
		t.Fatal(err)
	}
	for _, m := range list {
		var content []textBlock
		if m.Content.Kind() == '"' {
			content = make([]textBlock, 1)
			if err := json.Unmarshal(m.Content, &content[0].Text); err != nil {
				t.Fatal(err)
			}
		} else if err := json.Unmarshal(m.Content, &content); err != nil {
			t.Fatal(err)
		}
		blocks = append(blocks, content...)
	}
	for _, b := range blocks {
		texts = append(texts, b.Text)
	}
	return texts
}

// Where everything waits, or nothing is there, a provider's list still is one that it takes.
func TestNothingToShow(t *testing.T) {
	waits := []Message{calling(msg(1, "assistant", "I look."), "x", "y"), answering(msg(2, "tool", "Y"), "y")}
	for _, list := range [][]Message{waits, nil} {
		for _, format := range []string{FormatOpenAI, FormatResponses, FormatAnthropic, FormatGemini} {
			p, err := Build(request(list, format))
			if err != nil {
				t.Fatal(err)
			}
			if err := validity(p, format); err != nil || !strings.Contains(string(p.Messages), noneSeen) {
				t.Errorf("%s: %s: %v", format, p.Messages, err)
			}
			if len(p.WaitingMessageIDs) != len(list) || len(p.DroppedMessageIDs) > 0 {
				t.Errorf("%s: %v wait, %v dropped", format, p.WaitingMessageIDs, p.DroppedMessageIDs)
			}
		}
	}
}

// A compaction that has no room is not named as one that stands in the prompt.
func TestSummaryLeftOut(t *testing.T) {
	for limit, out := range map[int]bool{0: false, 140: false, 60: true, 40: true} {
		r := request([]Message{msg(1, "user", strings.Repeat("word ", 20))}, FormatOpenAI)
		r.Compaction, r.MaxTokens = &Summary{ID: "sum_1", Content: strings.Repeat("fact ", 400)}, limit
		p, err := Build(r)
		if err != nil {
			t.Fatal(err)
		}
		if p.SummaryLeftOut != out || slices.Contains(p.SummaryIDs, "sum_1") == out {
			t.Errorf("limit %d: left out %v, summaries %v: %s", limit, p.SummaryLeftOut, p.SummaryIDs, p.Messages)
		}
	}
}

// Parts without a counterpart are named where their message stands itself, and only there: in their own format only because they lack
// what their type needs, in that of messages not at all.
func TestOmittedParts(t *testing.T) {
	pictured := func(m Message) Message {
		err := json.Unmarshal([]byte(`[{"type":"text","text":"`+strings.Repeat("see ", 60)+`"},{"type":"image_url"},{"type":"input_audio"}]`), &m.Content)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	summed := pictured(answering(msg(4, "tool", ""), "x"))
	summed.Summary = &Summary{ID: "sum_2", Content: "[✓ sh]"}
	list := []Message{
		pictured(msg(1, "assistant", "")), msg(2, "user", "and"),
		calling(msg(3, "assistant", ""), "x", "y"), summed, pictured(answering(msg(5, "tool", ""), "y")), pictured(msg(6, "user", "")),
	}
	for _, format := range formats {
		for limit, want := range map[int][]string{0: {"a", "e", "f"}, 200: {"f"}} {
			r := request(list, format)
			r.MaxTokens = limit
			p, err := Build(r)
			if err != nil {
				t.Fatal(err)
			}
			reason := reasonUnsupported
			if format == FormatOpenAI {
				reason = reasonData
			}
			var got []string
			for i, part := range p.OmittedParts {
				if i%2 == 0 {
					got = append(got, part.MessageID)
				}
				if want := []OmittedPart{{part.MessageID, 1, "image_url", reason}, {part.MessageID, 2, "input_audio", reason}}[i%2]; part != want {
					t.Errorf("%s: %+v, want %+v", format, part, want)
				}
			}
			if format == FormatMessages {
				want = nil
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s, limit %d: parts of %v, want of %v\n%s", format, limit, got, want, p.Messages)
			}
		}
	}
}
