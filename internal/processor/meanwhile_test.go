package processor_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/go-json-experiment/json"

	"precis/api"
	"precis/internal/config"
	"precis/internal/service"
	"precis/summarize"
)

// prompt is what the service gives for a thread, with its clock that of the scene.
func (s *scene) prompt(thread string) api.ContextReply {
	s.schedule.t.Helper()
	<-s.Ready()
	svc, err := service.Start(s.schedule.broker.Conn(), s.Processor, service.Options{Logger: logger(s.schedule.t)})
	if err != nil {
		s.schedule.t.Fatal(err)
	}
	defer func() { _ = svc.Stop() }()
	msg, err := s.schedule.broker.Conn().RequestWithContext(within(s.schedule.t), "precis.thread.context."+thread, nil)
	if err != nil {
		s.schedule.t.Fatal(err)
	}
	var r api.ContextReply
	if err := json.Unmarshal(msg.Data, &r); err != nil || msg.Header.Get("Nats-Service-Error-Code") != "" {
		s.schedule.t.Fatalf("%v %v", msg.Header, err)
	}
	return r
}

// live is what the thread's counters say a prompt holds.
func (s *scene) live(thread string) int64 {
	s.schedule.t.Helper()
	h, err := s.View(s.partition(thread)).Header(thread)
	if err != nil {
		s.schedule.t.Fatal(err)
	}
	return h.TokensLive
}

// holds expects summaries in a prompt, and which of them are renewed; raw expects none.
func (s *scene) holds(thread string, summaries, renewing int) api.ContextReply {
	s.schedule.t.Helper()
	r := s.prompt(thread)
	if len(r.SummaryIDs) != summaries || len(r.RenewingSummaryIDs) != renewing {
		s.schedule.t.Errorf("a prompt holds %v, of which %v are renewed, want %d and %d", r.SummaryIDs, r.RenewingSummaryIDs, summaries, renewing)
	}
	for _, id := range r.RenewingSummaryIDs {
		if !slices.Contains(r.SummaryIDs, id) {
			s.schedule.t.Errorf("%s is renewed, and not in the prompt", id)
		}
	}
	return r
}

// remembering is a thread with a compaction and a large output behind it.
func remembering(t *testing.T, change func(*summarize.Policy)) *scene {
	t.Helper()
	c := requested(t)
	c.Policies[0].Compaction.Keep = summarize.Keep{Messages: 1}
	if change != nil {
		change(&c.Policies[0])
	}
	s := stage(t, c)
	for i := range 8 {
		s.publish("thread.message.t", asked(i))
	}
	s.summarize("t")
	s.publish("tool.result.t", large("out"))
	s.holds("t", 2, 0)
	return s
}

// A thread keeps its memory while its summaries are made again; an edit of what one is made from ends that at once.
func TestTheOldSummaryServesUntilTheNewOneIsThere(t *testing.T) {
	s := remembering(t, nil)
	defer s.finish()
	was := s.live("t")
	s.reload(func(c *config.Config) {
		c.Policies[0].ToolOutput.MaxSummaryChars, c.Policies[0].Compaction.MaxSummaryTokens = 500, 300
	})
	if now := s.live("t"); now != was {
		t.Errorf("%d live tokens, %d before", now, was)
	}
	s.holds("t", 2, 2) // and asks for them
	s.tended()
	s.holds("t", 2, 0)
	if told := s.told("t"); !slices.Contains(told, "created tool:out v2 rules regenerated") || !slices.Contains(told, "created current v2 rules regenerated") {
		t.Errorf("made: %q", told)
	}
	s.reload(func(c *config.Config) {
		c.Policies[0].ToolOutput.MaxSummaryChars, c.Policies[0].Compaction.MaxSummaryTokens = 600, 350
	})
	s.publish("message.edited.t", `{"message_id":"n3","content":"Never mind."}`)
	r := s.holds("t", 2, 0) // the event makes all of it again
	if strings.Contains(string(r.Messages), "internal/part3.go") {
		t.Errorf("a prompt holds what was edited: %s", r.Messages)
	}
}

// What an edit has made untrue serves no longer, also where it is not made again at once, and whatever else is.
func TestAnEditEndsTheServiceOfTheOldSummary(t *testing.T) {
	for name, c := range map[string]struct {
		edit, untrue string
		left         int // summaries
	}{
		"under a compaction": {`{"message_id":"n3","content":"Never mind."}`, "internal/part3.go", 1},
		"a deletion":         {`{"message_id":"n3","deleted":true}`, "internal/part3.go", 1},
		"a tool's output":    {`{"message_id":"out","content":"ok"}`, "pkg/part0.go", 1}, // the compaction was not made from it
	} {
		t.Run(name, func(t *testing.T) {
			s := remembering(t, nil)
			defer s.finish()
			s.reload(func(c *config.Config) {
				c.Policies[0].ToolOutput.MaxSummaryChars, c.Policies[0].Compaction.MaxSummaryTokens = 500, 300
			})
			s.reload(func(c *config.Config) { c.Policies[0].Enabled = false }) // nothing is made again
			s.holds("t", 2, 2)
			s.publish("message.edited.t", c.edit)
			if r := s.holds("t", c.left, c.left); strings.Contains(string(r.Messages), c.untrue) {
				t.Errorf("a prompt holds what was edited: %s", r.Messages)
			}
		})
	}
}

