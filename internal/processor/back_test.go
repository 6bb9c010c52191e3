package processor_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"precis/events"
	"precis/internal/broker"
	"precis/internal/config"
	"precis/internal/content"
	"precis/summarize"
	"precis/summarize/prompt/whole"
)

// rewound is a thread of 40 messages, the last ten of them kept.
func rewound(t *testing.T, change ...func(*summarize.Policy)) *scene {
	c := settings(t)
	c.Policies[0].Compaction.Trigger = summarize.Condition{Messages: 9}
	c.Policies[0].Compaction.Keep = summarize.Keep{Messages: 10}
	c.Policies[0].Context.KeepOutputs = summarize.KeepOutputs{}
	for _, f := range change {
		f(&c.Policies[0])
	}
	s := stage(t, c)
	for n := range 40 {
		role := []string{events.RoleUser, events.RoleAssistant}[n%2]
		put(t, s.schedule.broker.Conn(), "thread.message.t", fmt.Sprintf(`{"message_id":"m%d","role":%q,"content":"unique%d: paint hull%d.go"}`, n, role, n, n))
	}
	s.settled()
	return s
}

// places says where each of the thread's messages stands in its prompt.
func (s *scene) places(name string) map[string][]string {
	t := s.schedule.t
	t.Helper()
	id, _ := partitionOf(t, s.Processor, s.config.Partitions, name)
	view := s.View(id)
	h, err := view.Header(name)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := view.Messages(name, 1, h.Ordinals+1)
	if err != nil {
		t.Fatal(err)
	}
	var live []string
	for _, m := range rows {
		if !m.Deleted {
			live = append(live, m.ID)
		}
	}
	log := content.New(broker.NewLogReader(s.schedule.broker.JetStream(), broker.StreamEvents), 0)
	places, err := checkWhole(t.Context(), view, log, s.config.Policies, name, live)
	if err != nil {
		t.Fatal(err)
	}
	return places
}

func (s *scene) edit(body string) {
	put(s.schedule.t, s.schedule.broker.Conn(), "message.edited.t", body)
	s.settled()
}

// What a rewind leaves is verbatim as far as the policy keeps, and the newest question with it, though a compaction
// stood for it.
func TestRewindBehindACompaction(t *testing.T) {
	s := rewound(t)
	defer s.finish()
	if at := s.places("t"); !slices.Equal(at["m20"], []string{whole.Inside}) || !slices.Equal(at["m39"], []string{whole.Verbatim}) {
		t.Fatalf("before the rewind: %v", at)
	}
	before := len(story(t, s.schedule.broker, "t"))
	for n := 39; n >= 21; n-- {
		put(t, s.schedule.broker.Conn(), "message.edited.t", fmt.Sprintf(`{"message_id":"m%d","deleted":true}`, n))
	}
	s.settled()
	at := s.places("t")
	for n := 11; n <= 20; n++ {
		if !slices.Equal(at[fmt.Sprint("m", n)], []string{whole.Verbatim}) {
			t.Errorf("m%d stands %q", n, at[fmt.Sprint("m", n)])
		}
	}
	var again int
	for _, r := range story(t, s.schedule.broker, "t")[before:] {
		switch events.Type(r.Type) {
		case events.SummaryInvalidated:
			t.Errorf("nothing under the compaction was changed, and %+v", r)
		case events.SummaryCreated:
			again++
		}
	}
	// What was deleted from m29 on was under the compaction when the rewind came to it, or verbatim again.
	if again == 0 || again > 4 {
		t.Errorf("%d summaries were made again", again)
	}
	// The thread goes on, and is compacted again.
	for n := 40; n < 80; n++ {
		put(t, s.schedule.broker.Conn(), "thread.message.t", fmt.Sprintf(`{"message_id":"m%d","role":"user","content":"unique%d: sink hull%d.go"}`, n, n, n))
	}
	s.settled()
	if at := s.places("t"); !slices.Equal(at["m20"], []string{whole.Inside}) {
		t.Errorf("m20 stands %q", at["m20"])
	}
}

