package rest_test

import (
	"fmt"
	"slices"
	"testing"

	"precis/api"
)

// A list has the threads of its token alone, in the order that was asked for, page by page.
func TestListOfThreads(t *testing.T) {
	w := begin(t, options{tokens: tokensText()})
	bearer := func(word string) []string { return []string{"Authorization", "Bearer " + word} }
	for i := range 5 {
		w.put(fmt.Sprintf("/v1/threads/team%%2F%d", i), message("m", fmt.Sprint(fortunes[:20*(i+1)])), bearer(agentWord)...)
	}
	last := w.put("/v1/threads/other", message("m", "x"), bearer(operatorWord)...)
	w.put("/v1/threads/team%2Fchild", `{"type":"thread.message","message_id":"c","role":"user","content":"x","parent_thread_id":"other"}`, bearer(operatorWord)...)
	w.wants(200, "GET", fmt.Sprintf("/v1/threads/team%%2Fchild?min_event_seq=%d", last+1), "", bearer(operatorWord)...)

	names := func(word, query string) (list []string) {
		t.Helper()
		for after := ""; ; {
			var r api.ThreadsReply
			w.wants(200, "GET", "/v1/threads?limit=2&after="+after+query, "", bearer(word)...).json(t, &r)
			for _, row := range r.Threads {
				list = append(list, row.ThreadID)
				if row.ThreadID == "team/child" && (row.ParentThreadID != nil) != (word == operatorWord) {
					t.Errorf("parent of %s for %s: %v", row.ThreadID, word, row.ParentThreadID)
				}
			}
			if r.Next == nil {
				return list
			}
			after = *r.Next
		}
	}
	w.eventually(func() error {
		if got := names(operatorWord, ""); len(got) != 7 {
			return fmt.Errorf("%q", got)
		}
		return nil
	})
	if got := names(agentWord, "&sort=size"); !slices.Equal(got, []string{"team/4", "team/3", "team/2", "team/1", "team/0", "team/child"}) {
		t.Errorf("%q", got)
	}
	if got := names(auditorWord, "&sort=size&ascending=true&search=TEAM/&prefix=team/"); !slices.Equal(got, []string{"team/child", "team/0", "team/1", "team/2", "team/3", "team/4"}) {
		t.Errorf("%q", got)
	}
	if got := names(operatorWord, "&policy=none&agent_id=x"); len(got) != 0 {
		t.Errorf("%q", got)
	}
	for _, query := range []string{"sort=name", "stale=yes", "limit=1001", "limit=-1", "after=x", "zzz=1", "limit=99999999999999999999"} {
		w.wants(400, "GET", "/v1/threads?"+query, "", bearer(agentWord)...)
	}
	w.wants(403, "GET", "/v1/threads?prefix=other", "", bearer(agentWord)...)
	w.wants(403, "GET", "/v1/threads?prefix=tea", "", bearer(auditorWord)...)
	w.wants(401, "GET", "/v1/threads", "")
}

// fortunes is a text of many tokens.
var fortunes = func() (words []string) {
	for i := range 200 {
		words = append(words, fmt.Sprint("word", i))
	}
	return words
}()
