package processor_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"precis/internal/audit"
	"precis/internal/broker"
	"precis/internal/processor"
	"precis/internal/race"
	"precis/internal/thread"
	"precis/state"
	"precis/summarize"
)

// forkOf begins a thread with the messages of another one.
func (s *scene) forkOf(name, parent, at string) uint64 {
	body := fmt.Sprintf(`{"parent_thread_id":%q,"fork_id":%q}`, parent, name)
	if at != "" {
		body = fmt.Sprintf(`{"parent_thread_id":%q,"at_message_id":%q,"fork_id":%q}`, parent, at, name)
	}
	return put(s.schedule.t, s.schedule.broker.Conn(), "thread.forked."+name, body)
}

// elsewhere is a name of a thread in another partition than the given one.
func (s *scene) elsewhere(name, than string) string {
	for i := 0; ; i++ {
		if n := fmt.Sprintf("%s%d", name, i); broker.PartitionOf(n, s.config.Partitions) != broker.PartitionOf(than, s.config.Partitions) {
			return n
		}
	}
}

func (s *scene) header(name string) *thread.Header {
	s.schedule.t.Helper()
	h, err := s.View(broker.PartitionOf(name, s.config.Partitions)).Header(name)
	if err != nil || h == nil {
		s.schedule.t.Fatalf("header of %s: %v, %v", name, h, err)
	}
	return h
}

// beside is a name of a thread in the same partition as the given one.
func (s *scene) beside(name, of string) string {
	for i := 0; ; i++ {
		if n := fmt.Sprintf("%s%d", name, i); broker.PartitionOf(n, s.config.Partitions) == broker.PartitionOf(of, s.config.Partitions) {
			return n
		}
	}
}

// turns are messages and tool outputs of a thread, and what is decided of them.
func (s *scene) turns(name string, from, to int) {
	s.sends(name, from, to)
	s.settled()
}

// sends are messages and tool outputs of a thread.
func (s *scene) sends(name string, from, to int) {
	conn := s.schedule.broker.Conn()
	for n := from; n < to; n++ {
		put(s.schedule.t, conn, "thread.message."+name, fmt.Sprintf(`{"message_id":"u%d","role":"user","content":"Ship %d?"}`, n, n),
			fmt.Sprintf(`{"message_id":"a%d","role":"assistant","content":"I look.","tool_calls":[{"id":"c%d","name":"bash","arguments":{"command":"ls %d"}}]}`, n, n, n))
		put(s.schedule.t, conn, "tool.result."+name, fmt.Sprintf(`{"message_id":"r%d","tool_call_id":"c%d","content":%q}`, n, n, strings.Repeat(fmt.Sprintf("ship %d of the fleet lies at pier %d\n", n, n), 80)))
	}
}