// A message that comes back stands in the prompt, whatever was compacted between.
func TestRestoredMessagesComeBack(t *testing.T) {
	s := rewound(t)
	defer s.finish()
	s.edit(`{"message_id":"m5","deleted":true}`)
	s.edit(`{"message_id":"m5","content":"unique5: back again"}`)
	s.edit(`{"message_id":"m35","deleted":true}`)
	for n := 40; n < 70; n++ {
		put(t, s.schedule.broker.Conn(), "thread.message.t", fmt.Sprintf(`{"message_id":"m%d","role":"user","content":"unique%d"}`, n, n))
	}
	s.edit(`{"message_id":"m35","content":"unique35: back again"}`)
	if at := s.places("t"); len(at["m5"]) != 1 || !slices.Equal(at["m35"], []string{whole.Verbatim}) {
		t.Errorf("m5 stands %q, m35 %q", at["m5"], at["m35"])
	}
}

// A leaf that is stale for good is made again by the next cut, before it. What the leaf gives back then counts in the
// cut's trigger: what is on record is what a replay finds due (finish holds them against each other).
func TestACutCountsWhatAStaleLeafGivesBack(t *testing.T) {
	s := rewound(t, func(p *summarize.Policy) { p.Staleness.Action = events.ActionTrim })
	defer s.finish()
	s.edit(`{"message_id":"m5","content":"unique5: painted over"}`)
	s.edit(`{"message_id":"m6","pinned":true}`)
	before := len(story(t, s.schedule.broker, "t"))
	for n := 40; n < 60; n++ {
		put(t, s.schedule.broker.Conn(), "thread.message.t", fmt.Sprintf(`{"message_id":"m%d","role":"user","content":"unique%d"}`, n, n))
	}
	s.settled()
	if at := s.places("t"); !slices.Equal(at["m6"], []string{whole.Verbatim}) || !slices.Equal(at["m5"], []string{whole.Inside}) {
		t.Errorf("behind the cut m5 stands %q, m6 %q", at["m5"], at["m6"])
	}
	if made := story(t, s.schedule.broker, "t")[before:]; len(made) == 0 {
		t.Error("nothing was cut")
	}
}

// A pinned message stands verbatim at once, also where a stale text serves that has it inside, and more is stale than
// one event makes again.
func TestAPinEndsTheServiceOfAnOldText(t *testing.T) {
	s := rewound(t, func(p *summarize.Policy) {
		p.Compaction.Trigger, p.Compaction.Keep = summarize.Condition{Messages: 2}, summarize.Keep{Messages: 4}
	})
	defer s.finish()
	for n := 40; n < 120; n++ {
		put(t, s.schedule.broker.Conn(), "thread.message.t", fmt.Sprintf(`{"message_id":"m%d","role":"user","content":"unique%d"}`, n, n))
	}
	s.settled()
	s.reload(func(c *config.Config) { c.Policies[0].Compaction.MaxSummaryTokens = 300 })
	put(t, s.schedule.broker.Conn(), "thread.message.t", `{"message_id":"m120","role":"user","content":"unique120"}`)
	s.settled()
	view := s.View(s.partition("t"))
	waiting, err := view.Renewals("t", 1000)
	if err != nil {
		t.Fatal(err)
	}
	var message string // of the leaf that is made again last
	for _, id := range waiting {
		if sum, err := view.Summary("t", id); err != nil {
			t.Fatal(err)
		} else if sum.Slot != events.SlotCurrent && sum.Level == 0 {
			message = sum.Sources[0]
		}
	}
	if at := s.places("t"); !slices.Equal(at[message], []string{whole.Inside}) {
		t.Fatalf("%s stands %q: the old text does not serve", message, at[message])
	}
	s.edit(fmt.Sprintf(`{"message_id":%q,"pinned":true}`, message))
	if at := s.places("t"); !slices.Equal(at[message], []string{whole.Verbatim}) {
		t.Errorf("pinned, %s stands %q", message, at[message])
	}
	for n := 121; n < 130; n++ {
		put(t, s.schedule.broker.Conn(), "thread.message.t", fmt.Sprintf(`{"message_id":"m%d","role":"user","content":"unique%d"}`, n, n))
	}
	s.settled()
	if at := s.places("t"); !slices.Equal(at[message], []string{whole.Verbatim}) || !slices.Equal(at["m1"], []string{whole.Inside}) {
		t.Errorf("made again, %s stands %q and m1 %q", message, at[message], at["m1"])
	}
}

