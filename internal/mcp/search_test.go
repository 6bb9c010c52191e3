package mcp

import (
	"context"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"precis/api"
	"precis/events"
)

// lossy answers for a thread of which the log has lost records: what a service says of a compaction of two summaries and two messages.
type lossy struct {
	Asker
	lost map[string]bool
}

func (l lossy) Context(context.Context, string, api.ContextRequest) (*api.ContextReply, error) {
	return &api.ContextReply{
		Messages: jsontext.Value(`[]`), Sources: []api.Source{{MessageIDs: []string{"m5"}}, {MessageIDs: []string{"m6"}}},
		Explain: &api.Explanation{Summaries: []api.ExplainedSummary{{ID: "node", Kind: events.KindCompaction}}},
	}, nil
}

func (l lossy) Summary(_ context.Context, id string) (*api.SummaryReply, error) {
	if l.lost[id] {
		return nil, &api.Error{Code: 404, Message: "SUMMARIES no longer holds its record"}
	}
	reply := &api.SummaryReply{}
	switch id {
	case "node":
		reply.SourceSummaryIDs = []string{"leaf1", "leaf2"}
	case "leaf1":
		reply.SourceMessageIDs = []string{"m1", "m2"}
	case "leaf2":
		reply.SourceMessageIDs = []string{"m3", "m4"}
	}
	return reply, nil
}

func (l lossy) Message(_ context.Context, thread string, req api.MessageRequest) (*api.MessageReply, error) {
	if l.lost[req.MessageID] {
		return nil, &api.Error{Code: 404, Message: "the log no longer holds it"}
	}
	text := "the dodo of " + req.MessageID
	return &api.MessageReply{ThreadID: thread, MessageID: req.MessageID, Role: events.RoleUser, Content: &text, Lines: []int{1, 1}, LinesTotal: 1}, nil
}

// A search says what it could not read: it has not looked there, and nothing found is not nothing said.
func TestSearchSaysWhatIsGone(t *testing.T) {
	for _, c := range []struct {
		lost  []string
		query string
		want  string
	}{
		{nil, "dodo", `6 lines contain "dodo", the newest first; 6 messages searched.`},
		{nil, "emu", `Nothing contains "emu": 6 messages searched.`},
		{[]string{"m1"}, "dodo of m1", `Nothing contains "dodo of m1": 5 messages searched, 1 message not, since the log no longer holds it.`},
		{[]string{"m1", "m5"}, "dodo", `4 messages searched, 2 messages not, since the log no longer holds them.`},
		{[]string{"leaf1"}, "dodo of m1", `Nothing contains "dodo of m1": 4 messages searched, nor what 1 summary stands for: the log no longer holds it.`},
		{[]string{"leaf1", "leaf2", "m6"}, "emu", `1 message searched, 1 message not, since the log no longer holds it, nor what 2 summaries stand for: the log no longer holds them.`},
	} {
		l := lossy{lost: map[string]bool{}}
		for _, id := range c.lost {
			l.lost[id] = true
		}
		s := &server{Options{Asker: l}}
		got, err := s.searchThread(t.Context(), searchInput{Thread: "t", Query: c.query})
		if err != nil || !strings.Contains(got, c.want) {
			t.Errorf("without %v: %v, %s\nwant %s", c.lost, err, got, c.want)
		}
	}
}