// A fork in another partition has its parent's prompt, summary by summary, without another call of the model. What becomes of the one
// does not reach the other, and their summaries are found by their ids.
func TestForkHasItsParentsSummaries(t *testing.T) {
	m := newModel(t, func(call int64, w http.ResponseWriter, _ *http.Request) {
		says(w, fmt.Sprintf("Ships, as call %d says.", call), 100, 10)
	})
	c := byModel(t, m)
	c.Policies[0].Compaction.Trigger, c.Policies[0].Compaction.Keep = summarize.Condition{Messages: 12}, summarize.Keep{Messages: 4}
	s := stage(t, c)
	defer s.finish()
	s.turns("t", 0, 9)
	calls, before := m.calls.Load(), s.header("t")
	_, want := s.whole("t")
	fork := s.elsewhere("f", "t")
	s.forkOf(fork, "t", "")
	s.forkOf("same", fork, "") // a fork of the fork
	s.settled()
	for _, name := range []string{fork, "same"} {
		reply, text := s.whole(name)
		if text != want || len(reply.SummaryIDs) == 0 {
			t.Fatalf("%s has %d summaries in its prompt\n%s\nwant\n%s", name, len(reply.SummaryIDs), text, want)
		}
		l, h := reply.Fork, s.header(name)
		if l == nil || l.InheritedMessages != before.Ordinals || l.Reason != nil || h.Messages+h.ToolResults+h.Edits != 0 || h.LLMInput != 0 ||
			h.Tokens != before.Tokens || h.TokensLive != before.TokensLive || h.SummariesActive != before.SummariesActive {
			t.Errorf("%s: fork %+v, header %+v, of %+v", name, l, h, before)
		}
		for _, id := range reply.SummaryIDs {
			owner, found, err := s.View(broker.PartitionOf("t", 2)).SummaryThread(id)
			if err != nil || !found || owner != "t" {
				t.Errorf("summary %s of %s belongs to %q, %v, %v", id, name, owner, found, err)
			}
		}
	}
	if n := m.calls.Load(); n != calls {
		t.Errorf("%d calls of the model for two forks", n-calls)
	}
	put(t, s.schedule.broker.Conn(), "message.edited.t", `{"message_id":"u1","deleted":true,"edit_id":"d"}`, `{"message_id":"a5","rewind":true,"edit_id":"w"}`)
	s.settled()
	if _, text := s.whole(fork); text != want {
		t.Errorf("the parent's edits changed the fork:\n%s\nwant\n%s", text, want)
	}
	parent, live := s.header("t"), s.header("same")
	put(t, s.schedule.broker.Conn(), "message.edited."+fork, fmt.Sprintf(`{"message_id":"r2","edit_id":"e","content":%q}`, strings.Repeat("the fleet has left\n", 100)))
	put(t, s.schedule.broker.Conn(), "thread.message."+fork, `{"message_id":"new","role":"user","content":"And now?"}`)
	s.settled()
	if _, text := s.whole(fork); text == want {
		t.Error("the fork's edit changed nothing in it")
	}
	if *s.header("t") != *parent || *s.header("same") != *live {
		t.Error("an edit of the fork changed its parent, or its own fork")
	}
	s.checkLive(s.View)
}

// A fork that can't have what it asks for begins with nothing, and says why. Anything but a thread's first event is rejected.
func TestForkOfNothing(t *testing.T) {
	s := stage(t, settings(t))
	defer s.finish()
	conn := s.schedule.broker.Conn()
	s.turns("t", 0, 2)
	put(t, conn, "message.edited.waits", `{"message_id":"later","content":"x","edit_id":"e"}`)
	for name, of := range map[string][3]string{
		"a": {"nowhere", "", "unknown_parent"}, "b": {"t", "nowhere", "unknown_message"}, "c": {"waits", "", "unknown_parent"}, "d": {"t", "r1", ""},
	} {
		s.forkOf(name, of[0], of[1])
		s.settled()
		l := s.header(name).Lineage()
		if reason := fmt.Sprint(l.Reason != nil && *l.Reason == of[2] || l.Reason == nil && of[2] == ""); reason != "true" || (of[2] == "") != (l.InheritedMessages == 6) {
			t.Errorf("%s, a fork of %q at %q: %+v", name, of[0], of[1], l)
		}
	}
	s.forkOf("e", "a", "") // of one that began with nothing
	put(t, conn, "thread.message.a", `{"message_id":"m","role":"user","content":"From the start."}`)
	s.forkOf("t", "d", "")                                                              // it has begun
	s.forkOf("waits", "t", "")                                                          // an edit waits
	put(t, conn, "thread.forked.d", `{"parent_thread_id":"t"}`)                         // another fork
	put(t, conn, "thread.forked.itself", `{"parent_thread_id":"itself"}`, `{"at":"x"}`) // never one
	s.forkOf("d", "t", "r1")                                                            // the same again
	s.settled()
	for name, rejected := range map[string]uint64{"a": 0, "t": 1, "waits": 1, "d": 1, "itself": 2} {
		if h := s.header(name); h.Rejected != rejected {
			t.Errorf("%s has %d rejections, want %d: %+v", name, h.Rejected, rejected, h)
		}
	}
	if h := s.header("d"); h.Duplicates != 1 {
		t.Errorf("the same fork again: %+v", h)
	}
	if reply, _ := s.whole("a"); reply.Fork == nil || *reply.Fork.Reason != "unknown_parent" || reply.TokenCount == 0 {
		t.Errorf("a fork with nothing, gone on: %+v", reply)
	}
}

