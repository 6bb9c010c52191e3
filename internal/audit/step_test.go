package audit_test

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"precis/events"
	"precis/internal/audit"
	"precis/internal/broker"
	"precis/internal/processor"
	"precis/internal/race"
	"precis/summarize"
)

// stepCauses are all causes of a step.
var stepCauses = []events.StepCause{
	events.ByEvent, events.ByRequest, events.ByIdle, events.BySweep, events.ByExpiry, events.ByResult, events.ByConfiguration, events.ByClaim, events.ByRecovery,
}

// everyCause is a log with a step of every cause.
func everyCause(t *testing.T) *world {
	w := mixed(t)
	before := len(w.messages(broker.StreamSummaries))
	w.run(func(p *processor.Processor) {
		w.put(line(20, "user"), line(21, "assistant"), line(22, "user"), line(23, "assistant"))
		w.ask(p, events.KindCompaction)
	})
	w.loseEnd(before)
	w.run(func(p *processor.Processor) {
		w.ask(p, events.KindHistory)
		next := *w.config
		next.Policies = slices.Clone(next.Policies)
		next.Policies[0].Compaction.MaxSummaryTokens = 300
		next.Policies[0].Compaction.Trigger = summarize.Condition{Any: []summarize.Condition{{Messages: 8}, {Idle: time.Millisecond}}}
		w.config = &next
		if err := errors.Join(p.Reload(within(t), &next), p.Tended(within(t)), p.Settled(within(t))); err != nil {
			t.Fatal(err)
		}
		w.put(line(30, "user"), line(31, "assistant"), line(32, "user"), line(33, "assistant"), line(34, "user"))
		ctx := within(t)
		for len(w.caused(events.ByIdle)) == 0 {
			if err := errors.Join(p.Settled(ctx), p.Tended(ctx)); err != nil {
				t.Fatal(err)
			}
		}
	})
	return w
}

// loseEnd has the server lose what stands behind the first record of the last step of several records that a request took, and
// the processor its store.
func (w *world) loseEnd(from int) {
	w.t.Helper()
	list, cut := w.messages(broker.StreamSummaries), 0
	for i, m := range list[from:] {
		if head := headOf(w.t, m); head.Step == (events.Step{Cause: events.ByRequest, Index: 1}) && m.Header.Get(events.StepSize) != "1" {
			cut = from + i + 1
		}
	}
	if cut == 0 {
		w.t.Fatal("no request has led to several records")
	}
	w.rewrite(broker.StreamSummaries, list[:cut])
	w.config.DataDir = w.t.TempDir()
}

func headOf(t testing.TB, m broker.Stored) (head events.Head) {
	t.Helper()
	if err := json.Unmarshal(m.Data, &head); err != nil {
		t.Fatal(err)
	}
	return head
}

// caused are the places of the records of steps with a cause.
func (w *world) caused(cause events.StepCause) (at []int) {
	for i, m := range w.messages(broker.StreamSummaries) {
		if headOf(w.t, m).Step.Cause == cause {
			at = append(at, i)
		}
	}
	return at
}

// Every record says what caused its step, and which record of it it is; its header says how many there are.
func TestStepsOnRecord(t *testing.T) {
	w := everyCause(t)
	for _, cause := range stepCauses {
		if len(w.caused(cause)) == 0 {
			t.Errorf("no record of a step by %s", cause)
		}
	}
	w.wholeSteps(1)
	rep := w.replay()
	clean(t, rep)
	if n := rep.Proved[audit.CheckStep]; n != uint64(len(w.messages(broker.StreamSummaries))) {
		t.Errorf("the steps of %d records hold", n)
	}
	if !slices.ContainsFunc(rep.Unproved, func(u audit.Unproved) bool {
		return strings.Contains(u.Reason, "last records of a step") && u.Count == 1
	}) {
		t.Errorf("a step that lacks records is not reported: %+v", rep.Unproved)
	}
	w.proved()
}

// wholeSteps holds the places of the records in their steps to be right; so many steps may lack records.
func (w *world) wholeSteps(cut int) {
	w.t.Helper()
	of := map[string][]broker.Stored{}
	for _, m := range w.messages(broker.StreamSummaries) {
		token := m.Subject[strings.LastIndexByte(m.Subject, '.'):]
		of[token] = append(of[token], m)
	}
	for token, list := range of {
		for i := 0; i < len(list); {
			first, n := headOf(w.t, list[i]), 1
			size := list[i].Header.Get(events.StepSize)
			for ; strconv.Itoa(n) != size && i+n < len(list); n++ {
				next := headOf(w.t, list[i+n])
				if next.Step != (events.Step{Cause: first.Step.Cause, Index: n + 1}) || next.EffectiveSeq != first.EffectiveSeq || list[i+n].Header.Get(events.StepSize) != size {
					break
				}
			}
			if strconv.Itoa(n) != size {
				cut--
			}
			if first.Step.Index != 1 || cut < 0 {
				w.t.Fatalf("record %d of %s: %+v, and %d of %s records", i, token, first.Step, n, size)
			}
			i += n
		}
	}
}

