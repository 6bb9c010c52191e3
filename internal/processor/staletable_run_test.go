package processor_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"precis/events"
	"precis/internal/config"
	"precis/internal/processor"
	"precis/internal/race"
	"precis/internal/service"
	"precis/summarize"
)

// blocker names the policy and the provider of what takes up all places that jobs have.
const blocker = "blocker"

// What becomes of a summary that goes stale: testdata/staleness.txt says it of every kind, reason, action and
// moment, and this holds a running processor to it. What is on record is borne out by a replay.
func TestStaleness(t *testing.T) {
	race.Slow(t)
	table, models, c := readTable(t), newHeldModels(t), settings(t)
	p := &c.Policies[0]
	p.Name, p.Match, p.Mode, p.Provider = blocker, summarize.Match{ThreadID: blocker + "*"}, summarize.ModeLLM, blocker
	c.Providers = map[string]config.Provider{blocker: models.provider(blocker)}
	for _, cell := range cells(t, "* * * * *") {
		if table[cell].why == "" {
			c.Policies = append(c.Policies, cell.policy())
			c.Providers[cell.String()] = models.provider(cell.String())
		}
	}
	s := &staleness{scene: stage(t, c), models: models, table: table, sent: map[string]uint64{}}
	defer s.finish()
	<-s.Ready()
	svc, err := service.Start(s.schedule.broker.Conn(), s.Processor, service.Options{Logger: logger(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = svc.Stop() }()
	// What expires outlives the moments before, by which the clock is ahead.
	s.moment(before, 10*time.Hour)
	s.moment(during, 40*time.Hour)
	s.moment(after, 90*time.Hour)
}

// staleness is the table at work.
type staleness struct {
	*scene
	models *heldModels
	table  map[cell]want
	sent   map[string]uint64 // the last event of each thread, until it is applied
}

// moment has everything of one moment happen at once.
func (s *staleness) moment(moment string, ttl time.Duration) {
	var list []cell
	for _, c := range cells(s.schedule.t, "* * * * "+moment) {
		if s.table[c].why == "" {
			list = append(list, c)
		}
	}
	s.expiring(list, ttl)
	s.lead(list, moment)
	marks := map[cell]uint64{}
	for _, c := range list {
		marks[c] = s.chained(c)
	}
	s.change(list)
	s.clock.forward(ttl + time.Hour)
	if err := s.Tended(within(s.schedule.t)); err != nil {
		s.schedule.t.Fatal(err)
	}
	meanwhile := s.allShow(list)
	s.models.release()
	var finally map[cell]string
	for range 2 { // what somebody has asked for is made again, as far as there was room to note it
		s.tended()
		finally = s.allShow(list)
	}
	s.tended()
	told := s.toldBehind(marks)
	for _, c := range list {
		s.judge(c, want{records: told[c], meanwhile: meanwhile[c], finally: finally[c]})
	}
}

// lead brings the work on each cell's summary to its moment; models don't answer from there on.
func (s *staleness) lead(list []cell, moment string) {
	s.sendEarlier(list)
	var holds []*hold
	switch moment {
	case before:
		s.block()
	case during:
		holds = s.holdAll(list)
	}
	for _, c := range list {
		s.send(c, c.earlier()+1, c.notes())
	}
	s.applied()
	for _, h := range holds {
		s.awaits(h)
	}
	if moment == after {
		s.settled()
		s.holdAll(list)
	}
}

// sendEarlier sends one message at a time: whether a model answers before the next one decides how many versions of the
// current summary there are.
func (s *staleness) sendEarlier(list []cell) {
	for n := 1; ; n++ {
		left := slices.DeleteFunc(slices.Clone(list), func(c cell) bool { return c.earlier() < n })
		if len(left) == 0 {
			break
		}
		for _, c := range left {
			s.send(c, n, n)
		}
		s.settled()
	}
	s.settled()
}

// awaits returns when a model has been asked.
func (s *staleness) awaits(h *hold) {
	s.schedule.t.Helper()
	select {
	case <-h.arrived:
	case <-within(s.schedule.t).Done():
		s.schedule.t.Fatal("a model was not asked")
	}
}

func (s *staleness) allShow(list []cell) map[cell]string {
	shown := map[cell]string{}
	for _, c := range list {
		shown[c] = s.shows(c)
	}
	return shown
}

func (s *staleness) judge(c cell, got want) {
	w := s.table[c]
	if slices.Equal(got.records, w.records) && got.meanwhile == w.meanwhile && got.finally == w.finally {
		return
	}
	f := c.fields()
	s.schedule.t.Errorf("line %d:\nwant %s | %s | %s\ngot  %s | %s | %s\n%s", w.line,
		strings.Join(w.records, "; "), w.meanwhile, w.finally, strings.Join(got.records, "; "), got.meanwhile, got.finally, strings.Join(f[:], " "))
}

// expiring has the summaries of some cells expire, from here on.
func (s *staleness) expiring(list []cell, ttl time.Duration) {
	s.alter(func(c *config.Config) {
		for i := range c.Policies {
			for _, cell := range list {
				if cell.reason == events.ReasonTTLExpired && c.Policies[i].Name == cell.String() {
					c.Policies[i].Staleness.TTL = ttl
				}
			}
		}
	})
}

// block takes up every place that jobs have, so that those that come are not taken up.
func (s *staleness) block() {
	h := s.models.hold(blocker, "", processor.MaxJobs)
	for i := range processor.MaxJobs {
		s.put("tool.result", fmt.Sprint(blocker, i), large("out"))
	}
	for range processor.MaxJobs {
		s.awaits(h)
	}
}

// holdAll holds the models of the cells that have one.
func (s *staleness) holdAll(list []cell) (holds []*hold) {
	for _, c := range list {
		if c.by != events.MethodLLM {
			continue
		}
		of := ""
		if c.kind == events.KindHistory && c.cascades() {
			of = "Write for the people" // its thread's compactions are not what is looked at
		}
		holds = append(holds, s.models.hold(c.String(), of, 1))
	}
	return holds
}

// send publishes some of what a cell's summary is made from.
func (s *staleness) send(c cell, from, to int) {
	if to < from {
		return
	}
	if c.kind == events.KindToolResult {
		s.put("tool.result", c.String(), large("out"))
		return
	}
	var bodies []string
	for n := from; n <= to; n++ {
		bodies = append(bodies, note(n))
	}
	s.put("thread.message", c.String(), bodies...)
}

// change does to each cell what its reason says, but for the time that passes.
func (s *staleness) change(list []cell) {
	for _, c := range list {
		switch c.reason {
		case events.ReasonSourceEdited, events.ReasonSourceInvalidated:
			s.put("message.edited", c.String(), fmt.Sprintf(`{"message_id":%q,"content":%q}`, c.edited(), c.text(c.edited(), true)))
		case events.ReasonSourceDeleted:
			s.put("message.edited", c.String(), fmt.Sprintf(`{"message_id":%q,"deleted":true}`, c.edited()))
		}
	}
	s.applied() // a configuration comes into force behind the last event
	s.alter(func(next *config.Config) {
		for _, c := range list {
			i := slices.IndexFunc(next.Policies, func(p summarize.Policy) bool { return p.Name == c.String() })
			p := &next.Policies[i]
			switch c.reason {
			case events.ReasonPolicyChanged:
				p.ToolOutput.MaxSummaryChars, p.Compaction.MaxSummaryTokens, p.History.MaxSummaryTokens = 600, 400, 50
			case events.ReasonPromptChanged:
				p.Prompts = map[string]string{c.kind: "Say it in {limit}."}
			case events.ReasonModelChanged:
				provider := next.Providers[c.String()]
				provider.Model = "gpt-4.1"
				next.Providers[c.String()] = provider
			}
		}
	})
}

// applied returns when all that was published is applied, whatever jobs are under way.
func (s *staleness) applied() {
	for thread, seq := range s.sent {
		s.ask("thread.get", thread, fmt.Sprintf(`{"min_event_seq":%d}`, seq))
	}
	clear(s.sent)
}

// put publishes to a thread.
func (s *staleness) put(kind, thread string, bodies ...string) {
	s.sent[thread] = put(s.schedule.t, s.schedule.broker.Conn(), kind+"."+thread, bodies...)
}
