package processor_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/go-json-experiment/json"

	"precis/api"
	"precis/events"
	"precis/internal/processor"
	"precis/summarize"
	"precis/summarize/prompt"
)

// An explained prompt says of each message what it is made of, of each summary which messages it stands for, why the rest
// is not there, and how far the next compaction is. In every format each of the thread's messages has one place.
func TestExplainedPrompts(t *testing.T) {
	t.Parallel()
	c := settings(t)
	c.Policies[0].Compaction.Trigger = summarize.Condition{Messages: 10}
	c.Policies[0].Compaction.Keep = summarize.Keep{Messages: 6}
	b := openBroker(t, t.TempDir())
	serving(t, processor.Options{Config: c, Logger: logger(t), Broker: b})
	file, _ := ledgerFile()
	e := &editor{t: t, b: b, name: "t"}
	put(t, b.Conn(), "thread.message.t", `{"message_id":"s","role":"system","content":"You keep ledgers."}`)
	var last uint64
	for i := range 12 {
		e.publish(events.ThreadMessage, map[string]any{"message_id": fmt.Sprintf("u%d", i), "role": "user", "content": fmt.Sprintf("Read page %d.", i)})
		last = e.call("Read", map[string]any{"file_path": fmt.Sprintf("/page%d", i)}, file)
	}
	for _, limit := range []int{0, 3000} {
		for _, format := range prompt.Formats() {
			_, body := promptOf(t, b, "t", fmt.Sprintf(`{"format":%q,"max_tokens":%d,"explain":true,"min_event_seq":%d}`, format, limit, last))
			var got api.ContextReply
			if err := json.Unmarshal([]byte(body), &got); err != nil {
				t.Fatal(err)
			}
			at := fmt.Sprintf("%s within %d", format, limit)
			places := map[string]int{}
			for _, s := range got.Sources {
				for _, id := range s.MessageIDs {
					places[id]++
				}
			}
			if got.SystemSource != nil {
				for _, id := range got.SystemSource.MessageIDs {
					places[id]++
				}
			}
			if got.Explain == nil || len(got.Explain.Summaries) != len(got.SummaryIDs) {
				t.Fatalf("%s: explained %+v, summaries %v", at, got.Explain, got.SummaryIDs)
			}
			for i, sum := range got.Explain.Summaries {
				if sum.ID != got.SummaryIDs[i] || sum.MessageCount != len(sum.MessageIDs) || sum.MessageCount == 0 {
					t.Errorf("%s: summary %s is explained as %+v", at, got.SummaryIDs[i], sum)
				}
				if sum.Kind != events.KindToolResult { // an output's summary stands at the output's own place
					for _, id := range sum.MessageIDs {
						places[id]++
					}
				}
			}
			for _, left := range got.Explain.LeftOut {
				if left.Reason != "max_tokens" || !slices.Contains(got.DroppedMessageIDs, left.ID) {
					t.Errorf("%s: left out %+v", at, left)
				}
				if limit == 0 || places[left.ID] > 1 {
					t.Errorf("%s: %s is left out, and has %d places", at, left.ID, places[left.ID])
				}
				places[left.ID] = 1
			}
			for i := range 12 {
				for _, id := range []string{fmt.Sprintf("u%d", i), fmt.Sprintf("a%d", i+1), fmt.Sprintf("r%d", i+1), "s"} {
					// A message of several items is named at each of them.
					if n := places[id]; n == 0 || n > 1 && format != prompt.FormatResponses {
						t.Errorf("%s: %s has %d places", at, id, n)
					}
				}
			}
			p := got.Explain.Tokens
			if sum := p.System + p.Compaction + p.Messages + p.Outputs + p.Summaries + p.Frame; sum != got.TokenCount {
				t.Errorf("%s: %+v is %d of %d tokens", at, p, sum, got.TokenCount)
			}
			if next := got.Explain.Compaction; next.Policy != "default" || len(next.Jobs) != 0 || next.RemovableMessages > 10 {
				t.Errorf("%s: the next compaction is %+v", at, next)
			}
		}
	}
	// Nothing is explained unless the request asks for it, and a wrong member is refused.
	_, body := promptOf(t, b, "t", `{}`)
	var got api.ContextReply
	if err := json.Unmarshal([]byte(body), &got); err != nil || got.Explain != nil || len(got.Sources) == 0 {
		t.Errorf("%v: %+v", err, got.Explain)
	}
	reply, err := b.Conn().RequestWithContext(within(t), "precis.thread.context.t", []byte(`{"explain":1}`))
	if err != nil || reply.Header.Get("Nats-Service-Error") != "explain must be true or false" {
		t.Errorf("%v: %v", err, reply.Header)
	}
}

// A summary that a model works on is shown until it is there.
func TestExplainedJobs(t *testing.T) {
	t.Parallel()
	arrived, release := make(chan struct{}), make(chan struct{})
	c := byModel(t, newModel(t, func(_ int64, w http.ResponseWriter, _ *http.Request) {
		close(arrived)
		<-release
		says(w, "A ledger of 24 accounts.", 500, 10)
	}))
	b := openBroker(t, t.TempDir())
	p := serving(t, processor.Options{Config: c, Logger: logger(t), Broker: b})
	file, _ := ledgerFile()
	e := &editor{t: t, b: b, name: "t"}
	e.call("Read", map[string]any{"file_path": "/ledger"}, file)
	jobs := func() []api.JobStatus {
		_, body := promptOf(t, b, "t", `{"explain":true}`)
		var got api.ContextReply
		if err := json.Unmarshal([]byte(body), &got); err != nil {
			t.Fatal(err)
		}
		return got.Explain.Compaction.Jobs
	}
	select {
	case <-arrived:
	case <-within(t).Done():
		t.Fatal("the model was not asked")
	}
	if got := jobs(); len(got) != 1 || got[0].Kind != events.KindToolResult || got[0].Slot != "tool:r1" || !got[0].Calling || got[0].SummaryID == "" {
		t.Errorf("while the model works: %+v", got)
	}
	close(release)
	if err := p.Settled(within(t)); err != nil {
		t.Fatal(err)
	}
	if got := jobs(); len(got) != 0 {
		t.Errorf("then: %+v", got)
	}
}
