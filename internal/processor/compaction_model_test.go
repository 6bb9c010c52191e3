package processor_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"precis/internal/broker"
	"precis/internal/config"
	"precis/internal/processor"
	"precis/summarize"
)

// compactsByModel compacts at six messages, and keeps three.
func compactsByModel(t testing.TB, m *model) *config.Config {
	c := byModel(t, m)
	c.Policies[0].Compaction.Trigger = summarize.Condition{Messages: 5}
	c.Policies[0].Compaction.Keep = summarize.Keep{Messages: 3}
	return c
}

func note(n int) string {
	role := "user"
	if n%2 == 0 {
		role = "assistant"
	}
	return fmt.Sprintf(`{"message_id":"m%d","role":%q,"content":"note %d: the deployment of service %d to region %d went through the usual gates and nobody had to be called at night for it"}`, n, role, n, n, n)
}

// talk publishes notes from one number to another, and returns the last one's sequence.
func talk(t testing.TB, b *broker.Broker, from, to int) (last uint64) {
	for n := from; n <= to; n++ {
		last = put(t, b.Conn(), "thread.message.t1", note(n))
	}
	return last
}

// what names a record in one word or two.
func what(r record) string {
	slot, _, _ := strings.Cut(r.Slot, ":")
	return strings.Join(strings.Fields(strings.TrimPrefix(r.Type, "summary.")+" "+slot+" "+r.Method+r.Code+r.Outcome), " ")
}

// A result that has nothing but its call's id is read by the model as what was called, here the second of two calls:
// the first one's result was deleted.
func TestModelIsToldWhatWasCalled(t *testing.T) {
	asked := make(chan string, 1)
	m := newModelReading(t, func(_ int64, body string, w http.ResponseWriter) {
		select {
		case asked <- body:
		default: // the first will do
		}
		says(w, "The store was searched.", 900, 20)
	})
	b := openBroker(t, t.TempDir())
	serving(t, processor.Options{Config: compactsByModel(t, m), Logger: logger(t), Broker: b})
	talk(t, b, 1, 1)
	calls := `{"message_id":"m2","role":"assistant","content":null,"tool_calls":[{"id":"c","name":"grep","arguments":"{}"},{"id":"c","name":"Read","arguments":"{}"}]}`
	result := `{"message_id":"%s","role":"tool","tool_call_id":"c","content":"` + strings.Repeat("state/store.go:14: return ErrStale, ", 12) + `"}`
	put(t, b.Conn(), "thread.message.t1", calls, fmt.Sprintf(result, "m3"))
	put(t, b.Conn(), "message.edited.t1", `{"message_id":"m3","deleted":true}`)
	put(t, b.Conn(), "thread.message.t1", fmt.Sprintf(result, "m4"))
	talk(t, b, 5, 14)
	select {
	case body := <-asked:
		if !strings.Contains(body, "[tool Read m4]") {
			t.Errorf("the model was asked %s", body)
		}
	case <-within(t).Done():
		t.Fatal("the model was not asked")
	}
}

func story1(t testing.TB, p *running, n int) (names []string, records []record) {
	records = ended(t, p, "t1", n)
	for _, r := range records {
		names = append(names, what(r))
	}
	return names, records
}

var byRulesFirst = []string{"created leaf rules", "created current rules", "started current"}

func TestCompactionByModel(t *testing.T) {
	var asked string
	m := newModelReading(t, func(_ int64, body string, w http.ResponseWriter) {
		asked = body
		says(w, "Six services were deployed, all without trouble.", 900, 20)
	})
	b := openBroker(t, t.TempDir())
	p := serving(t, processor.Options{Config: compactsByModel(t, m), Logger: logger(t), Broker: b})
	talk(t, b, 1, 9)
	names, records := story1(t, p, 5)
	if err := p.Settled(within(t)); err != nil {
		t.Fatal(err)
	}
	_, text := promptOf(t, b, "t1", "")
	if want := append(slices.Clone(byRulesFirst), "usage.recorded used", "created current llm"); !slices.Equal(names, want) {
		t.Fatalf("got %q, want %q", names, want)
	}
	rules, model := records[1], records[4]
	if records[2].SummaryID != model.ID || model.Version != rules.Version+1 || !slices.Equal(model.SourceSummaryIDs, []string{records[0].ID}) {
		t.Errorf("started %+v, made %+v", records[2], model)
	}
	if rules.FallbackReason == nil || *rules.FallbackReason != "model_pending" {
		t.Errorf("the one by rules says %v", rules.FallbackReason)
	}
	if !strings.Contains(model.Content, "Six services were deployed") || !strings.Contains(text, "Six services were deployed") {
		t.Errorf("the model's text is not there: %q in %s", model.Content, text)
	}
	// The ledger stands below it, whatever the model says.
	if !strings.Contains(model.Content, "--- Summarized Context (") {
		t.Errorf("no ledger in %q", model.Content)
	}
	for _, want := range []string{"BEGIN DATA", `[user m1]`, "service 2 to region 2"} {
		if !strings.Contains(asked, want) {
			t.Errorf("the model was not given %q", want)
		}
	}
	if strings.Contains(asked, "[user m9]") {
		t.Error("the model was given a message that stays")
	}
}

