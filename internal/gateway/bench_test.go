package gateway_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"precis/events"
	"precis/internal/gateway"
	"precis/internal/machine"
)

const perSecond = 200 // requests

// slowWays are paths to a precis that is slow, by what a prompt takes on them at least.
var slowWays = map[string]func(rnd *rand.Rand, at time.Duration) time.Duration{
	"20ms":  func(*rand.Rand, time.Duration) time.Duration { return 20 * time.Millisecond },
	"50ms":  func(*rand.Rand, time.Duration) time.Duration { return 50 * time.Millisecond },
	"100ms": func(*rand.Rand, time.Duration) time.Duration { return 100 * time.Millisecond },
	"250ms": func(*rand.Rand, time.Duration) time.Duration { return 250 * time.Millisecond },
	"jitter": func(rnd *rand.Rand, _ time.Duration) time.Duration {
		return time.Duration(rnd.Int64N(int64(200 * time.Millisecond)))
	},
	"onset": func(_ *rand.Rand, at time.Duration) time.Duration {
		if at < 4*time.Second {
			return 0
		}
		return 100 * time.Millisecond
	},
}

// BenchmarkOverhead sends 200 requests a second, directly, through a proxy of the standard library that only passes them on, through a gateway, through one whose NATS is away, through one that compacts, and through one
// that would if precis were not slow, from the first request on or some seconds later (onset), or did not hang: conversations of 41 messages (40 kB), one
// of them a tool's output, that grow by a question and an answer, and answers of 50 events. p50 and p99 are from the request to the last byte of the answer;
// in the way tools each turn has a call and an output of 1.6 kB beside that. later-p99 is without the first second, in which all conversations begin, and
// steady-p99 is of the requests (steady, of a hundred) outside of the spells in which the machine itself is slow (spells, a part of the time in a hundred; the
// way machine has what they take with nothing else running). yes and prepared are the requests in a hundred that are compacted, with their own prompt and with
// an earlier one's.
func BenchmarkOverhead(b *testing.B) {
	var answer []string
	for range 50 {
		answer = append(answer, `{"id":"c","choices":[{"index":0,"delta":{"content":"word "}}]}`)
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
	b.Run("machine", func(b *testing.B) { // nothing else: what the machine does by itself
		w := machine.Watch(b)
		begun := machine.Now()
		tick := time.NewTicker(time.Second / perSecond)
		defer tick.Stop()
		for range b.N {
			<-tick.C
		}
		if spells, ok := w.Stop(b); ok {
			b.ReportMetric(100*spells.Share(begun, machine.Now()), "spells-%")
		}
	})
	for _, way := range []string{"direct", "proxy", "gateway", "away", "compact", "tools", "20ms", "50ms", "100ms", "250ms", "jitter", "onset", "hangs"} {
		b.Run(way, func(b *testing.B) {
			var w *world
			switch {
			case way == "gateway":
				w = begin(b, provider, gateway.Options{})
			case way == "compact", way == "tools", way == "hangs":
				w = begin(b, provider, gateway.Options{Mode: gateway.ModeCompact})
				if way == "hangs" {
					w.stopProcessor()
					silent, err := w.broker.Conn().Subscribe("precis.>", func(*nats.Msg) {})
					if err != nil {
						b.Fatal(err)
					}
					b.Cleanup(func() { _ = silent.Unsubscribe() })
				}
			case slowWays[way] != nil:
				w = begin(b, provider, gateway.Options{})
				if err := w.stop(); err != nil {
					b.Fatal(err)
				}
				rnd := rand.New(rand.NewPCG(1, 1))
				begun := sync.OnceValue(time.Now)
				var mu sync.Mutex
				conn := w.far(func() time.Duration { // half of it on each of the two ways
					mu.Lock()
					defer mu.Unlock()
					return slowWays[way](rnd, time.Since(begun())) / 2
				})
				w.startGateway(gateway.Options{Mode: gateway.ModeCompact, Conn: conn})
			default:
				w = bare(b, provider)
				w.url = w.upstream.URL
				switch way {
				case "proxy":
					w.url = passingOn(b, w.upstream.URL)
				case "away":
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
			w.steady(b, way == "tools")
		})
	}
}

// passingOn is a proxy that does nothing else: what any gateway costs at least.
func passingOn(b *testing.B, upstream string) string {
	to, err := url.Parse(upstream)
	if err != nil {
		b.Fatal(err)
	}
	transport := gateway.Transport()
	b.Cleanup(transport.CloseIdleConnections)
	s := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }, Transport: transport, FlushInterval: -1})
	b.Cleanup(s.Close)
	return s.URL
}

