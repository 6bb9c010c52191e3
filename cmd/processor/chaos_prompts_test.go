package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"precis/api"
	"precis/cmd/processor/console"
	"precis/cmd/processor/remote"
	"precis/events"
	"precis/summarize/prompt/whole"
)

// livingOf lists the messages of each thread that are not deleted, in order, by what was published alone: the first
// message of an id counts, each edit counts once, and a text restores what was deleted.
func livingOf(t *testing.T, list []events.FileEvent) map[string][]string {
	t.Helper()
	type key struct{ thread, id string }
	order, deleted, edited := map[string][]string{}, map[key]bool{}, map[key]bool{}
	for _, e := range list {
		var b body
		if err := json.Unmarshal(e.Data, &b); err != nil {
			t.Fatal(err)
		}
		message, edit := key{e.Thread, b.MessageID}, key{e.Thread, b.EditID}
		switch {
		case e.Type != events.MessageEdited && !slices.Contains(order[e.Thread], b.MessageID):
			order[e.Thread] = append(order[e.Thread], b.MessageID)
		case e.Type == events.MessageEdited && !edited[edit]:
			edited[edit], deleted[message] = true, b.Deleted
		}
	}
	for thread, ids := range order {
		order[thread] = slices.DeleteFunc(ids, func(id string) bool { return deleted[key{thread, id}] })
	}
	return order
}

// checkPrompts holds prompts of every thread, without a limit and within several, to the promise that each message that
// lives is exactly one of verbatim, inside a summary that is named, dropped, waiting.
func (l *load) checkPrompts(t *testing.T, v *victim) {
	t.Helper()
	s, err := remote.Flags{NATS: v.url()}.Connect(console.New(strings.NewReader(""), io.Discard, io.Discard))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	count := 0
	for thread, live := range livingOf(t, l.events) {
		limits := []int{0}
		for i := 0; i < len(limits); i++ {
			tokens, err := checkPrompt(t, s, thread, live, limits[i])
			if err != nil {
				t.Errorf("thread %q within %d tokens: %v", thread, limits[i], err)
			}
			if i == 0 {
				limits = append(limits, max(1, tokens*9/10), max(1, tokens/2), max(1, tokens/8))
			}
			count++
		}
		if _, err := checkPrompt(t, s, thread, append([]string{"never published"}, live...), 0); err == nil {
			t.Errorf("thread %q: a message that is missing was not missed", thread)
		}
	}
	t.Logf("%d prompts are whole", count)
}

// checkPrompt checks one prompt and returns what it takes.
func checkPrompt(t *testing.T, s *remote.Server, thread string, live []string, limit int) (tokens int, err error) {
	reply, err := s.Ask(t.Context(), api.ThreadContext, thread, map[string]any{"format": "messages", "max_tokens": limit})
	if err != nil {
		return 0, err
	}
	var p struct {
		whole.Prompt
		TokenCount int `json:"token_count"`
	}
	if err := json.Unmarshal(reply, &p); err != nil {
		return 0, fmt.Errorf("read prompt: %w", err)
	}
	return p.TokenCount, whole.Check(live, p.Prompt, func(id string) (sum whole.Summary, err error) {
		reply, err := s.Ask(t.Context(), api.SummaryGet, id, struct{}{})
		if err != nil {
			return sum, err
		}
		return sum, json.Unmarshal(reply, &sum)
	})
}
