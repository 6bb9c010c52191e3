package events

import (
	"strings"
	"testing"
)

// BenchmarkDecode reads bare events; the design's figures refer to the 256-byte one.
func BenchmarkDecode(b *testing.B) {
	small := `{"message_id":"msg_018VyLCbRSbWEpDEWuffo29D","tool_call_id":"toolu_01BrzHwvp9pXCWkccr","tool_name":"bash","is_error":false,"agent_id":"agent-7","content":"ok  precis/events 0.412s coverage: 91.2% of statements in ./...","created_at":"2026-01-23T14:21:43.537Z"}`
	large := strings.Replace(small, "ok  ", strings.Repeat(`line of output with \"quotes\"\n`, 512), 1)
	for name, body := range map[string]string{"256B": small, "16KiB": large} {
		raw := Raw{Subject: "3.tool.result.thread-1", Body: []byte(body)}
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				if _, rej := Decode(raw, Limits{EventBytes: 1 << 20}); rej != nil {
					b.Fatal(rej)
				}
			}
		})
	}
}
