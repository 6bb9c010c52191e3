package rest_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"precis/api"
)

func output() string {
	var b strings.Builder
	for i := range 120 {
		fmt.Fprintf(&b, "src/x_%03d.go:%d: undefined: roundHalfUp\\n", i, i)
	}
	return b.String()
}

func message(id, text string) string {
	return fmt.Sprintf(`{"type":"thread.message","message_id":%q,"role":"user","content":%q}`, id, text)
}

// One thread through every route.
func TestEveryRoute(t *testing.T) {
	w := begin(t, options{})
	const path = "/v1/threads/nightly%2Fbuild%2042"
	if seq := w.put(path, message("u1", "Which test fails?")); seq != 1 {
		t.Errorf("stored as %d", seq)
	}
	var stored api.EventsReply
	w.wants(200, "POST", path+"/events", `[{"type":"tool.result","message_id":"r/1","tool_name":"bash","content":"`+output()+`"},
		{"type":"thread.message","message_id":"a1","role":"assistant","content":"None."},`+message("u1", "another")+`]`).json(t, &stored)
	if len(stored.EventSeqs) != 3 || stored.EventSeqs[0] != 2 || stored.EventSeq != 4 {
		t.Errorf("%+v", stored)
	}
	var thread api.ThreadReply
	w.wants(200, "GET", path+"?min_event_seq=4", "").json(t, &thread)
	if thread.ThreadID != "nightly/build 42" || thread.Messages != 2 || thread.ToolResults != 1 || thread.Rejected != 1 {
		t.Errorf("%+v", thread)
	}
	var prompt api.ContextReply
	w.wants(200, "POST", path+"/context", `{"format":"openai","max_tokens":4000,"min_event_seq":4}`).json(t, &prompt)
	if len(prompt.SummaryIDs) != 1 || !prompt.WithinBudget {
		t.Fatalf("%+v", prompt)
	}
	w.wants(200, "POST", path+"/context", "")
	w.wants(200, "POST", path+"/summarize", `{"kind":"history"}`)
	var text api.MessageReply
	w.wants(200, "GET", path+"/messages/r%2F1?lines=2-3&revision=0&min_event_seq=4", "").json(t, &text)
	if text.MessageID != "r/1" || strings.Count(*text.Content, "\n") != 2 || !strings.HasPrefix(*text.Content, "src/x_001.go") {
		t.Errorf("%+v", text)
	}
	w.wants(200, "GET", path+"/messages/r%2F1?lines=5", "")
	w.wants(200, "GET", "/v1/summaries/"+prompt.SummaryIDs[0], "")
	w.eventually(func() error {
		var list api.RejectionsReply
		w.wants(200, "GET", path+"/rejections", "").json(t, &list)
		if len(list.Rejections) != 1 || list.Rejections[0].Code != "message_conflict" {
			return fmt.Errorf("%+v", list)
		}
		return nil
	})
	for _, after := range []string{"1", "99999", "18446744073709551615"} {
		var list api.RejectionsReply
		if w.wants(200, "GET", path+"/rejections?after="+after, "").json(t, &list); len(list.Rejections) != 0 {
			t.Errorf("behind %s: %+v", after, list)
		}
	}
	w.wants(200, "GET", "/v1/openapi.json", "")
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.observed["/v1/threads/{thread}/context 200"] != 2 {
		t.Errorf("observed %v", w.observed)
	}
}

