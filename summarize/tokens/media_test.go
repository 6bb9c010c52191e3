package tokens

import (
	"strings"
	"testing"

	"precis/events"
)

// Each provider's own examples, and what is counted where its models differ.
func TestMedia(t *testing.T) {
	image := func(w, h int) *events.Media { return &events.Media{Kind: events.MediaImage, Width: w, Height: h} }
	kilobytes := func(kind string, n int) *events.Media {
		return &events.Media{Kind: kind, Data: []byte(strings.Repeat("A", n*4096/3))}
	}
	tests := []struct {
		name  string
		media *events.Media
		shape events.Shape
		want  int
	}{
		{"OpenAI, 512 x 512, a tile", image(512, 512), events.ShapeOpenAI, 256},
		{"OpenAI, 1024 x 1024, patches", image(1024, 1024), events.ShapeResponses, 1024},
		{"OpenAI, 2048 x 4096, as many patches as there may be", image(2048, 4096), events.ShapeOpenAI, 1536},
		{"OpenAI, a strip of 2048 x 100, tiles", image(2048, 100), events.ShapeOpenAI, 85 + 4*170},
		{"OpenAI, in low detail", &events.Media{Kind: events.MediaImage, Width: 4096, Height: 4096, Detail: "low"}, events.ShapeOpenAI, 85},
		{"Anthropic, 1000 x 1000", image(1000, 1000), events.ShapeAnthropic, 1296},
		{"Anthropic, 1920 x 1080", image(1920, 1080), events.ShapeAnthropic, 2691},
		{"Anthropic, resized", image(8000, 8000), events.ShapeAnthropic, 4784},
		{"Anthropic, a point", image(1, 1), events.ShapeAnthropic, 1},
		{"Gemini, small", image(300, 300), events.ShapeGemini, 1120},
		{"Gemini, tiles", image(2000, 2000), events.ShapeGemini, 9 * 258},
		{"of unknown size", image(0, 0), events.ShapeAnthropic, 37 * 37},
		{"of an absurd size", image(1<<62, 1<<62), events.ShapeOpenAI, 1536},
		{"a document of three pages", &events.Media{Kind: events.MediaDocument, Pages: 3}, events.ShapeAnthropic, 9000},
		{"Gemini, of three pages", &events.Media{Kind: events.MediaDocument, Pages: 3}, events.ShapeGemini, 1680},
		{"a document whose pages can't be seen", kilobytes(events.MediaDocument, 120), events.ShapeOpenAI, 9000},
		{"a document elsewhere", &events.Media{Kind: events.MediaDocument, URL: "https://example.com/a.pdf"}, events.ShapeAnthropic, 3000},
		{"a text document", &events.Media{Kind: events.MediaDocument, Plain: strings.Repeat("word ", 80)}, events.ShapeAnthropic, 101},
		{"Gemini, ten seconds of audio", kilobytes(events.MediaAudio, 159), events.ShapeGemini, 320},
		{"OpenAI, ten seconds of audio", kilobytes(events.MediaAudio, 159), events.ShapeOpenAI, 100},
		{"Gemini, two seconds of video", kilobytes(events.MediaVideo, 200), events.ShapeGemini, 204},
		{"a video elsewhere", &events.Media{Kind: events.MediaVideo, URL: "https://example.com/v"}, events.ShapeGemini, 6120},
	}
	for _, tt := range tests {
		if got := Media(tt.media, tt.shape); got != tt.want {
			t.Errorf("%s: %d tokens, want %d", tt.name, got, tt.want)
		}
	}
}
