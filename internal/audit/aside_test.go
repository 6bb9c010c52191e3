package audit_test

import (
	"fmt"
	"slices"
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

// What a record says beside the work itself is held against the thread, the job, the calls, the clocks and the configurations on
// record, also where the chain is made anew behind it.
func TestTamperedAsides(t *testing.T) {
	race.Slow(t)
	w := newWorld(t)
	ttl := &w.config.Policies[1].Staleness
	ttl.On, ttl.TTL = append(slices.Clone(ttl.On), summarize.StaleTTL), 100*time.Hour
	w.story()
	w.run(func(p *processor.Processor) { w.ask(p, events.KindHistory) })
	clean(t, w.replay())
	original := w.messages(broker.StreamSummaries)
	byModel := nth(t, original, events.SummaryCreated, "model", 0)
	began := nth(t, original, events.SummaryStarted, "model", 0)
	paid := nth(t, original, events.UsageRecorded, "model", 0)
	tool := nth(t, original, events.SummaryCreated, "rules", 0)
	asked := len(original) - 1
	for ; original[asked].Subject != string(events.SummaryCreated)+".long"; asked-- {
	}
	config := slices.IndexFunc(original, func(m broker.Stored) bool { return strings.HasPrefix(m.Subject, string(events.ConfigApplied)) })
	claimed := slices.IndexFunc(original, func(m broker.Stored) bool { return strings.HasPrefix(m.Subject, string(events.PartitionClaimed)) })
	earlier, later := "2020-02-02T02:02:02Z", "2037-02-02T02:02:02Z"
	for i, c := range []struct {
		at     int
		change map[string]any
		check  string
	}{
		{byModel, map[string]any{"as_of_message_id": "m0"}, audit.CheckTrigger},
		{byModel, map[string]any{"as_of_message_id": nil}, audit.CheckTrigger},
		{byModel, map[string]any{"policy_unresolved": "other"}, audit.CheckTrigger},
		{byModel, map[string]any{"created_at": earlier, "expires_at": "2020-02-06T06:02:02Z"}, audit.CheckTimes},
		{byModel, map[string]any{"created_at": later, "expires_at": "2037-02-06T06:02:02Z"}, audit.CheckTimes},
		{byModel, map[string]any{"expires_at": later}, audit.CheckTimes},
		{byModel, map[string]any{"expires_at": nil}, audit.CheckTimes},
		{byModel, map[string]any{"event_at": earlier}, audit.CheckEvent},
		{byModel, map[string]any{"event_at": nil}, audit.CheckEvent},
		{byModel, map[string]any{"usage.latency_ms": 86400000}, audit.CheckCost},
		{byModel, map[string]any{"usage.attempts": 0}, audit.CheckCost},
		{byModel, map[string]any{"usage.cached_input_tokens": 7}, audit.CheckCost},
		{byModel, map[string]any{"usage.cache_creation_input_tokens": 7}, audit.CheckCost},
		{byModel, map[string]any{"usage.source": "estimate"}, audit.CheckCost},
		{byModel, map[string]any{"cost.currency": "EUR"}, audit.CheckCost},
		{byModel, map[string]any{"cost.price_table": nil}, audit.CheckCost},
		{byModel, map[string]any{"chars_before": 7}, audit.CheckSources},
		{byModel, map[string]any{"token_count_before": 7}, audit.CheckSources},
		{began, map[string]any{"model": "gpt-4.1"}, audit.CheckReadable},
		{began, map[string]any{"event_at": earlier}, audit.CheckEvent},
		{paid, map[string]any{"event_seq": 1}, audit.CheckJob},
		{paid, map[string]any{"event_at": earlier}, audit.CheckEvent},
		{paid, map[string]any{"outcome": "lucky"}, audit.CheckJob},
		{paid, map[string]any{"usage.latency_ms": -1}, audit.CheckCost},
		{paid, map[string]any{"usage.latency_ms": 864000000}, audit.CheckTimes},
		{paid, map[string]any{"usage.cached_input_tokens": 7}, audit.CheckCost},
		{paid, map[string]any{"usage.attempts": 2}, audit.CheckCost},
		{paid, map[string]any{"usage.source": "guess"}, audit.CheckCost},
		{paid, map[string]any{"cost.currency": "EUR"}, audit.CheckCost},
		{tool, map[string]any{"usage.latency_ms": 1}, audit.CheckCost},
		{tool, map[string]any{"cost.currency": "EUR"}, audit.CheckCost},
		{tool, map[string]any{"event_at": nil}, audit.CheckEvent},
		{asked, map[string]any{"as_of_message_id": "l1"}, audit.CheckTrigger},
		{asked, map[string]any{"policy_unresolved": "other"}, audit.CheckTrigger},
		{asked, map[string]any{"created_at": earlier}, audit.CheckTimes},
		{config, map[string]any{"applied_at": later}, audit.CheckTimes},
		{config, map[string]any{"event_at": later}, audit.CheckEvent},
		{claimed, map[string]any{"owner": ""}, audit.CheckReadable},
		{claimed, map[string]any{"rules_version": "rules-1"}, audit.CheckConfig},
		{claimed, map[string]any{"event_at": later}, audit.CheckEvent},
	} {
		t.Run(fmt.Sprintf("%d %s", i, c.check), func(t *testing.T) {
			list := slices.Clone(original)
			list[c.at].Data = set(t, list[c.at].Data, c.change)
			reseal(t, list)
			w.rewrite(broker.StreamSummaries, list)
			named(t, w.replay(), c.check, summaryIn(original, c.at))
			if t.Failed() {
				t.Log(c.change)
			}
		})
	}
	for _, member := range []string{"program_version", "fingerprint"} { // a processor may have ended before it put its configuration in force
		list := slices.Clone(original)
		list[claimed].Data = set(t, list[claimed].Data, map[string]any{member: "9"})
		reseal(t, list)
		w.rewrite(broker.StreamSummaries, list)
		if n := doubts(w.replay(), "a claim under a configuration"); n != 1 {
			t.Errorf("%s: %d claims are not provable", member, n)
		}
	}
	t.Run("a time before the event, in the envelope too", func(t *testing.T) {
		list := slices.Clone(original)
		list[byModel].Data = set(t, list[byModel].Data, map[string]any{"created_at": earlier, "expires_at": "2020-02-06T06:02:02Z"})
		list[byModel].Header = clone(list[byModel].Header, list[byModel].Header.Get("ce-id"))
		list[byModel].Header["ce-time"] = []string{earlier}
		reseal(t, list)
		w.rewrite(broker.StreamSummaries, list)
		named(t, w.replay(), audit.CheckTimes, summaryIn(original, byModel))
	})
	w.rewrite(broker.StreamSummaries, original)
	clean(t, w.replay())
}

// An accepted loss that can't be read, or says something else than those of other partitions, is a finding like any other.
func TestTamperedLoss(t *testing.T) {
	race.Slow(t)
	w := newWorld(t)
	w.story()
	list := w.messages(broker.StreamSummaries)
	loss := map[string]any{
		"events_seq": 40, "events_digest": nil, "applied_seq": 40, "rejected_seq": 9, "records_voided": 0, "accepted_at": "2026-02-02T02:02:02Z",
	}
	var accepted []int
	for _, m := range slices.Clone(list) {
		if !strings.HasPrefix(m.Subject, string(events.ConfigApplied)) {
			continue
		}
		seq := uint64(70) // behind all events
		change := map[string]any{"accepted_loss": loss, "applied_at": "2026-02-02T02:02:02Z", "event_seq": seq, "effective_seq": seq, "step.cause": "recovery"}
		change["accepted_loss"].(map[string]any)["events_seq"] = seq
		m.Data = set(t, m.Data, change)
		var head events.Head
		if err := json.Unmarshal(m.Data, &head); err != nil {
			t.Fatal(err)
		}
		m.Header = clone(m.Header, events.PositionEventID(events.ConfigApplied, head.Partition, seq))
		accepted = append(accepted, len(list))
		list = append(list, m)
	}
	if len(accepted) != w.config.Partitions+1 {
		t.Fatalf("%d configurations", len(accepted))
	}
	reseal(t, list)
	w.rewrite(broker.StreamSummaries, list)
	before := w.replay()
	for _, f := range before.Findings {
		if f.Check == audit.CheckConfig || f.Check == audit.CheckReadable {
			t.Errorf("%+v", f)
		}
	}
	for name, change := range map[string]map[string]any{
		"unreadable": {"accepted_loss": "none"}, "a member unreadable": {"accepted_loss.events_seq": "seven"},
		"removed": {"accepted_loss": nil}, "other events": {"accepted_loss.events_seq": 7},
		"other rejections": {"accepted_loss.rejected_seq": 7}, "more records": {"accepted_loss.records_voided": 7}, "another time": {"accepted_loss.accepted_at": "2026-02-02T02:02:03Z"},
	} {
		t.Run(name, func(t *testing.T) {
			altered := slices.Clone(list)
			at := accepted[2]
			altered[at].Data = set(t, altered[at].Data, change)
			reseal(t, altered)
			w.rewrite(broker.StreamSummaries, altered)
			named(t, w.replay(), audit.CheckConfig, "")
		})
	}
}