// A thread's id may have any byte; the path names it byte for byte, and every route finds the same thread.
func TestThreadIDsWithEveryByte(t *testing.T) {
	w := begin(t, options{})
	for c := range 256 {
		id := string([]byte{'a', byte(c), 'b'})
		path := fmt.Sprintf("/v1/threads/a%%%02Xb", c)
		if c >= 0x80 { // no JSON could name it
			p := w.wants(422, "POST", path+"/events", message("m", "x")).problem(t)
			if len(p.Rejections) != 1 || fieldOf(p.Rejections[0]) != "subject" {
				t.Errorf("%q: %+v", id, p)
			}
			w.wants(404, "GET", path, "")
			continue
		}
		seq := w.put(path, message("m", "x"))
		var thread api.ThreadReply
		w.wants(200, "GET", fmt.Sprintf("%s?min_event_seq=%d", path, seq), "").json(t, &thread)
		if thread.ThreadID != id || thread.Messages != 1 {
			t.Errorf("%q: %q with %d messages", id, thread.ThreadID, thread.Messages)
		}
	}
	for _, id := range []string{".", "..", "%", "é", strings.Repeat("x", 256), "a/../b", "events"} {
		path := "/v1/threads/" + strings.NewReplacer(".", "%2E").Replace(url.PathEscape(id))
		seq := w.put(path, message("m", "x"))
		var thread api.ThreadReply
		if w.wants(200, "GET", fmt.Sprintf("%s?min_event_seq=%d", path, seq), "").json(t, &thread); thread.ThreadID != id {
			t.Errorf("%q: %q", id, thread.ThreadID)
		}
	}
	for _, path := range []string{"/v1/threads/" + strings.Repeat("x", 257), "/v1/threads/" + strings.Repeat("x", 257) + "/messages/m"} {
		w.wants(400, "GET", path, "")
	}
}

// A thread's id may be of any bytes of a path, also of those that paths are made of, and each is a thread of its own. What is wrong with an id is said of what it
// is the id of.
func TestThreadsNamedLikePaths(t *testing.T) {
	w := begin(t, options{})
	ids := []string{"/", "//", "a/b", "a//b", "%2F", "%252F", "..", ".", "../x", "a/../b", "a/./b", "?", "#", "a b", "+", "=", ";", "\\", "threads", "é"}
	escape := func(id string) string { return strings.ReplaceAll(url.PathEscape(id), ".", "%2E") }
	for i, id := range ids {
		w.put("/v1/threads/"+escape(id), message(fmt.Sprint("m", i), "This is thread "+id))
	}
	for i, id := range ids {
		path := "/v1/threads/" + escape(id)
		w.eventually(func() error {
			if a := w.do("GET", path, ""); a.status != 200 {
				return fmt.Errorf("%q: %d", id, a.status)
			}
			return nil
		})
		var thread api.ThreadReply
		w.wants(200, "GET", path, "").json(t, &thread)
		if thread.ThreadID != id || thread.Messages != 1 {
			t.Errorf("%q is %+v", id, thread)
		}
		w.wants(200, "POST", path+"/context", "{}")
		w.wants(200, "GET", path+"/messages/"+fmt.Sprint("m", i), "")
		w.wants(200, "GET", path+"/rejections", "")
	}
	w.put("/v1/threads/%2f", message("/", "A message named like a path"))
	w.eventually(func() error {
		if a := w.do("GET", "/v1/threads/%2F/messages/%2F", ""); a.status != 200 {
			return fmt.Errorf("%d %s", a.status, a.body)
		}
		return nil
	})
	if a := w.do("DELETE", "/v1/threads/%2F", ""); a.status != 405 || a.header.Get("Allow") != "GET, HEAD" {
		t.Errorf("%d %v", a.status, a.header)
	}
	w.wants(404, "GET", "/v1/%2F", "")
	w.wants(404, "GET", "/v1/threads/%2F/", "")
	w.wants(404, "GET", "/v1/threads/./%2F", "")
	if p := w.wants(400, "GET", "/v1/summaries/"+strings.Repeat("s", 300), "").problem(t); strings.Contains(p.Detail, "thread") || !strings.Contains(p.Detail, "summary id") {
		t.Errorf("of a summary's id: %s", p.Detail)
	}
}

