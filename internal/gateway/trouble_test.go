package gateway_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"precis/events"
	"precis/internal/gateway"
	"precis/internal/race"
)

// An answer that breaks off breaks off for the client too, and is not published; the next request says what the client kept.
func TestHalfStream(t *testing.T) {
	first := true
	w := begin(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		if first {
			first = false
			_, _ = io.WriteString(w, sse(`{"choices":[{"index":0,"delta":{"content":"Hal"}}]}`)+"data: {\"choices\"")
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
		_, _ = io.WriteString(w, sse(`{"choices":[{"index":0,"delta":{"content":"Whole."},"finish_reason":"stop"}]}`, `[DONE]`))
	}, gateway.Options{})
	s := w.see(w.url, http.MethodPost, chatPath, ask("Hi."), http.Header{"Precis-Thread": {"t1"}})
	if !s.Broken || !strings.HasSuffix(s.Body, `data: {"choices"`) {
		t.Errorf("%+v", s)
	}
	w.counts(1, dropped, "reason", "answer_broken")
	w.prompt("t1", "openai", 1, 0)
	w.post(chatPath, ask("Hi."), gateway.HeaderThread, "t1")
	w.prompt("t1", "openai", 2, 0)
}

// A client that leaves ends the provider's work, whether it waits for a head or for more.
func TestClientLeaves(t *testing.T) {
	for _, flush := range []bool{false, true} {
		ended, began := make(chan error, 1), make(chan bool, 1)
		w := begin(t, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			if flush {
				_ = http.NewResponseController(w).Flush()
			}
			began <- true
			<-r.Context().Done()
			ended <- r.Context().Err()
		}, gateway.Options{})
		ctx, leave := context.WithCancel(t.Context())
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url+chatPath, strings.NewReader(ask("Hi.")))
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan bool)
		go func() {
			defer close(done)
			if resp, err := w.client.Do(r); err == nil {
				_, _ = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
			}
		}()
		<-began
		leave()
		<-done
		select {
		case err := <-ended:
			if err == nil {
				t.Error("no error")
			}
		case <-time.After(patience):
			t.Fatal("the provider still works")
		}
	}
}

// A client that leaves once it has all of a stream's events leaves a whole answer.
func TestClientLeavesBehindTheLastEvent(t *testing.T) {
	w := begin(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, sse(`{"choices":[{"index":0,"delta":{"content":"Whole."},"finish_reason":"stop"}]}`, `[DONE]`))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}, gateway.Options{})
	resp, err := w.client.Post(w.url+chatPath, "application/json", strings.NewReader(ask("Hi.")))
	if err != nil {
		t.Fatal(err)
	}
	var got []byte
	for b := make([]byte, 512); !bytes.Contains(got, []byte("[DONE]\n\n")); {
		n, err := resp.Body.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, b[:n]...)
	}
	_ = resp.Body.Close()
	w.counts(2, published)
}

// A gateway that stops waits for answers under way and publishes them; a provider that hangs it cuts off in the end.
func TestStop(t *testing.T) {
	began, goOn := make(chan bool, 2), make(chan bool)
	w := begin(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		began <- true
		select {
		case <-goOn:
			_, _ = io.WriteString(w, chat("Fine."))
		case <-r.Context().Done():
		}
	}, gateway.Options{})
	answered := make(chan int)
	go func() {
		resp, err := w.client.Post(w.url+chatPath, "application/json", strings.NewReader(ask("Hi.")))
		if err != nil {
			answered <- 0
			return
		}
		_ = resp.Body.Close()
		answered <- resp.StatusCode
	}()
	<-began
	stopped := make(chan error)
	go func() { stopped <- w.stop() }()
	goOn <- true
	if status := <-answered; status != http.StatusOK {
		t.Errorf("status %d", status)
	}
	if err := <-stopped; err != nil {
		t.Fatal(err)
	}
	if n := len(w.events()); n != 2 {
		t.Errorf("%d events are stored when it has stopped", n)
	}

	w.startAnother()
	go func() {
		resp, err := w.client.Post(w.url+chatPath, "application/json", strings.NewReader(ask("Hi.")))
		if err == nil {
			_ = resp.Body.Close()
		}
		answered <- 0
	}()
	<-began
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := w.server.Stop(ctx); err == nil {
		t.Error("a request that hangs was not cut off")
	}
	<-answered
	w.stop = func() error { return nil }
}

