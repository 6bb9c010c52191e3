package rest_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
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
	w.put("/v1/threads/team%2Fforked", `{"type":"thread.forked","parent_thread_id":"other"}`, ops...)
	last := w.put("/v1/threads/team%2Fof", `{"type":"thread.message","message_id":"c","role":"user","content":"x","parent_thread_id":"other"}`, ops...)
	for path, want := range map[string]string{"team%2Fof": `"parent_thread_id":"other"`, "team%2Fforked": `"fork":{"parent_thread_id":"other"`} {
		for _, who := range [][]string{team, ops} {
			w.namesOthers(who, "GET", fmt.Sprintf("/v1/threads/%s?min_event_seq=%d", path, last), "", want)
		}
	}
	for _, who := range [][]string{team, ops} {
		w.namesOthers(who, "POST", "/v1/threads/team%2Fforked/context", "{}", `"parent_thread_id":"other"`)
		w.namesOthers(who, "POST", "/v1/threads/team%2Fa/context", `{"children":true,"max_tokens":1e3}`, `"running_thread_ids":["team/b","other"]`)
	}
	w.promptNamesOthers(team, ops)
	for word, want := range map[string]string{agentWord: "forked from another thread", operatorWord: "forked from other"} {
		w.says(w.tools(word), "thread_status", map[string]any{"thread": "team/forked"}, want)
	}
	list := "[" + message("n", "x") + `,{"type":"thread.forked","parent_thread_id":"other"}]`
	if p := w.wants(http.StatusForbidden, "POST", "/v1/threads/team%2Fc/events", list, team...).problem(t); !strings.HasPrefix(p.Detail, "event 1 of the list: ") {
		t.Errorf("%s", p.Detail)
	}
}

// promptNamesOthers has team/a, of which team/b and other run, compacted: only behind a compaction does a prompt name them.
func (w *world) promptNamesOthers(team, ops []string) {
	w.t.Helper()
	for n := range 40 {
		last := w.put("/v1/threads/team%2Fa", message(fmt.Sprint("m", n), strings.Repeat("The boat is at the pier. ", 40)), team...)
		if n == 39 {
			w.wants(http.StatusOK, "POST", "/v1/threads/team%2Fa/summarize", fmt.Sprintf(`{"min_event_seq":%d}`, last), team...)
		}
	}
	prompt := func(who []string) (c api.ContextReply) {
		w.wants(http.StatusOK, "POST", "/v1/threads/team%2Fa/context", `{"children":true}`, who...).json(w.t, &c)
		if len(c.SummaryIDs) != 1 {
			w.t.Fatalf("summaries %q", c.SummaryIDs)
		}
		return c
	}
	if c := prompt(ops); !slices.Equal(c.RunningThreadIDs, []string{"team/b", "other"}) || !strings.Contains(string(c.Messages), "by thread: team=2Fb, other.") {
		w.t.Errorf("running for an operator: %q, %.2000s", c.RunningThreadIDs, c.Messages)
	}
	if c := prompt(team); !slices.Equal(c.RunningThreadIDs, []string{"team/b"}) || strings.Contains(string(c.Messages), "other") {
		w.t.Errorf("running for the team: %q, %.2000s", c.RunningThreadIDs, c.Messages)
	}
}

// namesOthers holds a reply to name threads of others to operators alone.
func (w *world) namesOthers(who []string, method, path, body, name string) {
	w.t.Helper()
	operator := strings.HasSuffix(who[1], operatorWord)
	a := w.wants(http.StatusOK, method, path, body, who...)
	if strings.Contains(string(a.body), name) != operator || !operator && strings.Contains(string(a.body), "other\"") {
		w.t.Errorf("%s %s for an operator (%t): %s", method, path, operator, a.body)
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
