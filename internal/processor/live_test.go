package processor_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/go-json-experiment/json"

	"precis/events"
	"precis/internal/config"
	"precis/internal/race"
	"precis/internal/thread"
	"precis/state"
	"precis/summarize"
)

// What tokens_live says is what stands in the prompt, and what a current compaction stands for is what would
// stand there without it: whatever was edited or deleted under it, and whatever became stale.
func TestLiveTokensAreWhatStandsInThePrompt(t *testing.T) {
	race.Slow(t)
	t.Parallel()
	for name, change := range map[string]func(*summarize.Policy){
		"made again":           func(*summarize.Policy) {},
		"raw meanwhile":        func(p *summarize.Policy) { p.Staleness.Meanwhile = summarize.MeanwhileRaw },
		"trimmed":              func(p *summarize.Policy) { p.Staleness.Action = events.ActionTrim },
		"edits nobody follows": func(p *summarize.Policy) { p.Staleness.On = []string{"policy"} },
	} {
		t.Run(name, func(t *testing.T) {
			c := settings(t)
			p := &c.Policies[0]
			p.Tokenizer = "estimate"
			p.Compaction.Trigger = summarize.Condition{Messages: 6}
			p.Compaction.Keep = summarize.Keep{Messages: 3}
			change(p)
			s := stage(t, c)
			defer s.finish()
			l := newLoad(rand.New(rand.NewPCG(7, 0)))
			for i := range 24 {
				l.publish(t, s.schedule.broker.Conn(), 10)
				s.settled()
				s.checkLive(s.View)
				if i%3 == 2 {
					s.reload(func(c *config.Config) { c.Policies[0].ToolOutput.MaxSummaryChars = summarize.Size(400 + 10*i) })
					s.checkLive(s.View)
				}
			}
		})
	}
}

// checkLive holds every thread's counters against a sum over what stands in its prompt, which the fold has no
// part in.
func (s *schedule) checkLive(view func(partition int) state.View) {
	s.t.Helper()
	for id := range s.config.Partitions {
		v := view(id)
		for h, err := range headers(v) {
			if err != nil {
				s.t.Fatal(err)
			}
			if err := live(v, h); err != nil {
				s.t.Errorf("thread %s: %v", h.Thread, err)
			}
		}
	}
}

func live(v state.View, h *thread.Header) error {
	c, err := v.Compaction(h.Thread)
	if err != nil {
		return err
	}
	sum, current, err := holder(v, h.Thread, events.SlotCurrent)
	if err != nil {
		return err
	}
	rows, err := v.Messages(h.Thread, 1, h.Ordinals+1)
	if err != nil {
		return err
	}
	var whole, behind, under int64
	for _, m := range rows {
		n, err := inPrompt(v, h.Thread, m)
		if err != nil {
			return err
		}
		whole += n
		if len(c.Tops) == 0 || m.Ordinal > c.Tops[len(c.Tops)-1].To || slices.Contains(c.Held, m.Ordinal) || slices.Contains(c.Fixed, m.Ordinal) {
			behind += n
		} else {
			under += n
		}
	}
	want := whole
	if current != nil && under > 0 { // else it stands for nothing, and no prompt holds it
		want = behind + current.TokenCountAfter
	}
	if h.TokensLive != want {
		return fmt.Errorf("tokens_live is %d, in the prompt stand %d of %d, a compaction there: %t", h.TokensLive, want, h.Tokens, current != nil)
	}
	if current != nil && sum.TokensBefore != under {
		return fmt.Errorf("the current compaction says it stands for %d tokens, and stands for %d", sum.TokensBefore, under)
	}
	return nil
}

// inPrompt is what a message holds in a prompt that no compaction shortens.
func inPrompt(v state.View, name string, m *thread.Message) (int64, error) {
	if m.Deleted || m.Pinned {
		return m.Tokens(), nil
	}
	sum, rec, err := holder(v, name, "tool:"+m.ID)
	if err != nil || rec == nil {
		return m.Tokens(), err
	}
	c, err := v.Compaction(name)
	if err != nil || sum.Withheld {
		if err == nil && !c.KeepsWhole(m.Ordinal) {
			err = fmt.Errorf("the summary of %s is withheld, and nothing will release it", m.ID)
		}
		return m.Tokens(), err
	}
	return rec.TokenCountAfter, nil
}

// holder is the summary that holds a slot and stands in prompts, with its record; nil where there is none.
func holder(v state.View, name, slot string) (*thread.Summary, *events.Summary, error) {
	s, err := v.Slot(name, slot)
	if err != nil || s.Holder == "" {
		return nil, nil, err
	}
	id := s.Holder
	if s.Serving != "" {
		id = s.Serving
	}
	sum, err := v.Summary(name, id)
	if err != nil || sum.Status != thread.Active && !sum.Serves {
		return nil, nil, err
	}
	rec := new(events.Summary)
	if err := json.Unmarshal(sum.Record, rec); err != nil {
		return nil, nil, err
	}
	if rec.Kind == events.KindCompaction && !rec.Current {
		return nil, nil, nil
	}
	return sum, rec, nil
}
