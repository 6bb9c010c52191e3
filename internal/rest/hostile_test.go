package rest_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"precis/api"
	"precis/events"
	"precis/internal/broker"
	"precis/internal/rest"
)

// Bodies that are too large are answered, and nothing of them is stored.
func TestLargeBodies(t *testing.T) {
	w := begin(t, options{})
	const path = "/v1/threads/t/events"
	huge := strings.Repeat("x", 30<<20)
	// By hand: the answer comes before the end of the body, whose rest the server does not take, and a client may report that alone.
	for what, sent := range map[string]string{
		"an event":  fmt.Sprintf("POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", path, len(huge), huge),
		"a request": fmt.Sprintf("POST /v1/threads/t/context HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(huge), huge),
		"chunks":    fmt.Sprintf("POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", path, len(huge), huge),
	} {
		if got := w.rawUpTo(sent, int64(len("HTTP/1.1 413"))); got != "HTTP/1.1 413" {
			t.Errorf("%s too large: %q", what, got)
		}
	}
	w.wants(404, "GET", "/v1/threads/t", "")
}

// So are bodies that are packed, slow or cut off.
func TestBadBodies(t *testing.T) {
	w := begin(t, options{Options: rest.Options{ReadTimeout: 300 * time.Millisecond}})
	const path = "/v1/threads/t/events"
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = z.Write([]byte(message("m", "x")))
	_ = z.Close()
	w.wants(415, "POST", path, packed.String(), "Content-Encoding", "gzip")
	w.wants(415, "POST", path, message("m", "x"), "Content-Type", "application/json+x")
	for what, sent := range map[string]string{
		"slow body":    "POST " + path + " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{",
		"half a chunk": "POST " + path + " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n{",
		"slow header":  "POST " + path + " HTTP/1.1\r\nHost: loc",
	} {
		if got := w.raw(sent); what != "slow header" && !strings.HasPrefix(got, "HTTP/1.1 408 ") {
			t.Errorf("%s: %q", what, got)
		}
	}
	if got := w.raw("GET /v1/threads/t HTTP/1.1\r\nHost: localhost\r\nX: " + strings.Repeat("x", 1<<18) + "\r\n\r\n"); !strings.HasPrefix(got, "HTTP/1.1 431 ") {
		t.Errorf("a header: %.60q", got)
	}
	w.wants(404, "GET", "/v1/threads/t", "")
}

// raw sends bytes, and returns what comes until the server closes the connection.
func (w *world) raw(sent string) string { return w.rawUpTo(sent, math.MaxInt64) }

func (w *world) rawUpTo(sent string, most int64) string {
	w.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(w.url, "http://"))
	if err != nil {
		w.t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	go func() { _, _ = io.WriteString(conn, sent) }()
	got, _ := io.ReadAll(io.LimitReader(conn, most))
	return string(got)
}

// A processor that has not caught up says so, takes events all the same, and streams what is there.
func TestProcessorBehind(t *testing.T) {
	w := begin(t, options{behind: true})
	w.put("/v1/threads/t", message("m", "x"))
	for _, path := range []string{"/v1/threads/t", "/v1/threads/t/messages/m", "/v1/summaries/sum_0"} {
		if a := w.wants(503, "GET", path, ""); a.header.Get("Retry-After") == "" {
			t.Errorf("%s: no Retry-After", path)
		}
	}
	w.wants(503, "POST", "/v1/threads/t/context", "")

	// Over NATS the header says the same.
	client, err := api.NewClient(w.broker.Conn(), api.ClientOptions{Timeout: patience})
	if err != nil {
		t.Fatal(err)
	}
	var failed *api.Error
	if _, err := client.Thread(within(t), "t", api.ThreadRequest{}); !errors.As(err, &failed) || failed.Code != 503 || failed.RetryAfter != time.Second {
		t.Errorf("%v, %+v", err, failed)
	}
}

// While NATS is away, a publication is answered in time with what to do, and nothing claims to be stored.
func TestServerGoesAway(t *testing.T) {
	b, err := broker.Open(t.Context(), broker.Options{StoreDir: t.TempDir(), Listen: "127.0.0.1:0", Sync: "2m", Logger: logger(t)})
	if err != nil {
		t.Fatal(err)
	}
	nc, err := events.Connect(b.URL(), nats.ReconnectWait(10*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	if err := nc.FlushWithContext(within(t)); err != nil {
		t.Fatal(err)
	}
	w := begin(t, options{Options: rest.Options{Conn: nc, Wait: 200 * time.Millisecond, Heartbeat: 20 * time.Millisecond}})
	if err := b.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	p := w.wants(503, "POST", "/v1/threads/t/events", "["+message("m", "x")+","+message("n", "x")+"]").problem(t)
	if !strings.Contains(p.Detail, "0 of 2 events are confirmed") || !strings.Contains(p.Detail, "again") {
		t.Errorf("%+v", p)
	}
	for _, path := range []string{"/v1/threads/t/records", "/v1/threads/t/rejections"} {
		if a := w.wants(503, "GET", path, ""); a.header.Get("Retry-After") == "" {
			t.Errorf("%s: no Retry-After", path)
		}
	}
	short, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if err := w.server.Stop(short); err != nil { // events whose storage was not confirmed do not delay it
		t.Error(err)
	}
	w.stop = func() {}
	if n := fmt.Sprint(w.observed["/v1/threads/{thread}/events 503"]); n != "1" {
		t.Errorf("%s answers counted", n)
	}
}
