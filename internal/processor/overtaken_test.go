package processor_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"

	"precis/events"
	"precis/internal/config"
	"precis/internal/content"
	"precis/summarize"
)

// holding is a model that holds its first answer back until it is released.
func holding(t testing.TB) (m *model, atWork chan struct{}, release chan struct{}) {
	atWork, release = make(chan struct{}), make(chan struct{})
	return newModel(t, func(call int64, w http.ResponseWriter, r *http.Request) {
		if call == 1 {
			close(atWork)
			select {
			case <-release:
			case <-r.Context().Done(): // of a test that has failed
			}
		}
		says(w, fmt.Sprintf("Compiled pkg, as call %d says.", call), 500, 10)
	}), atWork, release
}

// reloaded puts another configuration in force and waits for nothing.
func (s *scene) reloaded(change func(*config.Config)) {
	s.schedule.t.Helper()
	next := *s.config
	next.Policies = slices.Clone(next.Policies)
	change(&next)
	if err := s.Reload(within(s.schedule.t), &next); err != nil {
		s.schedule.t.Fatal(err)
	}
	s.config = &next
}

// reached waits until an event is applied.
func (s *scene) reached(thread string, seq uint64) {
	s.schedule.t.Helper()
	if err := s.Wait(within(s.schedule.t), s.partition(thread), seq); err != nil {
		s.schedule.t.Fatal(err)
	}
}

// A compaction's job whose model or prompt is another one before it ends is asked again of the new one.
func TestReloadDuringACompaction(t *testing.T) {
	for name, change := range map[string]func(*config.Config){
		"model": func(c *config.Config) {
			p := c.Providers[config.ProviderSummarizer]
			p.Model = "claude-sonnet-4-5"
			c.Providers = map[string]config.Provider{config.ProviderSummarizer: p}
		},
		"prompt": func(c *config.Config) {
			c.Policies[0].Prompts = map[string]string{"compaction": "Say what was done, in {limit}."}
		},
	} {
		t.Run(name, func(t *testing.T) {
			m, atWork, release := holding(t)
			s := stage(t, compactsByModel(t, m))
			defer s.finish()
			talk(t, s.schedule.broker, 1, 9)
			<-atWork
			s.reloaded(change)
			if err := s.Tended(within(t)); err != nil {
				t.Fatal(err)
			}
			close(release)
			s.settled()
			s.saw("t1", 0, "created leaf:m1 v1 rules thread_messages", "created current v1 rules thread_messages",
				"started current v2 thread_messages", "paid current superseded", "failed current superseded",
				"started current v3 regenerated", "paid current used", "created current v3 llm regenerated")
		})
	}
}

// A job that was decided under one policy is not adopted where another one serves its thread by then: the
// sweep that looked for what is outdated has come and gone.
func TestAnotherPolicyDuringAJob(t *testing.T) {
	m, atWork, release := holding(t)
	c := byModel(t, m)
	other := c.Policies[0]
	other.Name, other.ToolOutput.MaxSummaryChars = "other", 600
	c.Policies = append(c.Policies, other)
	s := stage(t, c)
	defer s.finish()
	put(t, s.schedule.broker.Conn(), "tool.result.t", large("a"))
	<-atWork
	s.reloaded(func(c *config.Config) { slices.Reverse(c.Policies) })
	if err := s.Tended(within(t)); err != nil {
		t.Fatal(err)
	}
	close(release)
	s.settled()
	s.saw("t", 0, "started tool:a v1 tool_output_chars", "paid tool:a superseded", "failed tool:a superseded",
		"started tool:a v2 tool_output_chars", "paid tool:a used", "created tool:a v2 llm tool_output_chars")
	if n := longestStep(t, s.schedule.broker); n != 3 {
		t.Errorf("%d records in the longest step, want the call, the failure and the next start in one", n)
	}
}

// failing is a log that some reads fail of.
type failing struct {
	content.Log
	left *atomic.Int64
}

func (l failing) Event(ctx context.Context, seq uint64) (*events.Event, error) {
	if l.left.Add(-1) >= 0 {
		return nil, errors.New("the server does not answer")
	}
	return l.Log.Event(ctx, seq)
}

// What a job was to do is decided again under the policy that serves its thread by then, also where the log can't be
// read at once.
func TestAnotherPolicyDuringAJobThatCantBeReadAgain(t *testing.T) {
	m, atWork, release := holding(t)
	c := byModel(t, m)
	other := c.Policies[0]
	other.Name, other.Mode, other.ToolOutput.MaxSummaryChars = "other", summarize.ModeRules, 600
	c.Policies = append(c.Policies, other)
	var left atomic.Int64
	s := stageWith(t, c, func(log content.Log) content.Log { return failing{log, &left} })
	defer s.finish()
	put(t, s.schedule.broker.Conn(), "tool.result.t", large("a"))
	<-atWork
	s.reloaded(func(c *config.Config) { slices.Reverse(c.Policies) })
	if err := s.Tended(within(t)); err != nil {
		t.Fatal(err)
	}
	left.Store(2)
	close(release)
	s.settled()
	if n := left.Load(); n > 0 {
		t.Fatalf("%d reads have yet to fail", n)
	}
	s.saw("t", 0, "started tool:a v1 tool_output_chars", "paid tool:a superseded", "failed tool:a superseded",
		"created tool:a v2 rules tool_output_chars")
}

// What falls due while a history is being written is written behind it, once.
func TestHistoriesDueWhileOneIsWritten(t *testing.T) {
	m, atWork, release := holding(t)
	c := byModel(t, m)
	tells(&c.Policies[0])
	s := stage(t, c)
	defer s.finish()
	talk(t, s.schedule.broker, 1, 4)
	<-atWork
	last := talk(t, s.schedule.broker, 5, 13)
	s.reached("t1", last)
	close(release)
	s.settled()
	s.saw("t1", 0, "started history v1 thread_messages", "paid history used", "created history v1 llm thread_messages",
		"started history v2 thread_messages", "paid history used", "created history v2 llm thread_messages")
}

// A history that somebody has asked for is made, also where the policy makes none by itself and a source
// changes while a model is at work on it.
func TestARequestedHistoryIsMade(t *testing.T) {
	m, atWork, release := holding(t)
	s := stage(t, byModel(t, m))
	defer s.finish()
	s.publish("thread.message.t1", note(1), note(2))
	if id, err := s.Summarize(within(t), s.partition("t1"), "t1", events.KindHistory); err != nil || id == "" {
		t.Fatalf("asked for a history: %q, %v", id, err)
	}
	<-atWork
	last := put(t, s.schedule.broker.Conn(), "message.edited.t1", `{"message_id":"m1","content":"another note"}`)
	s.reached("t1", last)
	close(release)
	s.settled()
	s.saw("t1", 0, "started history v1 requested", "paid history superseded", "failed history superseded",
		"started history v2 requested", "paid history used", "created history v2 llm requested")
}
