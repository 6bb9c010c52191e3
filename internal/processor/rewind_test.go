package processor_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"precis/api"
	"precis/events"
	"precis/internal/broker"
	"precis/internal/content"
	"precis/internal/race"
	"precis/internal/service"
	"precis/summarize"
)

// rewindTo takes the thread t back to a message.
func (s *scene) rewindTo(id string) {
	s.edit(fmt.Sprintf(`{"message_id":%q,"rewind":true,"edit_id":"rewind to %s %d"}`, id, id, time.Now().UnixNano()))
}

// whole is a thread's context without a limit.
func (s *scene) whole(name string) (api.ContextReply, string) {
	t := s.schedule.t
	t.Helper()
	id, _ := partitionOf(t, s.Processor, s.config.Partitions, name)
	log := content.New(broker.NewLogReader(s.schedule.broker.JetStream(), broker.StreamEvents), 0)
	reply, err := service.ReadContext(t.Context(), service.Reading{View: s.View(id), Log: log, Policies: s.config.Policies}, name, api.ContextRequest{Format: "messages"})
	if err != nil {
		t.Fatal(err)
	}
	return reply, string(reply.Messages)
}

// A result that a rewind removes leaves its call waiting, where a deleted one leaves a mark; another result takes its place.
func TestRewindLeavesTheCallWaiting(t *testing.T) {
	s := stage(t, settings(t))
	defer s.finish()
	conn := s.schedule.broker.Conn()
	put(t, conn, "thread.message.t", `{"message_id":"m1","role":"user","content":"Count the ships."}`,
		`{"message_id":"m2","role":"assistant","content":"I count.","tool_calls":[{"id":"c","name":"count","arguments":{}}]}`)
	put(t, conn, "tool.result.t", `{"message_id":"m3","tool_call_id":"c","content":"three ships"}`)
	put(t, conn, "thread.message.t", `{"message_id":"m4","role":"assistant","content":"There are three."}`)
	s.edit(`{"message_id":"m3","deleted":true}`)
	if _, text := s.whole("t"); !strings.Contains(text, `"m3"`) {
		t.Fatalf("a deleted result has left no mark: %s", text)
	}
	s.rewindTo("m2")
	reply, text := s.whole("t")
	if strings.Contains(text, `"m3"`) || strings.Contains(text, "three") || !slices.Equal(reply.WaitingMessageIDs, []string{"m2"}) {
		t.Fatalf("waiting %q, after the rewind: %s", reply.WaitingMessageIDs, text)
	}
	put(t, conn, "tool.result.t", `{"message_id":"m5","tool_call_id":"c","content":"four ships"}`)
	s.settled()
	if _, text := s.whole("t"); strings.Count(text, "ships") != 2 || !strings.Contains(text, "four ships") {
		t.Fatalf("after another result: %s", text)
	}
}

// A thread that goes back to an output which the assistant has read by now has it whole in its prompt, as it was then: the assistant
// reads it again. An answer after that lets the summary stand in.
func TestRewindShowsTheOutputAgain(t *testing.T) {
	s := stage(t, settings(t))
	defer s.finish()
	conn := s.schedule.broker.Conn()
	file, _ := ledgerFile()
	put(t, conn, "thread.message.t", `{"message_id":"m1","role":"user","content":"Return the balance of account 18."}`,
		`{"message_id":"m2","role":"assistant","content":"","tool_calls":[{"id":"c","name":"Read","arguments":{"file_path":"/src/ledger.go"}}]}`)
	put(t, conn, "tool.result.t", fmt.Sprintf(`{"message_id":"m3","tool_call_id":"c","tool_name":"Read","content":%q}`, file))
	s.settled()
	holds := func(prompt string) bool { return strings.Count(prompt, "step 9 of account") == 24 }
	before, text := s.whole("t")
	if !holds(text) {
		t.Fatalf("the output is not whole: %.300s", text)
	}
	put(t, conn, "thread.message.t", `{"message_id":"m4","role":"assistant","content":"I have read it."}`, `{"message_id":"m5","role":"user","content":"And?"}`)
	s.settled()
	if _, text := s.whole("t"); holds(text) {
		t.Fatal("the output is whole after a turn")
	}
	s.rewindTo("m3")
	after, text := s.whole("t")
	if !holds(text) || after.TokenCount != before.TokenCount {
		t.Fatalf("%d tokens behind the rewind, want %d: %.300s", after.TokenCount, before.TokenCount, text)
	}
	s.checkLive(s.View)
	put(t, conn, "thread.message.t", `{"message_id":"m6","role":"assistant","content":"I have read it again."}`)
	s.settled()
	if _, text := s.whole("t"); holds(text) {
		t.Fatal("the output is whole after another turn")
	}
	s.checkLive(s.View)
}

