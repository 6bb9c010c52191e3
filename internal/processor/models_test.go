package processor_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"precis/events"
	"precis/internal/broker"
	"precis/internal/config"
	"precis/internal/processor"
	"precis/summarize"
)

// model is a server that speaks Anthropic's wire format and says what say returns.
type model struct {
	*httptest.Server
	calls atomic.Int64
}

func newModel(t testing.TB, answer func(call int64, w http.ResponseWriter, r *http.Request)) *model {
	m := &model{}
	m.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		answer(m.calls.Add(1), w, r)
	}))
	t.Cleanup(m.Close)
	return m
}

// newModelReading also looks at what it is asked.
func newModelReading(t testing.TB, answer func(call int64, body string, w http.ResponseWriter)) *model {
	m := &model{}
	m.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		answer(m.calls.Add(1), string(body), w)
	}))
	t.Cleanup(m.Close)
	return m
}

func says(w http.ResponseWriter, text string, in, out int) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"id":"msg_1","type":"message","role":"assistant","model":"claude-haiku-4-5-20251001",
		"content":[{"type":"text","text":%q}],"stop_reason":"end_turn","stop_sequence":null,
		"usage":{"input_tokens":%d,"output_tokens":%d}}`, text, in, out)
}

// byModel is a configuration whose summaries are made by a model.
func byModel(t testing.TB, m *model) *config.Config {
	c := settings(t)
	c.Policies[0].Mode = summarize.ModeLLM
	p := config.DefaultProvider(config.KindAnthropic)
	p.BaseURL, p.APIKey = m.URL, "key"
	c.Providers = map[string]config.Provider{config.ProviderSummarizer: p}
	return c
}

// record is what tests look at of any record.
type record struct {
	Type             string
	ID               string         `json:"id"`
	SummaryID        string         `json:"summary_id"`
	Slot             string         `json:"slot"`
	AsOf             string         `json:"as_of_message_id"`
	Trigger          events.Trigger `json:"trigger"`
	SourceSummaryIDs []string       `json:"source_summary_ids"`
	SourceMessageIDs []string       `json:"source_message_ids"`
	Replaces         *string        `json:"replaces"`
	Current          bool           `json:"current"`
	Method           string         `json:"method"`
	Outcome          string         `json:"outcome"`
	Reason           string         `json:"reason"`
	Cause            events.Cause   `json:"cause"`
	InvalidatedAt    time.Time      `json:"invalidated_at"`
	Code             string         `json:"code"`
	Content          string         `json:"content"`
	FallbackReason   *string        `json:"fallback_reason"`
	Version          uint64         `json:"version"`
	EventSeq         uint64         `json:"event_seq"`
	Usage            events.Usage   `json:"usage"`
	Cost             events.Cost    `json:"cost"`
}

// story is a thread's records, in order.
func story(t testing.TB, b *broker.Broker, thread string) []record {
	t.Helper()
	var found []record
	err := broker.NewLogReader(b.JetStream(), broker.StreamSummaries).Scan(within(t), 1, []string{"*.*." + thread}, func(m broker.Stored) error {
		r := record{Type: strings.TrimSuffix(m.Subject, "."+thread)}
		found = append(found, r)
		return json.Unmarshal(m.Data, &found[len(found)-1])
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func types(records []record) []string {
	var names []string
	for _, r := range records {
		names = append(names, r.Type)
	}
	return names
}

func toolResult(id string, lines int) string {
	var b strings.Builder
	for i := range lines {
		fmt.Fprintf(&b, "step %d: compiled pkg/part%d.go\n", i, i)
	}
	return fmt.Sprintf(`{"message_id":%q,"tool_name":"bash","arguments":{"command":"make"},"content":%q}`, id, b.String())
}

// ended waits until a thread's story has n records.
func ended(t testing.TB, p *running, thread string, n int) []record {
	t.Helper()
	sub, err := p.Broker().Conn().SubscribeSync("*.*." + thread)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = sub.Unsubscribe() }()
	for ctx := within(t); ; {
		found := story(t, p.Broker(), thread)
		if len(found) >= n {
			return found
		}
		if ctx.Err() != nil {
			t.Fatalf("%d of %d records of %s: %v", len(found), n, thread, types(found))
		}
		// A subscriber may be told before the stream has stored it, so what it says is a hint and no more.
		_, _ = sub.NextMsg(100 * time.Millisecond)
	}
}

func TestSummaryByModel(t *testing.T) {
	m := newModel(t, func(_ int64, w http.ResponseWriter, _ *http.Request) {
		says(w, "The build compiled 100 parts without an error.", 1200, 40)
	})
	b := openBroker(t, t.TempDir())
	p := start(t, processor.Options{Config: byModel(t, m), Logger: logger(t), Broker: b})
	put(t, b.Conn(), "tool.result.t1", toolResult("m1", 100))
	got := ended(t, p, "t1", 3)
	p.end()
	if want := []string{"summary.started", "usage.recorded", "summary.created"}; !slices.Equal(types(got), want) {
		t.Fatalf("records %v, want %v", types(got), want)
	}
	if got[0].SummaryID != got[2].ID || got[1].SummaryID != got[2].ID {
		t.Errorf("the records are about different summaries: %+v", got)
	}
	if got[2].Method != "llm" || !strings.HasPrefix(got[2].Content, "The build compiled") {
		t.Errorf("summary %+v", got[2])
	}
	// Haiku 4.5 costs $1 and $5 a million tokens.
	if cost := got[1].Cost.AmountMicroUSD; got[1].Outcome != "used" || cost == nil || *cost != 1200+40*5 {
		t.Errorf("usage %+v", got[1])
	}
}

func TestEditWhileTheModelIsAtWork(t *testing.T) {
	atWork, goOn := make(chan struct{}), make(chan struct{})
	m := newModel(t, func(call int64, w http.ResponseWriter, _ *http.Request) {
		if call == 1 {
			close(atWork)
			<-goOn
		}
		says(w, fmt.Sprintf("Answer %d.", call), 1000, 10)
	})
	b := openBroker(t, t.TempDir())
	p := start(t, processor.Options{Config: byModel(t, m), Logger: logger(t), Broker: b})
	put(t, b.Conn(), "tool.result.t1", toolResult("m1", 100))
	<-atWork
	put(t, b.Conn(), "message.edited.t1", `{"message_id":"m1","content":`+toolResult("m1", 120)[strings.Index(toolResult("m1", 120), `"content":`)+10:])
	ended(t, p, "t1", 2)
	close(goOn)
	got := ended(t, p, "t1", 6)
	p.end()
	outcomes := map[string]int{}
	for _, r := range got {
		outcomes[r.Type+" "+r.Outcome+r.Code+r.Method]++
	}
	for _, want := range []string{
		"usage.recorded superseded", "summary.failed superseded", "usage.recorded used", "summary.created llm",
	} {
		if outcomes[want] != 1 {
			t.Errorf("%q: %d times in %v", want, outcomes[want], outcomes)
		}
	}
	if outcomes["summary.started "] != 2 {
		t.Errorf("started %v", outcomes)
	}
}

func TestModelFailsRulesServe(t *testing.T) {
	m := newModel(t, func(_ int64, w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
	})
	b := openBroker(t, t.TempDir())
	p := start(t, processor.Options{Config: byModel(t, m), Logger: logger(t), Broker: b})
	put(t, b.Conn(), "tool.result.t1", toolResult("m1", 100))
	got := ended(t, p, "t1", 2)
	p.end()
	last := got[len(got)-1]
	if want := []string{"summary.started", "summary.created"}; !slices.Equal(types(got), want) {
		t.Errorf("records %v: a call that nobody charges for is no paid call", types(got))
	}
	if last.Usage.Attempts != 1 || last.Usage.Source != "" || last.Cost.AmountMicroUSD == nil || *last.Cost.AmountMicroUSD != 0 {
		t.Errorf("usage %+v, cost %+v", last.Usage, last.Cost)
	}
	if last.Type != "summary.created" || last.Method != "rules" || last.FallbackReason == nil {
		t.Errorf("ended with %+v", last)
	}
}

func TestStopWhileTheModelIsAtWork(t *testing.T) {
	atWork := make(chan struct{}, 8)
	m := newModel(t, func(call int64, w http.ResponseWriter, r *http.Request) {
		atWork <- struct{}{}
		if call == 1 {
			<-r.Context().Done()
			return
		}
		says(w, "The second life's answer.", 1000, 10)
	})
	b := openBroker(t, t.TempDir())
	c := byModel(t, m)
	p := start(t, processor.Options{Config: c, Logger: logger(t), Broker: b})
	put(t, b.Conn(), "tool.result.t1", toolResult("m1", 100))
	<-atWork
	p.end()
	p = start(t, processor.Options{Config: c, Logger: logger(t), Broker: b})
	got := ended(t, p, "t1", 4)
	h, err := p.View(broker.PartitionOf("t1", c.Partitions)).Header("t1")
	if err != nil {
		t.Fatal(err)
	}
	p.end()
	if last := got[len(got)-1]; last.Method != "llm" || !strings.HasPrefix(last.Content, "The second life's answer.") {
		t.Errorf("ended with %+v", last)
	}
	if started := strings.Count(strings.Join(types(got), " "), "summary.started"); started != 1 {
		t.Errorf("started %d times: %v", started, types(got))
	}
	if got[1].Type != "usage.recorded" || got[1].Outcome != "unknown" {
		t.Errorf("the interrupted call is not on record: %v", types(got))
	}
	// The summary says what the run that made it took; the sum of all calls is that of the thread.
	last, lost := got[len(got)-1], got[1].Cost.AmountMicroUSD
	if cost := last.Cost.AmountMicroUSD; last.Usage.Attempts != 1 || cost == nil || lost == nil || *lost == 0 || h.CostMicroUSD != *cost+*lost {
		t.Errorf("usage %+v and cost %+v of the summary, %d micro-dollars of the thread, %+v", last.Usage, last.Cost, h.CostMicroUSD, got[1].Cost)
	}
}
