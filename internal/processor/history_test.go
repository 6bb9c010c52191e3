package processor_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"precis/internal/processor"
	"precis/summarize"
)

// tells has a policy write histories at every fourth message.
func tells(p *summarize.Policy) {
	p.History = summarize.History{Enabled: true, EveryMessages: 4, MaxSummaryTokens: 60}
}

func TestHistoryByRules(t *testing.T) {
	c := settings(t)
	tells(&c.Policies[0])
	b := openBroker(t, t.TempDir())
	p := serving(t, processor.Options{Config: c, Logger: logger(t), Broker: b})
	talk(t, b, 1, 9)
	names, records := story1(t, p, 2)
	if want := []string{"created history rules", "created history rules"}; !slices.Equal(names, want) {
		t.Fatalf("got %q, want %q", names, want)
	}
	first, second := records[0], records[1]
	if second.Version != 2 || second.Replaces == nil || *second.Replaces != first.ID {
		t.Errorf("the second %+v", second)
	}
	if want := []string{"m1", "m2", "m3", "m4", "m5", "m6", "m7", "m8"}; !slices.Equal(second.SourceMessageIDs, want) {
		t.Errorf("made from %v", second.SourceMessageIDs)
	}
	for _, rec := range []record{first, second} {
		if t1 := rec.Trigger; t1.Threshold == nil || *t1.Threshold != 4 || *t1.Value != 4 {
			t.Errorf("trigger %+v", t1)
		}
	}
	if second.Content == "" || second.Current {
		t.Errorf("%+v", second)
	}
	got, prompt := promptOf(t, b, "t1", "")
	if strings.Contains(prompt, second.Content[:20]) || len(got.Messages) != 9 {
		t.Errorf("the history stands in a prompt: %s", prompt)
	}
	// What it was made from changes: it is stale, and told again.
	put(t, b.Conn(), "message.edited.t1", `{"message_id":"m2","content":"note 2: the deployment of service 2 was rolled back, which nobody had expected at all"}`)
	names, _ = story1(t, p, 4)
	if want := []string{"invalidated", "created history rules"}; !slices.Equal(names[2:], want) {
		t.Errorf("then %q, want %q", names[2:], want)
	}
}

// Behind a compaction a history is made from what that stands for, so that an edit far back reaches it.
func TestHistoryOfACompactedThread(t *testing.T) {
	c := settings(t)
	tells(&c.Policies[0])
	c.Policies[0].Compaction.Trigger = summarize.Condition{Messages: 5}
	c.Policies[0].Compaction.Keep = summarize.Keep{Messages: 3}
	b := openBroker(t, t.TempDir())
	p := serving(t, processor.Options{Config: c, Logger: logger(t), Broker: b})
	talk(t, b, 1, 40)
	records := settledStory(t, p)
	history := newest(records, "history")
	if len(history.SourceSummaryIDs) == 0 || len(history.SourceMessageIDs) > 15 {
		t.Fatalf("made from %v and %v", history.SourceSummaryIDs, history.SourceMessageIDs)
	}
	put(t, b.Conn(), "message.edited.t1", `{"message_id":"m1","content":"note 1 is another one"}`)
	records = settledStory(t, p)
	if again := newest(records, "history"); again.Version != history.Version+1 || again.Replaces == nil || *again.Replaces != history.ID {
		t.Errorf("%+v took the place of %+v", again, history)
	}
}

// settledStory is a thread's story when nothing is left to do.
func settledStory(t *testing.T, p *running) []record {
	t.Helper()
	if err := p.Settled(within(t)); err != nil {
		t.Fatal(err)
	}
	return story(t, p.Broker(), "t1")
}

func newest(records []record, slot string) (found record) {
	for _, r := range records {
		if r.Type == "summary.created" && r.Slot == slot {
			found = r
		}
	}
	return found
}

func TestHistoryByModel(t *testing.T) {
	m := newModelReading(t, func(_ int64, body string, w http.ResponseWriter) {
		if !strings.Contains(body, "Write for the people") {
			t.Errorf("asked with %s", body)
		}
		says(w, "Services went out region by region.", 300, 9)
	})
	b := openBroker(t, t.TempDir())
	c := byModel(t, m)
	tells(&c.Policies[0])
	p := serving(t, processor.Options{Config: c, Logger: logger(t), Broker: b})
	talk(t, b, 1, 5)
	names, records := story1(t, p, 3)
	if want := []string{"started history", "usage.recorded used", "created history llm"}; !slices.Equal(names, want) {
		t.Fatalf("got %q, want %q", names, want)
	}
	if r := records[2]; r.Current || !strings.HasPrefix(r.Content, "Services went out") {
		t.Errorf("%+v", r)
	}
	if _, text := promptOf(t, b, "t1", ""); strings.Contains(text, "region by region") {
		t.Error("the history stands in a prompt")
	}
}