// A record that says another cause or another place than it has is found, although its chain is in order.
func TestTamperedSteps(t *testing.T) {
	race.Slow(t)
	t.Parallel()
	w := everyCause(t)
	original := w.messages(broker.StreamSummaries)
	done := map[string]int{}
	for i, m := range original {
		head := headOf(t, m)
		typ := m.Header.Get("ce-type")
		var changes []map[string]any
		for _, cause := range stepCauses {
			if what := fmt.Sprintf("%s %s as %s", typ, head.Step.Cause, cause); cause != head.Step.Cause && !mayPass(m, head.Step.Cause, cause) && done[what] < 1 {
				done[what]++
				changes = append(changes, map[string]any{"step.cause": string(cause)})
			}
		}
		if what := "index " + typ; done[what] < 1 {
			done[what]++
			changes = append(changes, map[string]any{"step.index": head.Step.Index + 1})
		}
		for _, change := range changes {
			list := slices.Clone(original)
			list[i].Data = set(t, m.Data, change)
			reseal(t, list)
			w.rewrite(broker.StreamSummaries, list)
			for _, rules := range []bool{true, false} {
				if rep := w.replay(func(o *audit.Options) { o.Rules = rules }); len(rep.Findings) == 0 {
					t.Errorf("rules %t: %s of %+v with %v is not found: %s", rules, typ, head.Step, change, m.Data)
				}
			}
		}
	}
	t.Logf("%d kinds of changes", len(done))
}

// mayPass reports whether a record could as well have been made by a recovery in the place of the step that did, or by a request in
// that of a recovery: nothing but the records that a step lacks would tell.
func mayPass(m broker.Stored, was, cause events.StepCause) bool {
	if was == events.ByClaim {
		return false
	}
	if cause != events.ByRecovery && (was != events.ByRecovery || cause != events.ByRequest) {
		return false
	}
	data := string(m.Data)
	switch m.Header.Get("ce-type") {
	case string(events.UsageRecorded):
		return true
	case string(events.SummaryInvalidated):
		return strings.Contains(data, `"reason":"source_`)
	}
	return strings.Contains(data, `"kind":"compaction"`) && !strings.Contains(data, `"slot":"leaf:`)
}

// Wherever in a step a server has lost the end of SUMMARIES, a processor without a store completes it: an event's step with the
// same records.
func TestStepsCutShort(t *testing.T) {
	race.Slow(t)
	w := newWorld(t)
	w.varied(26)
	original := w.messages(broker.StreamSummaries)
	tried := map[events.StepCause]int{}
	for i, m := range original {
		head := headOf(t, m)
		size, _ := strconv.Atoi(m.Header.Get(events.StepSize))
		if head.Step.Index == size {
			continue
		}
		if tried[head.Step.Cause]++; tried[head.Step.Cause]%race.Fewer(8, 2) != 0 {
			continue
		}
		w.rewrite(broker.StreamSummaries, original[:i+1])
		w.config.DataDir = t.TempDir()
		w.run(func(*processor.Processor) {})
		list := w.messages(broker.StreamSummaries)
		if head.Step.Cause == events.ByEvent {
			for n, want := range original[i+1 : i+1+size-head.Step.Index] {
				if !slices.ContainsFunc(list[i+1:], func(got broker.Stored) bool { return string(got.Data) == string(want.Data) }) {
					t.Errorf("without record %d of the step of event %d: %s is not there", head.Step.Index+1+n, head.EventSeq, want.Header.Get("ce-id"))
				}
			}
		}
		w.wholeSteps(0)
		w.proved()
		if t.Failed() {
			return
		}
	}
	if tried[events.ByEvent] < 10 {
		t.Errorf("%v records end within a step: the test needs more", tried)
	}
}

// The number of a step's records is no part of the chain: whatever it says, a store is made again from whole steps as it was, and
// nothing is decided that is on record.
func TestStepSizesThatAreWrong(t *testing.T) {
	race.Slow(t)
	w := newWorld(t)
	w.varied(16)
	original, records := w.messages(broker.StreamSummaries), len(w.records())
	for _, size := range []string{"", "0", "-1", "7", "9999999999999999999", "many"} {
		list := slices.Clone(original)
		for i := range list {
			list[i].Header = clone(list[i].Header, list[i].Header.Get("ce-id"))
			if list[i].Header[events.StepSize] = []string{size}; size == "" {
				delete(list[i].Header, events.StepSize)
			}
		}
		w.rewrite(broker.StreamSummaries, list)
		w.config.DataDir = t.TempDir()
		w.run(func(*processor.Processor) {})
		if n := len(w.records()); n != records {
			t.Errorf("size %q: %d records, want %d as before", size, n, records)
		}
		w.proved()
	}
}

// The last record of a step cut short may be unreadable as well, such as a newer program's: it is left out, and work goes on.
func TestStepCutShortBehindAnUnreadableRecord(t *testing.T) {
	w := newWorld(t)
	w.varied(26)
	list := w.messages(broker.StreamSummaries)
	last := slices.IndexFunc(list, func(m broker.Stored) bool {
		size, _ := strconv.Atoi(m.Header.Get(events.StepSize))
		return m.Header.Get("ce-type") == string(events.SummaryCreated) && headOf(t, m).Step.Index < size
	})
	if last < 0 {
		t.Fatal("no summary has records of its step behind it")
	}
	list = list[:last+1]
	list[last].Data = set(t, list[last].Data, map[string]any{"kind": 7})
	reseal(t, list)
	w.rewrite(broker.StreamSummaries, list)
	w.config.DataDir = t.TempDir()
	w.run(func(*processor.Processor) {})
	if rep := w.replay(func(*audit.Options) {}); !slices.ContainsFunc(rep.Findings, func(f audit.Finding) bool { return f.Check == audit.CheckReadable }) {
		t.Errorf("the unreadable record is not found: %+v", rep.Findings)
	}
}