// A policy that keeps more is heeded by the next request, and by the next event.
func TestKeepThatGrows(t *testing.T) {
	s := rewound(t)
	defer s.finish()
	s.reload(func(c *config.Config) { c.Policies[0].Compaction.Keep.Messages = 25 })
	id, _ := partitionOf(t, s.Processor, s.config.Partitions, "t")
	s.Renew(id, "t", nil)
	s.tended()
	if at := s.places("t"); !slices.Equal(at["m15"], []string{whole.Verbatim}) {
		t.Errorf("behind a request m15 stands %q", at["m15"])
	}
	s.reload(func(c *config.Config) { c.Policies[0].Compaction.Keep.Messages = 38 })
	put(t, s.schedule.broker.Conn(), "thread.message.t", `{"message_id":"m40","role":"user","content":"unique40"}`)
	s.settled()
	if at := s.places("t"); !slices.Equal(at["m3"], []string{whole.Verbatim}) {
		t.Errorf("behind an event m3 stands %q", at["m3"])
	}
}

// Pinned is verbatim, for every message and also by an edit; the next cut may take what is unpinned.
func TestPins(t *testing.T) {
	s := rewound(t)
	defer s.finish()
	s.edit(`{"message_id":"m5","pinned":true}`)
	if at := s.places("t"); !slices.Equal(at["m5"], []string{whole.Verbatim}) {
		t.Errorf("pinned, m5 stands %q", at["m5"])
	}
	s.edit(`{"message_id":"m5","pinned":false}`)
	large := strings.Repeat("a line of output\\n", 300)
	put(t, s.schedule.broker.Conn(), "tool.result.t", `{"message_id":"born","tool_name":"bash","pinned":true,"content":"uniqueborn `+large+`"}`,
		`{"message_id":"later","tool_name":"bash","content":"uniquelater `+large+`"}`)
	s.settled()
	at := s.places("t")
	if !slices.Equal(at["born"], []string{whole.Verbatim}) || !slices.Equal(at["later"], []string{whole.Inside}) {
		t.Errorf("born stands %q, later %q", at["born"], at["later"])
	}
	before := len(story(t, s.schedule.broker, "t"))
	s.edit(`{"message_id":"later","pinned":true}`)
	s.edit(`{"message_id":"born","pinned":false}`)
	at = s.places("t")
	if !slices.Equal(at["later"], []string{whole.Verbatim}) || !slices.Equal(at["born"], []string{whole.Inside}) {
		t.Errorf("the other way round: born stands %q, later %q", at["born"], at["later"])
	}
	if now := story(t, s.schedule.broker, "t"); len(now) != before {
		t.Errorf("a pin made summaries stale, or new ones: %v", now[before:])
	}
	s.checkLive(s.View)
	for n := 40; n < 80; n++ {
		put(t, s.schedule.broker.Conn(), "thread.message.t", fmt.Sprintf(`{"message_id":"m%d","role":"user","content":"unique%d"}`, n, n))
	}
	s.settled()
	if at := s.places("t"); !slices.Equal(at["m5"], []string{whole.Inside}) || !slices.Equal(at["later"], []string{whole.Verbatim}) {
		t.Errorf("after a cut m5 stands %q, later %q", at["m5"], at["later"])
	}
}