func TestCompactionWhereTheModelFails(t *testing.T) {
	for _, c := range []struct {
		onFailure string
		want      string
		shown     bool // what the rules say stands in the prompt
	}{
		{"fallback", "created current rules", true},
		{"fail", "failed authentication", false},
	} {
		t.Run(c.onFailure, func(t *testing.T) {
			m := newModel(t, func(_ int64, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) })
			b := openBroker(t, t.TempDir())
			cfg := compactsByModel(t, m)
			cfg.Policies[0].OnFailure = c.onFailure
			p := serving(t, processor.Options{Config: cfg, Logger: logger(t), Broker: b})
			talk(t, b, 1, 9)
			names, records := story1(t, p, 4)
			if err := p.Settled(within(t)); err != nil {
				t.Fatal(err)
			}
			_, text := promptOf(t, b, "t1", "")
			if want := append(slices.Clone(byRulesFirst), c.want); !slices.Equal(names, want) {
				t.Fatalf("got %q, want %q", names, want)
			}
			if c.shown && records[3].Content != records[1].Content {
				t.Errorf("the rules said %q, and then %q", records[1].Content, records[3].Content)
			}
			if raw := strings.Contains(text, "service 1 to region 1 went"); raw == c.shown && !c.shown {
				t.Errorf("prompt %s", text)
			}
		})
	}
}

// While the model is at work a source is edited: its answer is dropped and its cost recorded, and the next
// one is asked about what is true then.
func TestEditWhileTheModelCompacts(t *testing.T) {
	atWork, goOn := make(chan struct{}), make(chan struct{})
	m := newModelReading(t, func(call int64, body string, w http.ResponseWriter) {
		if call == 1 {
			close(atWork)
			<-goOn
		}
		says(w, fmt.Sprintf("Answer %d, edited %t.", call, strings.Contains(body, "rolled back")), 1000, 10)
	})
	b := openBroker(t, t.TempDir())
	p := serving(t, processor.Options{Config: compactsByModel(t, m), Logger: logger(t), Broker: b})
	talk(t, b, 1, 9)
	<-atWork
	put(t, b.Conn(), "message.edited.t1", `{"message_id":"m2","content":"note 2: the deployment of service 2 was rolled back after nine minutes, and somebody had to be called at night for it"}`)
	ended(t, p, "t1", 3+2+2)
	close(goOn)
	names, records := story1(t, p, 12)
	want := append(slices.Clone(byRulesFirst),
		"invalidated", "invalidated", "created leaf rules", "created current rules",
		"usage.recorded superseded", "failed superseded", "started current", "usage.recorded used", "created current llm")
	if !slices.Equal(names, want) {
		t.Fatalf("got  %q\nwant %q", names, want)
	}
	if last := records[len(records)-1]; !strings.Contains(last.Content, "Answer 2, edited true.") || last.Version != 4 {
		t.Errorf("ended with %+v", last)
	}
	if records[7].Cost.AmountMicroUSD == nil || *records[7].Cost.AmountMicroUSD != 1050 {
		t.Errorf("the dropped answer's cost: %+v", records[7].Cost)
	}
}

// A trigger that fires while the model is at work folds into the next job: one at a time.
func TestCompactionsFoldIntoTheNextJob(t *testing.T) {
	atWork, goOn := make(chan struct{}), make(chan struct{})
	m := newModel(t, func(call int64, w http.ResponseWriter, _ *http.Request) {
		if call == 1 {
			close(atWork)
			<-goOn
		}
		says(w, fmt.Sprintf("Answer %d.", call), 1000, 10)
	})
	b := openBroker(t, t.TempDir())
	p := serving(t, processor.Options{Config: compactsByModel(t, m), Logger: logger(t), Broker: b})
	talk(t, b, 1, 9)
	<-atWork
	last := talk(t, b, 10, 40)
	promptOf(t, b, "t1", fmt.Sprintf(`{"min_event_seq":%d}`, last))
	close(goOn)
	if err := p.Settled(within(t)); err != nil {
		t.Fatal(err)
	}
	names, records := story1(t, p, 12)
	if n := count(names, "started current"); n != 2 || m.calls.Load() != 2 {
		t.Errorf("%d jobs, %d calls: %q", n, m.calls.Load(), names)
	}
	if last := records[len(records)-1]; !strings.Contains(last.Content, "Answer 2.") {
		t.Errorf("ended with %+v", last)
	}
}

func count(list []string, s string) (n int) {
	for _, have := range list {
		if have == s {
			n++
		}
	}
	return n
}
