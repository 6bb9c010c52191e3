package processor_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"precis/api"
	"precis/internal/broker"
	"precis/internal/processor"
	"precis/summarize"
)

// threadOf asks for a thread's counters.
func threadOf(t *testing.T, b *broker.Broker, token string) (reply api.ThreadReply) {
	t.Helper()
	msg, err := b.Conn().RequestWithContext(within(t), api.ThreadGet+token, nil)
	if err != nil {
		t.Fatal(err)
	}
	if code := msg.Header.Get("Nats-Service-Error-Code"); code != "" {
		t.Fatalf("thread %s: %s", token, code)
	}
	if err := json.Unmarshal(msg.Data, &reply); err != nil {
		t.Fatal(err)
	}
	return reply
}

// begin publishes the first message of a thread that an agent of another one started.
func begin(t *testing.T, b *broker.Broker, token, parent string) {
	t.Helper()
	put(t, b.Conn(), "thread.message."+token, fmt.Sprintf(`{"message_id":"m1","role":"user","content":"Look at the harbour.","agent_id":"scout","parent_thread_id":%q}`, parent))
}

func idsOf(children []api.Child) (ids []string) {
	for _, c := range children {
		ids = append(ids, c.ThreadID)
	}
	return ids
}

// Sub-agents show at the thread whose agent started them, in whichever partition each is: which of them run, what they cost, and
// what those cost that they started. A store that is rebuilt from the log says the same.
func TestChildrenShowAtTheirParent(t *testing.T) {
	m := newModel(t, func(_ int64, w http.ResponseWriter, _ *http.Request) { says(w, "All parts were compiled.", 1000, 20) })
	c := byModel(t, m)
	c.Partitions = 8
	b := openBroker(t, t.TempDir())
	p, stop := servingUntil(t, processor.Options{Config: c, Logger: logger(t), Broker: b})
	begin(t, b, "lead", "lead") // no thread is its own parent
	begin(t, b, "done", "lead")
	begin(t, b, "asks", "lead")
	begin(t, b, "calls", "lead")
	begin(t, b, "odd=20id", "lead")
	begin(t, b, "below", "done")
	begin(t, b, "stranger", "absent")
	put(t, b.Conn(), "thread.message.absent2", `{"message_id":"m1","role":"user","content":"Alone."}`,
		`{"message_id":"m2","role":"user","content":"Too late.","parent_thread_id":"lead"}`)
	put(t, b.Conn(), "tool.result.done", toolResult("m2", 100))
	put(t, b.Conn(), "tool.result.below", toolResult("m2", 100))
	put(t, b.Conn(), "thread.message.done", `{"message_id":"m3","role":"assistant","content":"It is calm."}`, `{"message_id":"m4","role":"user","content":"Sure?"}`)
	put(t, b.Conn(), "message.edited.done", `{"message_id":"m4","deleted":true}`)
	put(t, b.Conn(), "thread.message.calls", `{"message_id":"m2","role":"assistant","content":"","tool_calls":[{"id":"c","name":"look","arguments":{}}]}`)
	for _, name := range []string{"done", "below"} {
		ended(t, p, name, 3)
	}
	if err := p.Settled(within(t)); err != nil {
		t.Fatal(err)
	}
	lead := threadOf(t, b, "lead")
	if got, want := idsOf(lead.Children), []string{"done", "asks", "calls", "odd id"}; !slices.Equal(got, want) || lead.ChildrenCount != 4 {
		t.Fatalf("children %q (%d), want %q", got, lead.ChildrenCount, want)
	}
	for i, running := range []bool{false, true, true, true} {
		if lead.Children[i].Running != running {
			t.Errorf("%s runs: %v", lead.Children[i].ThreadID, lead.Children[i].Running)
		}
	}
	done, below := lead.Children[0], threadOf(t, b, "below")
	if done.AgentID != "scout" || done.Messages != 3 || done.ToolResults != 1 || done.LLMInput != 1000 || done.CostMicroUSD == 0 || done.LastEventAt.IsZero() {
		t.Errorf("the child is %+v", done)
	}
	if sum := lead.Descendants; sum.Threads != 5 || sum.CostMicroUSD != done.CostMicroUSD+below.CostMicroUSD || sum.LLMInput != 2000 || sum.LLMOutput != 40 {
		t.Errorf("all of them are %+v", sum)
	}
	if lead.ParentThreadID != nil || below.ParentThreadID == nil || *below.ParentThreadID != "done" || threadOf(t, b, "absent2").ParentThreadID != nil {
		t.Errorf("parents: %v, %v", lead.ParentThreadID, below.ParentThreadID)
	}
	if s := threadOf(t, b, "stranger"); s.ParentThreadID == nil || *s.ParentThreadID != "absent" || s.Children == nil || len(s.Children) > 0 {
		t.Errorf("a child of a thread that is nowhere: %+v", s)
	}
	stop()
	if err := os.RemoveAll(filepath.Join(c.DataDir, "state")); err != nil {
		t.Fatal(err)
	}
	serving(t, processor.Options{Config: c, Logger: logger(t), Broker: b})
	if again := threadOf(t, b, "lead"); !reflect.DeepEqual(again, lead) {
		t.Errorf("rebuilt: %+v\nbefore: %+v", again, lead)
	}
}