// A rewind that makes more summaries stale than the server stores at once is one step all the same. What it could not record is
// stale too, and no prompt is made from it.
func TestRewindOfMoreThanAStepRecords(t *testing.T) {
	race.Slow(t)
	c := settings(t)
	c.Policies[0].Tokenizer = "estimate"
	c.Policies[0].ToolOutput.OverChars = 200
	c.Policies[0].Compaction.Trigger, c.Policies[0].Compaction.Keep = summarize.Condition{Messages: 60}, summarize.Keep{Messages: 10}
	s := stage(t, c)
	defer s.finish()
	conn := s.schedule.broker.Conn()
	put(t, conn, "thread.message.t", `{"message_id":"m0","role":"user","content":"Run everything."}`)
	var bodies []string
	for n := range 1200 {
		bodies = append(bodies, fmt.Sprintf(`{"message_id":"m%d","tool_name":"bash","content":%q}`, n+1, strings.Repeat(fmt.Sprintf("step %d is done\n", n), 20)))
	}
	put(t, conn, "tool.result.t", bodies...)
	s.settled()
	begun := time.Now()
	s.rewindTo("m100")
	t.Logf("a rewind of 1,100 tool outputs: %s", time.Since(begun))
	id, _ := partitionOf(t, s.Processor, s.config.Partitions, "t")
	h, err := s.View(id).Header("t")
	if err != nil {
		t.Fatal(err)
	}
	if stale := h.SummariesStale; stale < 1100 {
		t.Errorf("%d summaries are stale", stale)
	}
	for sum, err := range summaries(s.View(id), "t") {
		if err != nil {
			t.Fatal(err)
		}
		for _, source := range sum.Sources {
			var n int
			if _, err := fmt.Sscanf(source, "m%d", &n); err != nil || n > 100 && sum.Status == "active" {
				t.Fatalf("%s of %s is %s", sum.ID, source, sum.Status)
			}
		}
	}
	s.checkLive(s.View)
}

// Everything that a rewind makes stale names the message that the thread went back to.
func TestRewindIsOneCause(t *testing.T) {
	c := settings(t)
	c.Policies[0].Compaction.Trigger, c.Policies[0].Compaction.Keep = summarize.Condition{Messages: 6}, summarize.Keep{Messages: 2}
	s := stage(t, c)
	defer s.finish()
	for n := range 30 {
		put(t, s.schedule.broker.Conn(), "thread.message.t", note(n+1))
	}
	s.settled()
	s.rewindTo("m15")
	invalidated := 0
	for _, r := range story(t, s.schedule.broker, "t") {
		if r.Type != "summary.invalidated" {
			continue
		}
		invalidated++
		if cause := r.Cause; r.Reason != events.ReasonSourceDeleted || cause.MessageID == nil || *cause.MessageID != "m15" || cause.Setting == nil || *cause.Setting != "rewind" {
			t.Errorf("%s: %s for %+v", r.SummaryID, r.Reason, cause)
		}
	}
	if invalidated < 3 {
		t.Errorf("%d summaries were invalidated", invalidated)
	}
}

