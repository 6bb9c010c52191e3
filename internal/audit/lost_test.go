package audit_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/go-json-experiment/json"

	"precis/events"
	"precis/internal/audit"
	"precis/internal/broker"
	"precis/internal/config"
	"precis/internal/processor"
)

const byModel = `,"policy":"by-model"`

// paidFor is a world that has lost its store, and with it the summary of a text that is paid for: the call alone is
// on record.
func paidFor(t *testing.T) *world {
	w := newWorld(t)
	w.config.Policies[1].OnFailure = "fail"
	w.run(func(*processor.Processor) { w.put([2]string{"tool.result.model", output("m1", 80, byModel)}) })
	list := w.messages(broker.StreamSummaries)
	made := nth(t, list, events.SummaryCreated, "model", 0)
	w.rewrite(broker.StreamSummaries, slices.Delete(list, made, made+1))
	w.config.DataDir = t.TempDir()
	return w
}

// A text that is lost so was not removed: its job may be superseded before a model is asked again, or that call may fail.
func TestLostText(t *testing.T) {
	for name, overtake := range map[string]func(*world){
		"nothing": func(*world) {},
		"refusal": func(w *world) { // the model is asked again, and there is nothing after it
			refuses := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadRequest) }))
			w.t.Cleanup(refuses.Close)
			summarizer := w.config.Providers[config.ProviderSummarizer]
			summarizer.BaseURL = refuses.URL
			w.config.Providers[config.ProviderSummarizer] = summarizer
		},
		"configuration": func(w *world) { w.config.Policies[1].ToolOutput.MaxSummaryChars = 500 },
		"edit": func(w *world) {
			w.put([2]string{"message.edited.model", `{"message_id":"m1","edit_id":"e1","content":"short"}`})
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := paidFor(t)
			overtake(w)
			w.run(func(*processor.Processor) {})
			if failed := w.rows(audit.Filter{}, events.SummaryFailed); (len(failed) > 0) != (name != "nothing") {
				t.Fatalf("%d jobs were overtaken", len(failed))
			}
			w.proved()
		})
	}
}

// Nothing has superseded the job whose summary is made away with: a failure in its place does not pass for one.
func TestTextMadeAwayWith(t *testing.T) {
	w := newWorld(t)
	w.run(func(*processor.Processor) { w.put([2]string{"tool.result.model", output("m1", 80, byModel)}) })
	list := w.messages(broker.StreamSummaries)
	made := nth(t, list, events.SummaryCreated, "model", 0)
	id := summaryIn(list, made)
	list[made] = failure(t, list[made], id)
	reseal(t, list)
	w.rewrite(broker.StreamSummaries, list)
	named(t, w.replay(), audit.CheckJob, id)
	// Neither does a change that comes behind it.
	w.config.Policies[1].ToolOutput.MaxSummaryChars = 500
	w.config.DataDir = t.TempDir()
	w.run(func(*processor.Processor) {})
	named(t, w.replay(), audit.CheckJob, id)
}

// failure is a record of a job's failure in the place of its summary.
func failure(t testing.TB, made broker.Stored, id string) broker.Stored {
	t.Helper()
	head := map[string]any{}
	for _, name := range []string{"thread_id", "partition", "event_seq", "effective_seq", "chain_seq"} {
		head[name] = member(t, made.Data, name)
	}
	made.Data = set(t, []byte("{}"), head)
	made.Data = set(t, made.Data, map[string]any{
		"summary_id": id, "kind": "tool_result", "code": "superseded", "message": "overtaken", "action": "trim",
		"usage": map[string]any{"input_tokens": 0, "output_tokens": 0, "cached_input_tokens": 0, "attempts": 0, "latency_ms": 0, "source": nil},
		"cost":  map[string]any{"amount_microusd": 0, "currency": "USD", "price_table": nil},
	})
	made.Subject = string(events.SummaryFailed) + ".model"
	made.Header = clone(made.Header, string(events.SummaryFailed)+"/"+id)
	made.Header["ce-type"] = []string{string(events.SummaryFailed)}
	return made
}

func member(t testing.TB, data []byte, name string) any {
	t.Helper()
	rec := map[string]any{}
	if err := json.Unmarshal(data, &rec); err != nil {
		t.Fatal(err)
	}
	return rec[name]
}