// Bodies up to the limit are read, longer ones pass.
func TestLargeBodies(t *testing.T) {
	race.Slow(t)
	answer := chat(strings.Repeat("long ", 100_000))
	w := begin(t, say("application/json", answer), gateway.Options{})
	image := strings.Repeat("A", 30<<20)
	large := `{"messages":[{"role":"user","content":"Hi."},{"role":"assistant","content":"Yes."},{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,` + image + `"}}]}]}`
	if got := w.post(chatPath, large); got != answer {
		t.Error("another answer")
	}
	w.counts(4, published) // a mark in the place of the image, which no event can hold
	w.post(chatPath, strings.Replace(large, `"content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,`+image+`"}}]`, `"content":"`+image+`"`, 1))
	w.counts(1, dropped, "reason", "too_large") // the text, which no event can hold
	w.post(chatPath, large+strings.Repeat(" ", 4<<20))
	w.counts(2, dropped, "reason", "too_large")
	w.counts(0, "precis_gateway_held_bytes")

	// In mode compact it is read before it passes.
	var got received
	c := begin(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got.add(string(body))
		_, _ = io.WriteString(w, answer)
	}, gateway.Options{Mode: gateway.ModeCompact, Wait: patience})
	for body, reason := range map[string]string{large: "nothing_to_shrink", large + strings.Repeat(" ", 4<<20): "too_large"} {
		if said := c.said(t, chatPath, body); said != "no; reason="+reason || got.last() != body {
			t.Errorf("%s: %d of %d bytes", said, len(got.last()), len(body))
		}
	}
	c.counts(0, "precis_gateway_held_bytes")
}

// What is packed is unpacked to be read, a bomb is not.
func TestCodings(t *testing.T) {
	race.Slow(t)
	pack := map[string]func(io.Writer) io.WriteCloser{
		"gzip": func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) },
		"br":   func(w io.Writer) io.WriteCloser { return brotli.NewWriterLevel(w, brotli.BestSpeed) },
		"zstd": func(w io.Writer) io.WriteCloser {
			z, _ := zstd.NewWriter(w)
			return z
		},
	}
	packed := func(coding string, text []byte) string {
		var b bytes.Buffer
		z := pack[coding](&b)
		_, _ = z.Write(text)
		_ = z.Close()
		return b.String()
	}
	w := begin(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		coding := r.Header.Get("Accept-Encoding")
		w.Header().Set("Content-Encoding", coding)
		body := []byte(chat("Fine."))
		if r.Header.Get("X-Bomb") != "" {
			body = make([]byte, 65<<20)
		}
		_, _ = io.WriteString(w, packed(coding, body))
	}, gateway.Options{})
	for i, coding := range []string{"gzip", "br", "zstd"} {
		w.post(chatPath, packed(coding, []byte(ask("Hi."))), "Content-Encoding", coding, "Accept-Encoding", coding, gateway.HeaderThread, coding)
		w.counts(float64(2*i+2), published)
		w.prompt(coding, "openai", 2, 0)
		w.post(chatPath, ask("Hi."), "X-Bomb", "1", "Accept-Encoding", coding)
		w.counts(float64(i+1), dropped, "reason", "unpack")
	}
	w.post(chatPath, "not gzip", "Content-Encoding", "gzip", "Accept-Encoding", "gzip")
	w.counts(4, dropped, "reason", "unpack")
}