// After a rewind the newest message of a thread is the one that it went back to, and then one that is restored behind it.
func TestRewindHasANewestMessage(t *testing.T) {
	c := settings(t)
	c.Policies[0].Compaction.Trigger, c.Policies[0].Compaction.Keep = summarize.Condition{Messages: 1000}, summarize.Keep{Messages: 2}
	s := stage(t, c)
	defer s.finish()
	for n := range 30 {
		put(t, s.schedule.broker.Conn(), "thread.message.t", note(n+1))
	}
	s.settled()
	s.rewindTo("m15")
	asOf := func() string {
		t.Helper()
		if _, err := s.Summarize(within(t), s.partition("t"), "t", events.KindCompaction); err != nil {
			t.Fatal(err)
		}
		s.settled()
		records := story(t, s.schedule.broker, "t")
		return records[len(records)-1].AsOf
	}
	if got := asOf(); got != "m15" {
		t.Errorf("after the rewind a compaction is as of %s", got)
	}
	for _, id := range []string{"m24", "m20", "m25"} {
		s.edit(fmt.Sprintf(`{"message_id":%q,"content":"It stands again.","edit_id":"again"}`, id))
	}
	if got := asOf(); got != "m25" {
		t.Errorf("with m25 restored it is as of %s", got)
	}
	s.edit(`{"message_id":"m22","content":"It stands again, too.","edit_id":"again"}`)
	put(t, s.schedule.broker.Conn(), "thread.message.t", note(31), note(32), note(33))
	s.settled()
	if got := asOf(); got != "m33" {
		t.Errorf("with three new ones it is as of %s", got)
	}
	s.checkLive(s.View)
}

// A thread that went back to before its first leaf, and a fork of it, have nothing to summarize: a request makes no summary of nothing.
func TestNothingToSummarizeAfterARewind(t *testing.T) {
	c := settings(t)
	c.Policies[0].Compaction.Trigger, c.Policies[0].Compaction.Keep = summarize.Condition{Messages: 8}, summarize.Keep{Messages: 2}
	s := stage(t, c)
	defer s.finish()
	for n := range 12 {
		put(t, s.schedule.broker.Conn(), "thread.message.t", note(n+1))
	}
	s.settled()
	if got := s.told("t"); len(got) < 2 {
		t.Fatalf("nothing was compacted: %q", got)
	}
	s.rewindTo("m1")
	s.forkOf("f", "t", "")
	s.settled()
	for _, name := range []string{"t", "f"} {
		before := len(s.told(name))
		if id := s.summarize(name); id != "" {
			t.Errorf("%s: summary %s was made", name, id)
		}
		s.saw(name, before)
	}
	for n := 12; n < 24; n++ {
		put(t, s.schedule.broker.Conn(), "thread.message.t", note(n+1))
	}
	s.settled()
	if id := s.summarize("t"); id == "" {
		t.Error("the thread is not compacted again")
	}
}

// A node that a rewind has taken apart stands for nothing, and for nothing in a fork either, which may not have all of its leaves. The fork's own node follows it in its
// slot, as the parent's does.
func TestForkHasNoNodeThatARewindTookApart(t *testing.T) {
	c := settings(t)
	c.Policies[0].Compaction.Trigger, c.Policies[0].Compaction.Keep = summarize.Condition{Messages: 4}, summarize.Keep{Messages: 2}
	s := stage(t, c)
	defer s.finish()
	notes := func(name string, from, to int) {
		for n := from; n < to; n++ {
			put(t, s.schedule.broker.Conn(), "thread.message."+name, note(n+1))
		}
		s.settled()
	}
	nodes := func(name string) (list []string) {
		for _, line := range s.told(name) {
			if strings.HasPrefix(line, "created node:1:m1 ") {
				list = append(list, line)
			}
		}
		return list
	}
	notes("t", 0, 40)
	if len(nodes("t")) != 1 {
		t.Fatalf("no node was made: %q", s.told("t"))
	}
	s.rewindTo("m7")
	for _, name := range []string{s.beside("f", "t"), s.elsewhere("f", "t")} {
		s.forkOf(name, "t", "m1")
		s.forkOf("of-"+name, name, "")
		s.settled()
		for _, fork := range []string{name, "of-" + name} {
			if h := s.header(fork); h.SummariesActive != 0 || h.SummariesStale != 0 {
				t.Errorf("%s begins with %d active and %d stale summaries of one message", fork, h.SummariesActive, h.SummariesStale)
			}
			notes(fork, 50, 80)
			if got := nodes(fork); len(got) != 1 || s.header(fork).SummariesStale != 0 {
				t.Errorf("%s goes on with the nodes %q and %d stale summaries", fork, got, s.header(fork).SummariesStale)
			}
		}
	}
}
