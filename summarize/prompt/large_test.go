package prompt

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"precis/events"
)

// An image of 20 MB counts by its header, stands as it is or mapped, whole, and leaves its kind and size in a text. One that is longer than
// events may be is rejected; one by URL is not fetched.
func TestLargeImages(t *testing.T) {
	data := png300 + strings.Repeat("AAAA", 20<<20/3-len(png300)/4)
	message := jsontext.Value(`{"role":"user","content":[{"type":"text","text":"What is this?"},{"type":"image_url","image_url":{"url":"data:image/png;base64,` + data + `"}}]}`)
	body := append([]byte(`{"message_id":"m0",`), message[1:]...)
	_, why := events.Decode(events.Raw{Subject: "0.thread.message.t", Body: body}, events.Limits{EventBytes: 8 << 20})
	if why == nil || why.Code != events.CodeTooLarge {
		t.Errorf("got %v, want too_large", why)
	}
	messages := published(t, []jsontext.Value{message})
	if got := messages[0].Content.Text(); got != "What is this?\n[image: image/png, 300x200, 21.0 MB]" {
		t.Errorf("text %q", got)
	}
	for format, tokens := range map[string]int{FormatOpenAI: 255, FormatResponses: 255, FormatAnthropic: 88, FormatGemini: 1120, FormatMessages: 255} {
		p, err := Build(request(messages, format))
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(p.Messages), data); n != 1 || len(p.OmittedParts) > 0 {
			t.Errorf("%s: it stands %d times, omitted %v", format, n, p.OmittedParts)
		}
		bare := published(t, []jsontext.Value{jsontext.Value(`{"role":"user","content":[{"type":"text","text":"What is this?"}]}`)})
		without, err := Build(request(bare, format))
		if err != nil {
			t.Fatal(err)
		}
		mark := 0
		if format == FormatMessages { // which counts the text with the mark
			mark = words(messages[0].Content.Text()) - words(bare[0].Content.Text())
		}
		if got := p.TokenCount - without.TokenCount - mark; got != tokens {
			t.Errorf("%s: %d tokens, want %d", format, got, tokens)
		}
		r := request(append(messages, published(t, []jsontext.Value{jsontext.Value(`{"role":"user","content":"x"}`), jsontext.Value(`{"role":"user","content":"On."}`)})[1:]...), format)
		r.MaxTokens = 30
		if p, err = Build(r); err != nil || strings.Contains(string(p.Messages), data[:1000]) || !p.WithinBudget {
			t.Errorf("%s: %v, %d tokens of 30 within %v", format, err, p.TokenCount, p.WithinBudget)
		}
	}
	messages = published(t, []jsontext.Value{jsontext.Value(`{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://example.com/20MB.png"}}]}`)})
	p, err := Build(request(messages, FormatOpenAI))
	if err != nil || p.TokenCount < 1024 || !strings.Contains(string(p.Messages), "20MB.png") {
		t.Errorf("by URL: %v, %d tokens, %s", err, p.TokenCount, p.Messages)
	}
}