// A fork that begins with nothing is still its thread's first event: policies match its agent, and the first message's only where it names none.
func TestForkOfNothingHasItsAgentsPolicy(t *testing.T) {
	c := settings(t)
	own := c.Policies[0]
	own.Name, own.Match.AgentID, own.ToolOutput.OverChars, own.ToolOutput.OverTokens = "forks", "fork*", 0, 0
	c.Policies = append([]summarize.Policy{own}, c.Policies...)
	s := stage(t, c)
	defer s.finish()
	conn := s.schedule.broker.Conn()
	for name, of := range map[string]struct {
		fork, message, agent string
		summaries            int // of its output: the policy of forks makes none
	}{
		"a": {`"forker"`, `"other"`, "forker", 0},
		"b": {`"forker"`, `null`, "forker", 0},
		"c": {`null`, `"forker"`, "forker", 0},
		"d": {`"other"`, `"forker"`, "other", 1},
	} {
		put(t, conn, "thread.forked."+name, fmt.Sprintf(`{"parent_thread_id":"nowhere","agent_id":%s}`, of.fork))
		put(t, conn, "tool.result."+name, fmt.Sprintf(`{"message_id":"m","agent_id":%s,"tool_name":"bash","content":%q}`, of.message, strings.Repeat("the fleet has left\n", 200)))
		put(t, conn, "thread.message."+name, `{"message_id":"n","role":"assistant","content":"Read."}`)
		s.settled()
		if h := s.header(name); h.FirstAgentID != of.agent {
			t.Errorf("%s: the agent is %q, want %q", name, h.FirstAgentID, of.agent)
		}
		if reply, _ := s.whole(name); len(reply.SummaryIDs) != of.summaries {
			t.Errorf("%s: the prompt has the summaries %q, want %d", name, reply.SummaryIDs, of.summaries)
		}
	}
}

// A fork's records name summaries of its parent. They never stand before the parent's own, or a store that is lost in between would be
// made again from records that rest on nothing.
func TestForkBehindItsParentsRecords(t *testing.T) {
	for _, where := range []string{"elsewhere", "same partition"} {
		t.Run(where, func(t *testing.T) {
			c := settings(t)
			c.Partitions = 2
			c.Policies[0].Compaction.Trigger, c.Policies[0].Compaction.Keep = summarize.Condition{Messages: 12}, summarize.Keep{Messages: 4}
			s := &scene{schedule: &schedule{t: t, broker: openBroker(t, t.TempDir()), config: c, fs: vfs.NewCrashableMem()}, clock: &clockAhead{}}
			home, tries := broker.PartitionOf("t", c.Partitions), atomic.Int64{}
			s.running = start(t, processor.Options{
				Config: c, Logger: logger(t), Broker: s.broker, FS: s.fs, Failpoint: func(point string, partition int) error {
					if point != processor.FailSending || partition != home || tries.Add(-1) < 0 {
						return nil
					}
					return broker.ErrTransient
				},
			})
			<-s.Ready()
			fork := s.elsewhere("f", "t")
			if where != "elsewhere" {
				fork = s.beside("f", "t")
			}
			tries.Store(5) // 1.5 s, in which the fork's records could be published
			s.sends("t", 0, 9)
			s.forkOf(fork, "t", "")
			put(t, s.broker.Conn(), "message.edited."+fork, fmt.Sprintf(`{"message_id":"r1","edit_id":"e","content":%q}`, strings.Repeat("the fleet has left\n", 100)))
			s.sends(fork, 20, 22)
			s.settled()
			order := ""
			err := broker.NewLogReader(s.broker.JetStream(), broker.StreamSummaries).Scan(within(t), 1, nil, func(m broker.Stored) error {
				switch {
				case strings.HasSuffix(m.Subject, "."+fork):
					order += "f"
				case strings.HasSuffix(m.Subject, ".t"):
					order += "t"
				}
				return nil
			}, nil)
			if parents, forks := strings.Count(order, "t"), strings.Count(order, "f"); err != nil || parents < 10 || forks < 3 || strings.Contains(order, "ft") {
				t.Errorf("records of the parent and of its fork, in the order of the stream: %s, %v", order, err)
			}
			s.finish()
		})
	}
}