// Threads that name each other as parents are each other's children, and are counted once.
func TestChildrenInACircle(t *testing.T) {
	b := openBroker(t, t.TempDir())
	p := serving(t, processor.Options{Config: settings(t), Logger: logger(t), Broker: b})
	begin(t, b, "a", "b")
	begin(t, b, "b", "c")
	begin(t, b, "c", "a")
	if err := p.Settled(within(t)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b", "c"} {
		if r := threadOf(t, b, name); r.ChildrenCount != 1 || r.Descendants.Threads != 2 {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// A prompt names the sub-agents that still run where a compaction may stand for the messages that started them, within the prompt's
// limit, and only for a request that says so.
func TestPromptNamesRunningChildren(t *testing.T) {
	c := settings(t)
	c.Policies[0].Compaction.Trigger, c.Policies[0].Compaction.Keep = summarize.Condition{Messages: 6}, summarize.Keep{Messages: 2}
	b := openBroker(t, t.TempDir())
	p := serving(t, processor.Options{Config: c, Logger: logger(t), Broker: b})
	settled := func() {
		t.Helper()
		if err := p.Settled(within(t)); err != nil {
			t.Fatal(err)
		}
	}
	talk(t, b, 1, 2)
	begin(t, b, "north=0Asea", "t1")
	begin(t, b, "south", "t1")
	settled()
	const line = "Sub-agents that still run, by thread: "
	r := contextOf(t, p, "t1", `{"children":true}`)
	if !slices.Equal(r.RunningThreadIDs, []string{"north\nsea", "south"}) || strings.Contains(string(r.Messages), line) {
		t.Fatalf("%q run; without a compaction the prompt is %s", r.RunningThreadIDs, r.Messages)
	}
	talk(t, b, 3, 30)
	settled()
	plain, r := contextOf(t, p, "t1", `{}`), contextOf(t, p, "t1", `{"children":true}`)
	if len(plain.SummaryIDs) != 1 || plain.RunningThreadIDs != nil || strings.Contains(string(plain.Messages), line) {
		t.Fatalf("a request that does not say children: %q, %s", plain.RunningThreadIDs, plain.Messages)
	}
	if !strings.Contains(string(r.Messages), line+"north=0Asea, south.") || r.TokenCount <= plain.TokenCount {
		t.Fatalf("%d tokens, %d without: %s", r.TokenCount, plain.TokenCount, r.Messages)
	}
	put(t, b.Conn(), "thread.message.south", `{"message_id":"m2","role":"assistant","content":"All is well."}`)
	settled()
	r = contextOf(t, p, "t1", fmt.Sprintf(`{"children":true,"max_tokens":%d}`, plain.TokenCount))
	if !slices.Equal(r.RunningThreadIDs, []string{"north\nsea"}) || !r.WithinBudget || r.TokenCount > plain.TokenCount {
		t.Errorf("%q run; %d tokens of %d", r.RunningThreadIDs, r.TokenCount, plain.TokenCount)
	}
	for n := range 25 {
		begin(t, b, fmt.Sprintf("fleet%02d", n), "t1")
	}
	settled()
	if r := contextOf(t, p, "t1", `{"children":true}`); len(r.RunningThreadIDs) != 26 || !strings.Contains(string(r.Messages), line+"fleet05, ") || !strings.Contains(string(r.Messages), "fleet24, and 6 more.") {
		t.Errorf("%d run: %s", len(r.RunningThreadIDs), r.Messages)
	}
}