// What has not the shape of its API passes, and is counted.
func TestShapes(t *testing.T) {
	for _, request := range []string{
		"", "null", "[]", `{"messages":null}`, `{"messages":[null]}`, `{"messages":[{"role":"wizard","content":"x"}]}`, `{"messages":[{"content":"x"}]}`, `{"messages":`,
		`{"a":1,"a":2}`, "\xff",
	} {
		w := begin(t, say("application/json", chat("Fine.")), gateway.Options{})
		if got := w.post(chatPath, request); got != chat("Fine.") {
			t.Errorf("%s: %s", request, got)
		}
		w.counts(1, dropped, "reason", "request")
	}
	for _, answer := range []string{"", "null", "<html>", `{"choices":[{"message":7}]}`} {
		w := begin(t, say("application/json", answer), gateway.Options{})
		if got := w.post(chatPath, ask("Hi.")); got != answer {
			t.Errorf("%s: %s", answer, got)
		}
		w.counts(1, dropped, "reason", "answer")
	}
}

// An error publishes nothing.
func TestRefusedByProvider(t *testing.T) {
	w := begin(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Retry-After", "7")
		http.Error(w, "overloaded", 529)
	}, gateway.Options{})
	if status, _ := w.send(chatPath, ask("Hi.", "Yes.", "Go on."), gateway.HeaderThread, "t1"); status != 529 {
		t.Error(status)
	}
	if err := w.stop(); err != nil {
		t.Fatal(err)
	}
	if n := len(w.events()); n != 0 {
		t.Errorf("%d events", n)
	}
	if w.count("precis_gateway_requests_total", "api", "chat", "status", "529") != 1 {
		t.Error("not counted")
	}
}

// Keys reach the provider and nothing else.
func TestKeys(t *testing.T) {
	keys := []string{"sk-key-in-authorization", "sk-key-in-header", "sk-key-in-query", "sk-key-in-cookie"}
	w := begin(t, func(w http.ResponseWriter, r *http.Request) {
		saw := echo(r)
		for _, key := range keys {
			if !strings.Contains(saw, key) {
				t.Errorf("the provider does not get %s: %s", key, saw)
			}
		}
		_, _ = io.WriteString(w, chat("Fine."))
	}, gateway.Options{})
	w.post(chatPath+"?key="+keys[2], ask("Hi."), "Authorization", "Bearer "+keys[0], "X-Api-Key", keys[1], "Cookie", keys[3])
	w.counts(2, published)
	text := w.log.String() + fmt.Sprint(w.events())
	for _, key := range keys {
		if strings.Contains(text, key) {
			t.Errorf("%s is in %s", key, text)
		}
	}
}

// While NATS is away requests pass as fast as ever. What there is room for is stored when it is back, the rest is counted, and the next
// request of the conversation brings it.
func TestNATSAway(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nowhere := "nats://" + l.Addr().String()
	_ = l.Close()
	nc, err := events.Connect(nowhere)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	w := bare(t, say("application/json", chat("Fine.")))
	w.startGateway(gateway.Options{Conn: nc, BufferEvents: 5, Queue: 4})
	texts := []string{"Hi."}
	for i := range 10 {
		w.post(chatPath, ask(texts...), gateway.HeaderThread, "t1")
		texts = append(texts, fmt.Sprint("Answer ", i), fmt.Sprint("Go on ", i))
	}
	w.eventually(func() error {
		if w.count(dropped, "reason", "buffer_full") == 0 {
			return fmt.Errorf("nothing dropped")
		}
		return nil
	})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := w.server.Stop(ctx); err == nil || !strings.Contains(err.Error(), "5") {
		t.Errorf("what is lost is not said: %v", err)
	}
	w.stop = func() error { return nil }
	if n := w.count(dropped, "reason", "stopped"); n != 5 {
		t.Errorf("%v dropped at the end", n)
	}
}

