package thread_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"precis/events"
	"precis/internal/thread"
)

// What one event costs the pure fold, without decoding, counting and the store.
func BenchmarkApply(b *testing.B) {
	body := strings.Repeat("x", 200)
	measure := func(text string) thread.Size {
		return thread.Size{Chars: int64(len(text)), Bytes: int64(len(text)), Tokens: int64(len(text) / 4)}
	}
	st := thread.State{}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		ev := events.Event{Type: events.ThreadMessage, Thread: "t", Message: &events.Message{
			MessageID: fmt.Sprintf("m%d", i), Role: events.RoleUser, Content: events.TextContent(body),
		}}
		next := thread.State{Header: st.Header}
		thread.Apply(&next, thread.Input{Seq: uint64(i + 1), Time: time.Unix(int64(i), 0), Event: &ev, Measure: measure})
		st = next
	}
}
