package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go/jetstream"

	"precis/api"
	"precis/cmd/processor/console"
	"precis/cmd/processor/remote"
	"precis/events"
	"precis/internal/broker"
)

// steadyCounters are the counters that neither copies nor the place in the log change.
type steadyCounters struct {
	messages, results, edits, bytes, tokens, live, active, stale int64
}

// verify holds counters and summaries against the count by hand.
func (l *load) verify(t *testing.T, v *victim) map[string]steadyCounters {
	t.Helper()
	s, err := remote.Flags{NATS: v.url()}.Connect(console.New(strings.NewReader(""), io.Discard, io.Discard))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	counters := map[string]steadyCounters{}
	for id, want := range l.threads {
		got := countersAt(t, s, id)
		counters[id] = got
		if got.messages != want.messages || got.results != want.results || got.edits != want.edits {
			t.Errorf("thread %q: %+v, by hand %d messages, %d results, %d edits", id, got, want.messages, want.results, want.edits)
		}
	}
	l.verifySummaries(t, s)
	return counters
}

// countersAt asks for a thread's, once everything that EVENTS holds of it is in them.
func countersAt(t *testing.T, s *remote.Server, thread string) steadyCounters {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), killTimeout)
	defer cancel()
	token, err := events.Token(thread)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := s.JS.Stream(ctx, broker.StreamEvents)
	if err != nil {
		t.Fatal(err)
	}
	last, err := stream.GetLastMsgForSubject(ctx, remote.ThreadFilter(token))
	if err != nil {
		t.Fatal(err)
	}
	var c api.ThreadReply
	for {
		reply, err := s.Ask(ctx, api.ThreadGet, thread, map[string]uint64{"min_event_seq": last.Sequence})
		if err == nil {
			err = json.Unmarshal(reply, &c)
		}
		if err == nil {
			break
		}
		if console.Status(err) != exitUnreachable || ctx.Err() != nil { // it may have to catch up first
			t.Fatalf("thread %q: %v", thread, err)
		}
	}
	return steadyCounters{
		int64(c.Messages), int64(c.ToolResults), int64(c.Edits), c.Bytes, c.TokensTotal, c.TokensLive, int64(c.SummariesActive), int64(c.SummariesStale),
	}
}

// verifySummaries holds SUMMARIES against the count by hand: each summary of a tool output once, none missing,
// each thread's chain whole, and what is left standing is made of what is large now.
func (l *load) verifySummaries(t *testing.T, s *remote.Server) {
	t.Helper()
	want := map[string]int{}
	for thread, c := range l.threads {
		for message, versions := range c.versions {
			for n := range versions {
				want[fmt.Sprintf("%s %s version %d", thread, message, n+1)] = 1
			}
		}
	}
	got := toolSummaries(t, s, len(want))
	for name := range want {
		if got[name] != 1 {
			t.Errorf("%s: created %d times", name, got[name])
		}
		delete(got, name)
	}
	if len(got) > 0 {
		t.Errorf("not asked for: %v", got)
	}
}

// toolSummaries reads SUMMARIES from its start until n tool outputs have been summarized, and then what is left.
func toolSummaries(t *testing.T, s *remote.Server, n int) map[string]int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	log, err := s.Read(ctx, broker.StreamSummaries, nil, jetstream.DeliverAllPolicy)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	created, heads, count := map[string]int{}, map[string]string{}, 0
	for {
		e, there, err := log.Before(ctx)
		if err == nil && !there {
			if count >= n {
				return created
			}
			e, err = log.Next(ctx)
		}
		if err != nil {
			t.Fatalf("%d of %d summaries are there: %v", count, n, err)
		}
		chain, err := events.VerifyChain(heads[e.Raw.Subject[strings.LastIndexByte(e.Raw.Subject, '.'):]], e.Raw.Body)
		if err != nil {
			t.Fatalf("SUMMARIES %d: %v", e.Seq, err)
		}
		heads[e.Raw.Subject[strings.LastIndexByte(e.Raw.Subject, '.'):]] = chain
		var r events.Summary
		if e.Typ != events.SummaryCreated || json.Unmarshal(e.Raw.Body, &r) != nil || r.Kind != events.KindToolResult {
			continue
		}
		count++
		created[fmt.Sprintf("%s %s version %d", e.Thread, r.SourceMessageIDs[0], r.Version)]++
	}
}

func (v *victim) countersOf(t *testing.T, thread string) steadyCounters {
	t.Helper()
	s, err := remote.Flags{NATS: v.url()}.Connect(console.New(strings.NewReader(""), io.Discard, io.Discard))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	return countersAt(t, s, thread)
}