// Behind a message that there is no room for nothing of its exchange is published, though there would be room: the order stays.
func TestNothingOvertakes(t *testing.T) {
	nc, err := events.Connect("nats://127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	w := bare(t, say("application/json", chat("Fine.")))
	w.startGateway(gateway.Options{Conn: nc, BufferBytes: 1500})
	w.post(chatPath, ask(strings.Repeat("a", 700), strings.Repeat("b", 1200), "c"), gateway.HeaderThread, "t1")
	w.counts(1, dropped, "reason", "buffer_full")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := w.server.Stop(ctx); err == nil {
		t.Error("what is lost is not said")
	}
	w.stop = func() error { return nil }
	if n := w.count(dropped, "reason", "stopped"); n != 1 {
		t.Errorf("%v messages were accepted", n)
	}
}

// What there was no room for comes with a later request, and the thread's order stays.
func TestNoRoom(t *testing.T) {
	w := begin(t, say("application/json", chat("Fine.")), gateway.Options{BufferEvents: 3})
	w.post(chatPath, ask("a", "b", "c", "d", "e", "f", "g"), gateway.HeaderThread, "t1")
	w.eventually(func() error { // a dropped tail comes with a later request
		w.post(chatPath, ask("a", "b", "c", "d", "e", "f", "g"), gateway.HeaderThread, "t1")
		if n := w.count(published); n != 8 {
			return fmt.Errorf("%v published", n)
		}
		return nil
	})
	var got []string
	for _, e := range w.events() {
		_, text, _ := strings.Cut(e.body, `"content":"`)
		got = append(got, text[:1])
	}
	if !slices.Equal(got, strings.Split("abcdefgF", "")) {
		t.Errorf("order %v", got)
	}
}

// Any bytes in any answer leave a gateway that goes on.
func FuzzAnswers(f *testing.F) {
	for _, seed := range []string{chat("x"), sse(`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":-1,"function":{"name":{}}}]},"finish_reason":"x"}]}`, "[DONE]"),
		sse(`{"type":"message_start","message":{}}`, `{"type":"content_block_start","index":0}`, `{"type":"content_block_delta","index":0,"delta":{"type":"citations_delta"}}`, `{"type":"message_stop"}`),
		sse(`{"type":"response.completed","response":{"status":"completed","output":[null]}}`), "data:\r\r\n\n"} {
		f.Add([]byte(seed), []byte(ask("a", "b")))
	}
	f.Fuzz(func(_ *testing.T, answer, request []byte) { gateway.ReadAny(answer, request) })
}

// Half of any answer is none, or the same as the whole.
func TestHalfAnswers(t *testing.T) {
	for path, whole := range map[string]string{
		"/v1/messages": sse(
			`{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","content":[],"usage":{"input_tokens":4}}}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"One."}}`, `{"type":"content_block_stop","index":0}`,
			`{"type":"message_delta","delta":{},"usage":{"output_tokens":12}}`, `{"type":"message_stop"}`),
		chatPath: sse(`{"id":"c","choices":[{"index":0,"delta":{"role":"assistant","content":"One"}}]}`, `{"id":"c","choices":[{"index":0,"delta":{"content":"."},"finish_reason":"stop"}]}`,
			`{"id":"c","choices":[],"usage":{"prompt_tokens":4,"completion_tokens":12,"output_tokens":12}}`, `[DONE]`),
		"/v1/responses": sse(`{"type":"response.created","response":{"id":"r"}}`, `{"type":"response.output_text.delta","delta":"One."}`,
			`{"type":"response.completed","response":{"id":"r","status":"completed","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"One."}]}],"usage":{"output_tokens":12}}}`),
	} {
		rnd := rand.New(rand.NewPCG(1, 2))
		all := gateway.ReadAnswer(path, "text/event-stream", []byte(whole))
		if !strings.Contains(all, `One.`) || !strings.Contains(all, `"output_tokens":12`) {
			t.Errorf("%s: %s", path, all)
		}
		for range 200 {
			n := rnd.IntN(len(whole))
			got := gateway.ReadAnswer(path, "text/event-stream", []byte(whole[:n]))
			if finished := strings.Contains(whole[:n], `"finish_reason":"stop"}]}`+"\n\n"); got != "" && (!finished || !strings.Contains(got, `"One."`)) {
				t.Errorf("%s: %d of %d bytes: %s", path, n, len(whole), got)
			}
		}
	}
}
