package content

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"precis/events"
	"precis/internal/race"
)

// Messages with inline media count with all the bytes that they keep in memory, in whichever shape they come.
func TestCacheCountsMedia(t *testing.T) {
	race.Slow(t)
	const limit = 8 << 20
	data := strings.Repeat("QUJD", 1<<16)
	for name, body := range map[string]string{
		"image in a data URL":    `"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,%s"}}]`,
		"source of an image":     `"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"%s"}}]`,
		"image of an item":       `"role":"user","content":[{"type":"message","role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,%s"}]}]`,
		"image of a result":      `"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"%s"}}]}]`,
		"document":               `"role":"user","content":[{"type":"document","source":{"type":"text","media_type":"text/plain","data":"%s"}}]`,
		"inline data of Gemini":  `"role":"user","parts":[{"inlineData":{"mimeType":"image/png","data":"%s"}}]`,
		"file of the AI SDK":     `"role":"user","content":[{"type":"file","mediaType":"image/png","data":"%s"}]`,
		"recording of a message": `"role":"assistant","content":null,"audio":{"id":"a","data":"%s"}`,
		"encrypted reasoning":    `"role":"assistant","content":[{"type":"reasoning","summary":[],"encrypted_content":"%s"}]`,
		"signature of a call":    `"role":"model","parts":[{"functionCall":{"name":"a","args":{}},"thoughtSignature":"%s"}]`,
	} {
		t.Run(name, func(t *testing.T) {
			c := sized(nil, limit)
			before := heap()
			for seq := uint64(1); seq <= 100; seq++ {
				raw := events.Raw{Subject: "0.thread.message.t", Body: fmt.Appendf(nil, `{"message_id":"m",`+body+`}`, data)}
				ev, why := events.Decode(raw, events.Limits{})
				if why != nil {
					t.Fatal(why)
				}
				c.Keep(seq, &ev)
			}
			if held := heap() - before; held > limit*5/4 {
				t.Errorf("%d kB are held with a limit of %d", held>>10, limit>>10)
			}
			runtime.KeepAlive(c)
		})
	}
}

func heap() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// A text that shares the memory of its message keeps little else there: NATS has header and body in one piece.
func TestCacheCountsSharedMessages(t *testing.T) {
	race.Slow(t)
	const limit = 8 << 20
	trace := strings.Repeat("trace", 12<<10)
	for name, c := range map[string]struct {
		text   int
		header string
	}{"alone": {2 << 10, ""}, "below a long header": {2 << 10, trace}, "a long text below it": {90 << 10, trace}} {
		t.Run(name, func(t *testing.T) {
			cache := sized(nil, limit)
			before := heap()
			for seq := uint64(1); seq <= 8000; seq++ {
				received := fmt.Appendf([]byte(c.header), `{"message_id":"m","role":"user","content":"%s"}`, strings.Repeat("t", c.text))
				raw := events.Raw{Subject: "0.thread.message.t", Header: map[string][]string{"Baggage": {c.header}}, Body: received[len(c.header):]}
				ev, why := events.DecodeKept(raw, events.Limits{})
				if why != nil {
					t.Fatal(why)
				}
				cache.Keep(seq, &ev)
			}
			if held := heap() - before; held > limit*5/4 {
				t.Errorf("%d kB are held with a limit of %d", held>>10, limit>>10)
			}
			runtime.KeepAlive(cache)
		})
	}
}
