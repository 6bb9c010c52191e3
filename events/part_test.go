package events_test

import (
	"strings"
	"testing"
	"time"
)

// Results in results are read once: each level anew would take the square of the event's size.
func TestNestedResultsAreReadOnce(t *testing.T) {
	const depth = 4000
	body := `{"message_id":"m","role":"user","content":` + strings.Repeat(`[{"type":"tool_result","tool_use_id":"`+strings.Repeat("x", 100)+`","content":`, depth) +
		`"a"` + strings.Repeat(`}]`, depth) + `}`
	began := time.Now()
	m := decoded(t, body)
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("%v for %d bytes", took, len(body))
	}
	if got := m.Content.Text(); got != "[tool_result part]" || len(m.Results()) != 1 {
		t.Errorf("%q, %d results", got, len(m.Results()))
	}
}

// The size of media is read from the header of what is inline.
func TestMediaSizes(t *testing.T) {
	for part, want := range map[string]string{
		`{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAASwAAADICAYAAABS39xVAAAAAElEQVR42mNk"}}`:              "[image: image/png, 300x200, 45 bytes]",
		`{"type":"image","source":{"type":"base64","media_type":"image/webp","data":"UklGRiQAAABXRUJQVlA4WAoAAAAQAAAA/wAAfwAAQUxQSAIAAAAAAA=="}}`:    "[image: image/webp, 256x128, 40 bytes]",
		`{"inlineData":{"mimeType":"image/gif","data":"R0lGODlhCgAUAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"}}`:                                  "[image: image/gif, 10x20, 42 bytes]",
		`{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,JVBERi0xLjQKMSAwIG9iago8PC9UeXBlL1BhZ2U+PgplbmRvYmoK"}}`: "[document: application/pdf, 1 page, 39 bytes]",
		`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"%%%%"}}`:                                                         "[image: image/png, 3 bytes]",
		`{"type":"image","source":{"type":"url","url":"https://example.com/20MB.png"}}`:                                                              "[image part]",
		`{"type":"input_audio","input_audio":{"data":"` + strings.Repeat("AAAA", 1<<10) + `","format":"wav"}}`:                                       "[audio: audio/wav, 3 kB]",
		`{"type":"document","source":{"type":"text","media_type":"text/plain","data":"Hello."}}`:                                                     "[document: text/plain, 6 bytes]",
		`{"type":"image_url"}`: "[image_url part]",
	} {
		if got := decoded(t, `{"message_id":"m","role":"user","content":[`+part+`]}`).Content.Text(); got != want {
			t.Errorf("%.80s: %q, want %q", part, got, want)
		}
	}
}