// What another program has put into REJECTED is no rejection, and hides none.
func TestRejectionsBesideOthers(t *testing.T) {
	w := begin(t, options{})
	js, err := jetstream.New(w.broker.Conn())
	if err != nil {
		t.Fatal(err)
	}
	foreign := func() {
		for _, body := range []string{"no JSON", "{}", `["code"]`} {
			if _, err := js.Publish(within(t), "event.rejected.t", []byte(body)); err != nil {
				t.Fatal(err)
			}
		}
	}
	foreign()
	w.put("/v1/threads/t", message("m", "one"))
	w.put("/v1/threads/t", message("m", "another"))
	listed := func() []api.Rejection {
		var list api.RejectionsReply
		w.wants(200, "GET", "/v1/threads/t/rejections", "").json(t, &list)
		return list.Rejections
	}
	w.eventually(func() error {
		if list := listed(); len(list) != 1 || list[0].Code != "message_conflict" {
			return fmt.Errorf("%+v", list)
		}
		return nil
	})
	foreign()
	if list := listed(); len(list) != 1 {
		t.Errorf("%+v", list)
	}
}

// Parallel publications of one thread and of others are all counted, whatever is sent twice.
func TestParallelClients(t *testing.T) {
	w := begin(t, options{})
	var wg sync.WaitGroup
	for c := range 8 {
		wg.Go(func() {
			for i := range 20 {
				for range 2 {
					w.put("/v1/threads/shared", message(fmt.Sprintf("m%d-%d", c, i), "x"))
				}
				w.put(fmt.Sprintf("/v1/threads/own%d", c), message(fmt.Sprint(i), "x"))
			}
		})
	}
	wg.Wait()
	var thread api.ThreadReply
	w.wants(200, "GET", fmt.Sprintf("/v1/threads/shared?min_event_seq=%d", w.put("/v1/threads/shared", message("end", "x"))), "").json(t, &thread)
	if thread.Messages != 161 || thread.Duplicates != 160 {
		t.Errorf("%d messages, %d duplicates", thread.Messages, thread.Duplicates)
	}
}

// Errors of every kind are problems that say what to do.
func TestProblems(t *testing.T) {
	w := begin(t, options{})
	w.put("/v1/threads/t", message("m", "x"))
	for _, c := range []struct {
		status             int
		method, path, body string
		says               string
	}{
		{404, "GET", "/", "", "openapi.json"},
		{404, "GET", "/v1/thread", "", "openapi.json"},
		{404, "GET", "/v1/threads/a/b/c/d", "", "%2F"},
		{404, "GET", "/v1/threads//context", "", "empty segment"},
		{404, "GET", "/v1/threads/x/../t", "", "%HH"},
		{404, "GET", "/v1/threads/t/..", "", "%HH"},
		{404, "GET", "/v1/threads/t/messages/.", "", "%HH"},
		{404, "GET", "/v1/threads/nobody", "", "no thread"},
		{404, "GET", "/v1/threads/nobody/messages/m", "", "no thread"},
		{404, "POST", "/v1/threads/nobody/summarize", "{}", "no thread"},
		{405, "DELETE", "/v1/threads/t", "", "GET"},
		{405, "GET", "/v1/threads/t/context", "", "POST"},
		{400, "GET", "/v1/threads/t?min_event_seq=-1", "", "min_event_seq"},
		{400, "GET", "/v1/threads/t?min_event_seq=999999", "", "publish ack"},
		{400, "GET", "/v1/threads/t?budget=1", "", "unknown parameter"},
		{400, "GET", "/v1/threads/t?min_event_seq=1&min_event_seq=1", "", "2 times"},
		{400, "GET", "/v1/threads/t?a=%zz", "", "well-formed"},
		{400, "GET", "/v1/threads/t/messages/m?lines=a", "", "A-B"},
		{400, "GET", "/v1/threads/t/messages/m?lines=3-1", "", "lines"},
		{400, "GET", "/v1/threads/t/messages/%FF", "", "UTF-8"},
		{404, "GET", "/v1/threads/t/messages/m9", "", "no message"},
		{404, "GET", "/v1/summaries/sum_0", "", "no summary"},
		{404, "GET", "/v1/summaries/%00%2F.*", "", "no summary"},
		{400, "POST", "/v1/threads/t/context", `{"maxTokens":1}`, "max_tokens"},
		{400, "POST", "/v1/threads/t/context", `[]`, "object"},
		{400, "POST", "/v1/threads/t/summarize", `{"kind":"all"}`, "kind"},
		{400, "POST", "/v1/threads/t/events", ``, "event"},
		{400, "POST", "/v1/threads/t/events", `"x"`, "event"},
		{400, "POST", "/v1/threads/t/events", `[]`, "1 to 1000"},
		{400, "POST", "/v1/threads/t/events", `[{}`, "event"},
		{400, "POST", "/v1/threads/t/events", "[" + strings.Repeat("{},", 1000) + "{}]", "1 to 1000"},
		{400, "GET", "/v1/threads/t/rejections?after=x", "", "after"},
		{400, "GET", "/v1/threads/t/records?from=end", "", "from"},
	} {
		if p := w.wants(c.status, c.method, c.path, c.body).problem(t); !strings.Contains(p.Detail, c.says) || p.Status != c.status {
			t.Errorf("%s %.60s %.60s: %+v, want %q", c.method, c.path, c.body, p, c.says)
		}
	}
	if a := w.wants(405, "PUT", "/v1/threads/t", ""); a.header.Get("Allow") != "GET, HEAD" {
		t.Errorf("Allow: %q", a.header.Get("Allow"))
	}
}

