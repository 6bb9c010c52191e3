package rest_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"precis/api"
	"precis/internal/rest"
)

// A token's view ends at its threads: no reply names another one.
func TestNamesOfOthers(t *testing.T) {
	w := begin(t, options{tokens: tokensText()})
	team, ops := []string{"Authorization", "Bearer " + agentWord}, []string{"Authorization", "Bearer " + operatorWord}
	w.put("/v1/threads/team%2Fa", message("m", "x"), team...)
	for _, child := range []string{"team%2Fb", "other"} {
		w.put("/v1/threads/"+child, `{"type":"thread.message","message_id":"c","role":"user","content":"x","parent_thread_id":"team/a"}`, ops...)
	}
	children := func(who []string) (names []string, err error) {
		var r api.ThreadReply
		a := w.do("GET", "/v1/threads/team%2Fa", "", who...)
		if a.status != http.StatusOK { // not found until its first event is processed
			return nil, fmt.Errorf("%d %.300s", a.status, a.body)
		}
		a.json(t, &r)
		for _, c := range r.Children {
			names = append(names, c.ThreadID)
		}
		if r.ChildrenCount < len(names) {
			t.Errorf("%d children, and %q", r.ChildrenCount, names)
		}
		return names, nil
	}
	w.eventually(func() error {
		got, err := children(ops)
		if err == nil && len(got) != 2 {
			err = fmt.Errorf("%q", got)
		}
		return err
	})
	if got, err := children(team); err != nil || len(got) != 1 || got[0] != "team/b" {
		t.Errorf("the team sees %q: %v", got, err)
	}
	list := "[" + message("n", "x") + `,{"type":"thread.forked","parent_thread_id":"other"}]`
	if p := w.wants(http.StatusForbidden, "POST", "/v1/threads/team%2Fc/events", list, team...).problem(t); !strings.HasPrefix(p.Detail, "event 1 of the list: ") {
		t.Errorf("%s", p.Detail)
	}
}

// Bodies that do not arrive take one token's share, and nobody else's.
func TestShareOfBodies(t *testing.T) {
	const size = 2 << 20
	w := begin(t, options{tokens: tokensText()})
	address := strings.TrimPrefix(w.url, "http://")
	var open []net.Conn
	defer func() {
		for _, c := range open {
			_ = c.Close()
		}
	}()
	begun := func() {
		conn, err := (&net.Dialer{}).DialContext(within(t), "tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, conn)
		_, err = fmt.Fprintf(conn, "POST /v1/threads/other/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n{", operatorWord, size)
		if err != nil {
			t.Fatal(err)
		}
	}
	for range 128<<20/size - 1 {
		begun()
	}
	ops, team := []string{"Authorization", "Bearer " + operatorWord}, []string{"Authorization", "Bearer " + agentWord}
	w.eventually(func() error {
		begun() // anew each time: one that comes while the request below has room is refused
		if a := w.do("POST", "/v1/threads/other/events", message("m", "x"), ops...); a.status != http.StatusServiceUnavailable {
			return errors.New("there is room for more")
		}
		return nil
	})
	w.put("/v1/threads/team%2Fa", message("m", "x"), team...)
	for _, c := range open {
		_ = c.Close()
	}
	w.eventually(func() error {
		if a := w.do("POST", "/v1/threads/other/events", message("m", "x"), ops...); a.status != http.StatusOK {
			return errors.New("the room does not come back")
		}
		return nil
	})
}

// Who looks whether a stream is there takes no place of one.
func TestHeadTakesNoPlace(t *testing.T) {
	w := begin(t, options{Options: rest.Options{Streams: 1}})
	w.put("/v1/threads/t", message("m", "x"))
	for range 3 {
		req, err := http.NewRequestWithContext(within(t), http.MethodHead, w.url+"/v1/threads/t/records", nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := w.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, res.Body)
		if _ = res.Body.Close(); res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "text/event-stream" {
			t.Errorf("%s %v", res.Status, res.Header)
		}
	}
}
