package gateway_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"precis/events"
	"precis/internal/gateway"
)

// BenchmarkOverhead sends 200 requests a second, directly, through a gateway, through one whose NATS is away, through one that compacts, and through one
// that would if precis did not hang: the same conversations of 41 messages (40 kB), one of them new and one a tool's output, and answers of 50 events.
// p50 and p99 are from the request to the last byte of the answer.
func BenchmarkOverhead(b *testing.B) {
	var answer []string
	for range 50 {
		answer = append(answer, `{"id":"c","choices":[{"index":0,"delta":{"content":"some words of an answer "}}]}`)
	}
	stream := sse(append(answer, `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`, `[DONE]`)...)
	provider := func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		for _, event := range strings.SplitAfter(stream, "\n\n") {
			_, _ = io.WriteString(w, event)
			_ = http.NewResponseController(w).Flush()
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	nowhere := l.Addr().String()
	_ = l.Close()
	for _, way := range []string{"direct", "gateway", "away", "compact", "hangs"} {
		b.Run(way, func(b *testing.B) {
			var w *world
			switch way {
			case "gateway":
				w = begin(b, provider, gateway.Options{})
			case "compact", "hangs":
				w = begin(b, provider, gateway.Options{Mode: gateway.ModeCompact})
				if way == "hangs" {
					w.stopProcessor()
					silent, err := w.broker.Conn().Subscribe("precis.>", func(*nats.Msg) {})
					if err != nil {
						b.Fatal(err)
					}
					b.Cleanup(func() { _ = silent.Unsubscribe() })
				}
			default:
				w = bare(b, provider)
				w.url = w.upstream.URL
				if way == "away" {
					nc, err := events.Connect("nats://" + nowhere)
					if err != nil {
						b.Fatal(err)
					}
					b.Cleanup(nc.Close)
					w.startGateway(gateway.Options{Conn: nc})
					w.stop = func() error { // what is buffered is lost, as it is to be
						w.client.CloseIdleConnections()
						_ = w.server.Stop(b.Context())
						return nil
					}
				}
			}
			w.steady(b)
		})
	}
}

func (w *world) steady(b *testing.B) {
	const perSecond, conversations = 200, 20
	word := strings.Repeat("a word or two ", 70)
	var mu sync.Mutex
	var took []time.Duration
	var wg sync.WaitGroup
	tick := time.NewTicker(time.Second / perSecond)
	defer tick.Stop()
	b.ResetTimer()
	for i := range b.N {
		conversation, turn := i%conversations, i/conversations
		texts := []string{fmt.Sprint("conversation ", conversation)}
		for m := range 39 {
			texts = append(texts, fmt.Sprint("message ", m, word))
		}
		texts = append(texts, fmt.Sprint("turn ", turn, word))
		const call = `{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"bash","arguments":"{}"}}]},{"role":"tool","tool_call_id":"call_1","content":"`
		body := strings.Replace(ask(texts...), `{"role":"assistant"`, call+word+word+`"},{"role":"assistant"`, 1)
		<-tick.C
		wg.Go(func() {
			begun := time.Now()
			resp, err := w.client.Post(w.url+chatPath, "application/json", strings.NewReader(body))
			if err != nil {
				b.Error(err)
				return
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
			mu.Lock()
			defer mu.Unlock()
			took = append(took, time.Since(begun))
		})
	}
	wg.Wait()
	b.StopTimer()
	slices.Sort(took)
	for _, p := range []int{50, 99} {
		b.ReportMetric(float64(took[len(took)*p/100].Microseconds())/1000, fmt.Sprintf("p%d-ms", p))
	}
}