// One event that can't be accepted keeps the others out, and each is named.
func TestRefusedEvents(t *testing.T) {
	w := begin(t, options{})
	body := `[` + message("m1", "fine") + `,{"type":"thread.message","role":"user"},{"type":"summary.created"},{"type":"x"},{"message_id":"m"},7,
		{"type":"thread.message","message_id":"m2","role":"user","content":"x","thread_id":"other"},
		{"type":"thread.message","message_id":"m2","role":"user","content":"` + strings.Repeat("x", 1<<20) + `"},
		{"type":"thread.message","message_id":"m","message_id":"m","role":"user","content":""}]`
	p := w.wants(http.StatusUnprocessableEntity, "POST", "/v1/threads/t/events", body).problem(t)
	got := ""
	for _, r := range p.Rejections {
		got += fmt.Sprint(r.Index, " ", r.Code, " ", fieldOf(r), "; ")
	}
	if want := "1 schema message_id; 2 schema type; 3 schema type; 4 schema type; 5 schema null; 6 thread_mismatch thread_id; 7 too_large null; 8 invalid_json null; "; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	w.wants(404, "GET", "/v1/threads/t", "")
}

// A message that was published without a text, as beside calls, has none in the answer; an empty text stays one.
func TestContentOfNull(t *testing.T) {
	w := begin(t, options{})
	w.put("/v1/threads/t", `[{"type":"thread.message","message_id":"null","role":"assistant","content":null,"tool_calls":[{"id":"c","name":"bash","arguments":{}}]},
		{"type":"thread.message","message_id":"empty","role":"assistant","content":"","tool_calls":[{"id":"d","name":"bash","arguments":{}}]}]`)
	for id, want := range map[string]string{"null": `"content":null,`, "empty": `"content":"",`} {
		w.eventually(func() error {
			body := string(w.do("GET", "/v1/threads/t/messages/"+id, "").body)
			if !strings.Contains(body, want) || !strings.Contains(body, `"name":"bash"`) {
				return fmt.Errorf("%s: %s", id, body)
			}
			return nil
		})
	}
	w.wants(200, "GET", "/v1/threads/t/messages/null?lines=1-5", "")
}

func fieldOf(r api.RefusedEvent) string {
	if r.Field == nil {
		return "null"
	}
	return *r.Field
}
