package rest_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"precis/internal/rest"
)

// stream is an open stream of records.
type stream struct {
	w      *world
	lines  chan string // closed at its end
	cancel context.CancelFunc
}

// follow opens a stream, and returns when it is open.
func (w *world) follow(path string, headers ...string) *stream {
	w.t.Helper()
	ctx, cancel := context.WithCancel(within(w.t))
	w.t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, "GET", w.url+path, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := w.client.Do(req) //nolint:bodyclose // the goroutine that reads it closes it
	if err != nil || res.StatusCode != 200 || res.Header.Get("Content-Type") != "text/event-stream" {
		w.t.Fatalf("follow: %v, %+v", err, res)
	}
	s := &stream{w: w, lines: make(chan string), cancel: cancel}
	go func() {
		defer close(s.lines)
		defer res.Body.Close()
		for in := bufio.NewScanner(res.Body); in.Scan(); {
			select {
			case s.lines <- in.Text():
			case <-ctx.Done():
				return
			}
		}
	}()
	return s
}

// next returns the next event, without its data's contents: "ID TYPE".
func (s *stream) next() (id, kind string) {
	s.w.t.Helper()
	deadline := within(s.w.t)
	for {
		select {
		case line, ok := <-s.lines:
			if !ok {
				s.w.t.Fatal("the stream has ended")
			}
			if v, is := strings.CutPrefix(line, "id: "); is {
				id = v
			}
			if v, is := strings.CutPrefix(line, "event: "); is {
				kind = v
			}
			if v, is := strings.CutPrefix(line, "data: "); is {
				if !strings.HasPrefix(v, `{"`) {
					s.w.t.Errorf("data: %s", v)
				}
				return id, kind
			}
		case <-deadline.Done():
			s.w.t.Fatal("no event")
		}
	}
}

// ends waits for the end of the stream.
func (s *stream) ends() {
	s.w.t.Helper()
	deadline := within(s.w.t)
	for {
		select {
		case _, ok := <-s.lines:
			if !ok {
				return
			}
		case <-deadline.Done():
			s.w.t.Fatal("the stream goes on")
		}
	}
}

func large(id string) string {
	return fmt.Sprintf(`{"type":"tool.result","message_id":%q,"tool_name":"bash","content":%q}`, id, output())
}

// A stream has what was and what comes, of its thread alone, and goes on behind the last event that a client has.
func TestRecordsAreFollowed(t *testing.T) {
	w := begin(t, options{})
	const path = "/v1/threads/a%20b"
	w.put(path, large("r1"))
	w.put("/v1/threads/other", large("r1"))
	s := w.follow(path + "/records")
	first, kind := s.next()
	if kind != "summary.created" {
		t.Errorf("%s", kind)
	}
	w.put(path, large("r2"))
	second, _ := s.next()
	w.put(path, `{"type":"message.edited","message_id":"r1","deleted":true}`)
	if _, kind := s.next(); kind != "summary.invalidated" {
		t.Errorf("%s", kind)
	}
	s.cancel()
	if id, _ := w.follow(path+"/records", "Last-Event-ID", first).next(); id != second {
		t.Errorf("behind %s comes %s, want %s", first, id, second)
	}
	if id, _ := w.follow(path + "/records?last_event_id=" + first + "&from=now").next(); id != second {
		t.Errorf("behind %s comes %s, want %s", first, id, second)
	}
	now := w.follow(path + "/records?from=now")
	w.put(path, large("r3"))
	if id, kind := now.next(); id == first || id == second || kind != "summary.created" {
		t.Errorf("from now: %s %s", id, kind)
	}
	for _, id := range []string{"999999", "-1", "x", "1.5", "18446744073709551616", "18446744073709551615"} {
		w.wants(400, "GET", path+"/records", "", "Last-Event-ID", id)
	}
}

// Streams are bounded; one whose client is gone, or closes its side, gives its place back. Heartbeats go on past the request's own limits.
func TestStreamsAreBounded(t *testing.T) {
	w := begin(t, options{Options: rest.Options{Streams: 2, Heartbeat: 20 * time.Millisecond, ReadTimeout: 50 * time.Millisecond}})
	a, b := w.follow("/v1/threads/t/records"), w.follow("/v1/threads/t/records")
	p := w.wants(503, "GET", "/v1/threads/t/records", "").problem(t)
	if !strings.Contains(p.Detail, "api.streams") {
		t.Errorf("%+v", p)
	}
	for range 20 { // longer than the time to read a request
		select {
		case line, ok := <-a.lines:
			if !ok || line != "" && !strings.HasPrefix(line, ":") {
				t.Fatalf("%q, %v", line, ok)
			}
		case <-within(t).Done():
			t.Fatal("no heartbeat")
		}
	}
	a.cancel()
	b.cancel()
	var half net.Conn
	w.eventually(func() (err error) {
		if half != nil {
			half.Close()
		}
		if half, err = net.Dial("tcp", strings.TrimPrefix(w.url, "http://")); err != nil {
			return err
		}
		fmt.Fprintf(half, "GET /v1/threads/t/records HTTP/1.1\r\nHost: localhost\r\n\r\n")
		if status, err := bufio.NewReader(half).ReadString('\n'); err != nil || !strings.Contains(status, "200") {
			return fmt.Errorf("%q, %w", status, err)
		}
		return nil
	})
	defer half.Close()
	if err := half.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	w.eventually(func() error { // both places are free
		for range 2 {
			req, _ := http.NewRequestWithContext(within(t), "GET", w.url+"/v1/threads/t/records", nil)
			res, err := w.client.Do(req)
			if err != nil {
				return err
			}
			defer res.Body.Close()
			if res.StatusCode != 200 {
				return fmt.Errorf("%d", res.StatusCode)
			}
		}
		return nil
	})
}

// A server that stops ends streams and finishes requests.
func TestStop(t *testing.T) {
	w := begin(t, options{})
	s := w.follow("/v1/threads/t/records")
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		w.stop()
	}()
	s.ends()
	<-ended
}