func (w *world) steady(b *testing.B, tools bool) {
	const conversations = 20
	word := strings.Repeat("a word or two ", 70)
	says := strings.Repeat("word ", 50)
	output := strings.Repeat("ok  \tshop/cart\t0.01s\n", 80)
	const call = `{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"bash","arguments":"{}"}}]},{"role":"tool","tool_call_id":"call_1","content":"`
	var list [conversations][]byte // the bodies of each up to where they end: one is the beginning of the next, so that clients cost little
	for c := range list {
		texts := []string{fmt.Sprint("conversation ", c)}
		for m := range 40 {
			texts = append(texts, fmt.Sprint("message ", m, word))
		}
		list[c] = []byte(strings.TrimSuffix(strings.Replace(ask(texts...), `{"role":"assistant"`, call+word+word+`"},{"role":"assistant"`, 1), "]}"))
	}
	// The gateway's own transport takes no memory for a request's body, and a reader alone none to see where it ends: what the client takes would be collected at the
	// cost of the gateway's process.
	transport := gateway.Transport()
	defer transport.CloseIdleConnections()
	client := &http.Client{Timeout: patience, Transport: transport}
	took, at := make([]time.Duration, b.N), make([]int64, b.N)
	watcher := machine.Watch(b)
	var wg sync.WaitGroup
	tick := time.NewTicker(time.Second / perSecond)
	defer tick.Stop()
	b.ResetTimer()
	for i := range b.N {
		c := i % conversations
		body := list[c]
		list[c] = fmt.Appendf(body, `,{"role":"assistant","content":%q},{"role":"user","content":"turn %d"}`, says, i)
		if tools {
			list[c] = fmt.Appendf(list[c], `,{"role":"assistant","content":null,"tool_calls":[{"id":"call_%08xa1b2","type":"function","function":{"name":"bash","arguments":"{}"}}]},{"role":"tool","tool_call_id":"call_%08xa1b2","content":%q}`, i, i, output)
		}
		<-tick.C
		wg.Go(func() {
			begun := time.Now()
			at[i] = machine.Now()
			whole := struct{ io.Reader }{io.MultiReader(bytes.NewReader(body), strings.NewReader("]}"))}
			r, err := http.NewRequestWithContext(b.Context(), http.MethodPost, w.url+chatPath, whole)
			if err != nil {
				b.Error(err)
				return
			}
			r.ContentLength = int64(len(body) + len("]}"))
			r.Header.Set("Content-Type", "application/json")
			resp, err := client.Do(r)
			if err != nil {
				b.Error(err)
				return
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
			took[i] = time.Since(begun)
		})
	}
	wg.Wait()
	b.StopTimer()
	p := func(percent int, list []time.Duration) float64 {
		list = slices.Sorted(slices.Values(list))
		return float64(list[len(list)*percent/100].Microseconds()) / 1000
	}
	b.ReportMetric(p(50, took), "p50-ms")
	b.ReportMetric(p(99, took), "p99-ms")
	if spells, ok := watcher.Stop(b); ok {
		var steady []time.Duration
		for i, begun := range at {
			if !spells.Touch(begun, took[i]) {
				steady = append(steady, took[i])
			}
		}
		b.ReportMetric(100*spells.Share(at[0], at[len(at)-1]+1), "spells-%")
		if len(steady) > 0 {
			b.ReportMetric(p(99, steady), "steady-p99-ms")
			b.ReportMetric(100*float64(len(steady))/float64(b.N), "steady-%")
		}
	}
	if b.N > 2*perSecond { // and without the first second, in which all conversations begin
		b.ReportMetric(p(99, took[perSecond:]), "later-p99-ms")
	}
	for _, outcome := range []string{"yes", "prepared"} {
		b.ReportMetric(100*w.count("precis_gateway_compacted_total", "outcome", outcome)/float64(b.N), outcome+"-%")
	}
}