// A log in which partitions wait for each other over long stretches of other events is read in bulk, and folded to the same rows.
func TestForksInBulk(t *testing.T) {
	race.Slow(t)
	c := settings(t)
	c.Policies[0].Tokenizer = summarize.TokenizerEstimate
	c.Policies[0].Compaction.Trigger, c.Policies[0].Compaction.Keep = summarize.Condition{Messages: 30}, summarize.Keep{Messages: 5}
	s := stage(t, c)
	s.end()
	conn := s.schedule.broker.Conn()
	names := [2][]string{}
	for i := 0; len(names[0]) < 12 || len(names[1]) < 12; i++ {
		n := fmt.Sprintf("n%d", i)
		at := broker.PartitionOf(n, 2)
		names[at] = append(names[at], n)
	}
	say := func(name, id string, from, n int) {
		var bodies []string
		for i := range n {
			bodies = append(bodies, fmt.Sprintf(`{"message_id":"%s%d","role":%q,"content":"note %d of %s"}`, id, from+i, []string{"user", "assistant"}[i%2], i, name))
		}
		put(t, conn, "thread.message."+name, bodies...)
	}
	last := names[0][0]
	say(last, "m", 0, 100)
	for i := 1; i < 6; i++ { // each is a fork of the one before, in the other partition, which is far behind
		side := i % 2
		name := names[side][i]
		say(names[side][9], "m", 1000*i, 10)
		say(names[1-side][10], "m", 1000*i, 400)
		put(t, conn, "thread.forked."+name, fmt.Sprintf(`{"parent_thread_id":%q}`, last))
		say(name, "o"+name+"-", 0, 20)
		say(names[side][11], "m", 1000*i, 800) // more than its queue, behind the fork
		last = name
	}
	begun := time.Now()
	s.running = start(t, processor.Options{
		Config: s.config, Logger: logger(t), Broker: s.schedule.broker, FS: s.fs, BulkFrom: 1, Now: s.clock.now, Tend: time.Hour,
	})
	s.settled()
	t.Logf("in %s", time.Since(begun))
	if h := s.header(last); h.Fork.Messages != 180 || h.Messages != 20 {
		t.Errorf("the last fork: %+v", h)
	}
	s.finish()
}

// One thread is audited with the threads that it was forked from, and nothing is reported of these.
func TestAuditOfAFork(t *testing.T) {
	c := settings(t)
	c.Policies[0].Compaction.Trigger, c.Policies[0].Compaction.Keep = summarize.Condition{Messages: 12}, summarize.Keep{Messages: 4}
	s := stage(t, c)
	s.turns("t", 0, 9)
	fork := s.elsewhere("f", "t")
	s.forkOf(fork, "t", "r7")
	s.settled()
	s.turns(fork, 8, 12)
	deep := s.elsewhere("g", fork)
	s.forkOf(deep, fork, "")
	s.settled()
	s.turns(deep, 20, 24)
	s.edit(`{"message_id":"u3","deleted":true,"edit_id":"d"}`)
	scratch, err := state.Open("scratch", state.Options{FS: state.Memory(), Logger: logger(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = scratch.Close() }()
	story, err := audit.Tell(t.Context(), audit.Options{JetStream: s.schedule.broker.JetStream(), Scratch: scratch, Rules: true, Workers: 2, Now: time.Now, Logger: logger(t)}, deep, audit.Moment{})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range story.Findings {
		t.Errorf("%+v", f)
	}
	if l := story.Fork; l == nil || l.ParentThreadID != fork || l.InheritedMessages != 24+12 || story.Counters.Messages != 8 {
		t.Errorf("fork %+v, counters %+v", story.Fork, story.Counters)
	}
	if h := s.header(deep); story.Counters.TokensLive != h.TokensLive || story.Counters.ChainHead != h.Chain {
		t.Errorf("the audit folds %+v, the store has %+v", story.Counters, h)
	}
	s.finish()
}