// Under raw what is stale is in no prompt, and what has expired is not from that moment on, whenever the clock ticks.
func TestRawShowsNothingStale(t *testing.T) {
	s := remembering(t, func(p *summarize.Policy) { p.Staleness.Meanwhile, p.Staleness.TTL = summarize.MeanwhileRaw, time.Hour })
	defer s.finish()
	s.clock.forward(61 * time.Minute)
	r := s.prompt("t")
	if len(r.SummaryIDs) != 0 || len(r.RenewingSummaryIDs) != 0 {
		t.Errorf("expired a minute ago, and in a prompt: %v", r.SummaryIDs)
	}
	s.tended() // which the prompt has asked for
	s.holds("t", 2, 0)
	s.reload(func(c *config.Config) {
		c.Policies[0].ToolOutput.MaxSummaryChars, c.Policies[0].Compaction.MaxSummaryTokens = 500, 300
	})
	s.holds("t", 0, 0)
	s.tended()
	s.holds("t", 2, 0)
}

// An expired summary serves from the moment its time is over, and is named; who asks for the prompt has it made again.
func TestExpiredSummariesServe(t *testing.T) {
	s := remembering(t, func(p *summarize.Policy) { p.Staleness.TTL = time.Hour })
	defer s.finish()
	s.clock.forward(61 * time.Minute)
	s.holds("t", 2, 2)
	s.tended()
	s.holds("t", 2, 0)
}

// Where nothing but a model's text may serve, the old one does until the model has answered; a store that is lost
// comes back with it. Where the model fails there is none.
func TestTheOldTextServesWhileAModelWorks(t *testing.T) {
	models := newHeldModels(t)
	c := requested(t)
	p := &c.Policies[0]
	p.Mode, p.OnFailure, p.Provider = summarize.ModeLLM, summarize.OnFailureFail, "p"
	p.Compaction.Keep = summarize.Keep{Messages: 1}
	c.Providers = map[string]config.Provider{"p": models.provider("p")}
	s := stage(t, c)
	defer s.finish()
	for i := range 8 {
		s.publish("thread.message.t", asked(i))
	}
	s.summarize("t")
	s.publish("tool.result.t", large("out"))
	first := s.holds("t", 2, 0)
	h := models.hold("p", "", 2)
	s.alter(func(c *config.Config) {
		provider := c.Providers["p"]
		provider.Model = "gpt-4.1"
		c.Providers["p"] = provider
	})
	if err := s.Tended(within(t)); err != nil {
		t.Fatal(err)
	}
	if r := s.holds("t", 2, 2); !slices.Equal(r.SummaryIDs, first.SummaryIDs) {
		t.Errorf("%v serve, want %v", r.SummaryIDs, first.SummaryIDs)
	}
	if err := s.Tended(within(t)); err != nil { // somebody has asked for them
		t.Fatal(err)
	}
	for range 2 {
		select {
		case <-h.arrived:
		case <-within(t).Done():
			t.Fatal("the models were not asked")
		}
	}
	if r := s.holds("t", 2, 2); !slices.Equal(r.SummaryIDs, first.SummaryIDs) {
		t.Errorf("%v serve while models work, want %v", r.SummaryIDs, first.SummaryIDs)
	}
	live := s.live("t")
	s.end()
	s.schedule.fs = vfs.NewCrashableMem()
	s.open()
	if r := s.holds("t", 2, 2); !slices.Equal(r.SummaryIDs, first.SummaryIDs) || s.live("t") != live {
		t.Errorf("%v serve behind a rebuild, want %v; %d live tokens, %d before", r.SummaryIDs, first.SummaryIDs, s.live("t"), live)
	}
	models.release()
	s.settled()
	if r := s.holds("t", 2, 0); slices.Equal(r.SummaryIDs, first.SummaryIDs) {
		t.Error("nothing was made again")
	}
}

// What a model fails to make again stands no longer: nothing will take its place.
func TestTheOldTextGoesWhereItsModelFails(t *testing.T) {
	c := byModel(t, newModel(t, func(call int64, w http.ResponseWriter, _ *http.Request) {
		if call == 1 {
			says(w, "Compiled pkg/part1.go.", 500, 10)
			return
		}
		http.Error(w, `{"error":{"message":"no"}}`, http.StatusBadRequest)
	}))
	c.Policies[0].OnFailure = summarize.OnFailureFail
	c.Policies[0].Context.KeepOutputs = summarize.KeepOutputs{}
	s := stage(t, c)
	defer s.finish()
	s.publish("tool.result.t", large("out"))
	s.holds("t", 1, 0)
	s.reload(func(c *config.Config) { c.Policies[0].ToolOutput.MaxSummaryChars = 500 })
	s.holds("t", 1, 1)
	s.tended()
	s.holds("t", 0, 0)
	if told := s.told("t"); !strings.HasPrefix(fmt.Sprint(told[len(told)-1]), "failed tool:out") {
		t.Errorf("%q", told)
	}
}
