package e2e_test

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"
)

// raw publishes header bytes that no client library would write.
func (w *world) raw(subject, header, body string) {
	w.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(w.url, "nats://"))
	if err != nil {
		w.t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		w.t.Fatal(err)
	}
	fmt.Fprintf(conn, "CONNECT {\"verbose\":false,\"headers\":true,\"no_responders\":true}\r\nHPUB %s %d %d\r\n%s%s\r\nPING\r\n",
		subject, len(header), len(header)+len(body), header, body)
	lines := bufio.NewScanner(conn)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "PONG") {
			return
		}
		if strings.HasPrefix(lines.Text(), "-ERR") {
			w.t.Fatal(lines.Text())
		}
	}
	w.t.Fatalf("no answer: %v", lines.Err())
}

// Whatever stands in EVENTS is accepted or rejected, also where its headers are none.
func TestBrokenHeadersAreNotOverlooked(t *testing.T) {
	w := begin(t, "partitions: 2\n")
	for i, header := range []string{
		"NATS/1.0\r\nno colon here\r\n\r\n",
		"NATS/1.0 404 No Messages\r\n\r\n",
		"NATS/1.0 100 Idle Heartbeat\r\n\r\n",
		"NATS/1.0 409 Consumer Deleted\r\n\r\n",
		"NATS/1.0\r\n: nameless\r\n\r\n",
		"NATS/1.0\r\nA: b\r\n", // no empty line
		"HTTP/1.1 200 OK\r\n\r\n",
		"NATS/1.0\r\nce-type: tool.result\r\n folded: line\r\n\r\n",
	} {
		good := fmt.Sprintf("raw good %d", i)
		w.raw("thread.message."+token(good), header, `{"message_id":"m","role":"user","content":"x"}`)
		empty := fmt.Sprintf("raw empty %d", i)
		w.raw("thread.message."+token(empty), header, "")
		for _, name := range []string{good, empty} {
			seq := w.message(name, "sentinel", "y")
			got := w.thread(name, seq)
			if n := number(t, got, "messages") + number(t, got, "rejected"); n != 2 {
				t.Errorf("header %q, thread %q: %d of 2 events counted: %v", header, name, n, got)
			}
		}
		if got := w.thread(good, 0); number(t, got, "messages") == 2 {
			original := w.answer("precis.message.get."+token(good), object{"message_id": "m"})
			if original["content"] != "x" {
				t.Errorf("header %q: message m is %v", header, original)
			}
		}
	}
}
