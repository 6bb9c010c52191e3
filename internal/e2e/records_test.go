package e2e_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/tiktoken-go/tokenizer"
)

// tokensOf counts with a tokenizer that is not ours.
func tokensOf(t testing.TB, s string) int64 {
	t.Helper()
	codec, err := tokenizer.Get(tokenizer.O200kBase)
	if err != nil {
		t.Fatal(err)
	}
	n, err := codec.Count(s)
	if err != nil {
		t.Fatal(err)
	}
	return int64(n)
}

// equal holds members of an object against values; numbers are given as int.
func equal(t testing.TB, what string, got object, want object) {
	t.Helper()
	for key, v := range want {
		have, ok := got[key]
		if !ok {
			t.Errorf("%s: no %s", what, key)
			continue
		}
		if fmt.Sprint(have) != fmt.Sprint(v) || (have == nil) != (v == nil) {
			t.Errorf("%s: %s is %v, want %v", what, key, have, v)
		}
	}
}

func created(s stored) bool { return strings.HasPrefix(s.subject, "summary.created.") }

func TestTheRecordOfAToolOutput(t *testing.T) {
	w := begin(t, "partitions: 4\n")
	const name = "re cord.é"
	w.message(name, "m1", "find the handlers")
	call := w.say("thread.message", name, object{
		"message_id": "m2", "role": "assistant", "content": nil,
		"tool_calls": []object{{"id": "c1", "name": "grep", "arguments": object{"pattern": "handler"}}},
	})
	out := output("é")
	seq := w.say("tool.result", name, object{
		"message_id": "m3", "tool_call_id": "c1", "tool_name": "grep", "arguments": object{"pattern": "handler"},
		"content": out, "exit_code": 0, "agent_id": "agent",
	})
	if call >= seq {
		t.Fatal("the server numbers backwards")
	}
	records := w.records(name, created)
	m := records[len(records)-1]
	holdEnvelope(t, m, "summary.created", name)
	valid(t, "summary.created", m.body)
	holdChain(t, records)
	got := m.data(t)
	id := text(t, got, "id")
	if want := "summary.created/" + id; m.header.Get("ce-id") != want {
		t.Errorf("ce-id %q, want %q", m.header.Get("ce-id"), want)
	}
	content := text(t, got, "content")
	equal(t, "record", got, object{
		"thread_id": name, "event_seq": seq, "effective_seq": seq, "chain_seq": 1,
		"as_of_message_id": "m3", "kind": "tool_result", "slot": "tool:m3", "level": 0, "current": true,
		"version": 1, "replaces": nil, "source_message_ids": []any{"m3"}, "source_summary_ids": []any{},
		"token_count_before": tokensOf(t, out), "token_count_after": tokensOf(t, content), "tokenizer": "o200k_base",
		"chars_before": utf8.RuneCountInString(out), "chars_after": utf8.RuneCountInString(content),
		"method": "rules", "fallback_reason": nil, "provider": nil, "model": nil, "prompt_version": nil,
		"policy": "default", "policy_unresolved": nil, "expires_at": nil,
	})
	equal(t, "trigger", got["trigger"].(object), object{"reason": "tool_output_chars", "threshold": 1500, "value": utf8.RuneCountInString(out)})
	equal(t, "usage", got["usage"].(object), object{"input_tokens": 0, "output_tokens": 0, "cached_input_tokens": 0, "cache_creation_input_tokens": 0, "attempts": 0, "latency_ms": 0, "source": nil})
	equal(t, "cost", got["cost"].(object), object{"amount_microusd": 0, "currency": "USD"})
	tool := got["tool_summary"].(object)
	equal(t, "tool_summary", tool, object{"tool_name": "grep", "status": "success"})
	if text(t, tool, "category") == "" || len(tool["key_facts"].([]any)) == 0 {
		t.Errorf("tool_summary says little: %v", tool)
	}
	if n := utf8.RuneCountInString(content); n > 800 || n == 0 {
		t.Errorf("the summary has %d characters", n)
	}
	if text(t, got, "rules_version") == "" || !strings.HasPrefix(text(t, got, "source_digest"), "sha256:") || text(t, got, "policy_fingerprint") == "" {
		t.Errorf("provenance is missing: %s", m.body)
	}
	at, err := time.Parse(time.RFC3339Nano, text(t, got, "created_at"))
	if err != nil || time.Since(at) > patience || time.Since(at) < 0 {
		t.Errorf("created_at %v: %v", got["created_at"], err)
	}
	if stream, err := w.js.Stream(within(t), "EVENTS"); err == nil {
		event, err := stream.GetMsg(within(t), seq)
		if err != nil || !event.Time.Equal(at) {
			t.Errorf("created_at %v is not the event's stream time %v (%v)", at, event.Time, err)
		}
		if want := fmt.Sprint(got["partition"]) + ".tool.result." + token(name); event.Subject != want {
			t.Errorf("stored as %s, want %s", event.Subject, want)
		}
	}
}

func TestAnEditInvalidatesAndRegenerates(t *testing.T) {
	w := begin(t, "partitions: 2\n")
	w.result("t", "m1", output("a"))
	edit := w.edit("t", "m1", output("b"))
	w.edit("t", "m1", "too small for a summary")
	w.edit("t", "m1", output("c"))
	last := w.say("message.edited", "t", object{"message_id": "m1", "deleted": true})
	w.result("t", "sentinel", output("s"))
	records := w.records("t", func(s stored) bool { return created(s) && s.data(t)["slot"] == "tool:sentinel" })
	holdChain(t, records)
	var story []string
	for _, m := range records {
		typ := m.header.Get("ce-type")
		valid(t, typ, m.body)
		holdEnvelope(t, m, typ, "t")
		data := m.data(t)
		story = append(story, strings.TrimPrefix(typ, "summary.")+fmt.Sprint(" ", data["version"], data["action"], data["reason"]))
	}
	want := []string{
		"created 1<nil> <nil>",
		"invalidated <nil>regeneratesource_edited", "created 2<nil> <nil>",
		"invalidated <nil>regeneratesource_edited",
		"created 3<nil> <nil>",
		"invalidated <nil>trimsource_deleted",
		"created 1<nil> <nil>",
	}
	if !slices.Equal(story, want) {
		t.Fatalf("records\n%s\nwant\n%s", strings.Join(story, "\n"), strings.Join(want, "\n"))
	}
	first, stale, second := records[0].data(t), records[1].data(t), records[2].data(t)
	equal(t, "invalidated", stale, object{"summary_id": first["id"], "kind": "tool_result", "event_seq": edit, "effective_seq": edit})
	equal(t, "cause", stale["cause"].(object), object{"message_id": "m1", "summary_id": nil, "setting": nil, "old": nil, "new": nil})
	equal(t, "second", second, object{"replaces": first["id"], "event_seq": edit})
	equal(t, "trigger", second["trigger"].(object), object{"reason": "regenerated"})
	if id := records[1].header.Get("ce-id"); id != "summary.invalidated/"+text(t, first, "id") {
		t.Errorf("ce-id %q", id)
	}
	if first["source_digest"] == second["source_digest"] {
		t.Error("another revision, and the same source digest")
	}
	w.counters("t", last, map[string]int64{"summaries_active": 1, "edits": 4})
	for i, status := range map[int]string{0: "replaced", 2: "replaced", 4: "stale", 6: "active"} {
		got := w.answer("precis.summary.get."+text(t, records[i].data(t), "id"), nil)
		if got["status"] != status {
			t.Errorf("record %d is %v, want %s", i, got["status"], status)
		}
	}
}

func TestConfigurationIsOnRecord(t *testing.T) {
	w := begin(t, "partitions: 3\nlimits: {event_bytes: 4096, pending_edit_events: 7}\n")
	w.eventually("config.applied", func() error {
		for p := range 3 {
			if n := len(w.configured(p)); n != 1 {
				return fmt.Errorf("partition %d has %d records", p, n)
			}
		}
		return nil
	})
	for p := range 3 {
		records := w.own(p)
		holdChain(t, records)
		first, m := records[0], records[1]
		holdAttributes(t, first, "partition.claimed")
		valid(t, "partition.claimed", first.body)
		claimed := first.data(t)
		equal(t, "partition.claimed", claimed, object{"thread_id": nil, "partition": p, "event_seq": 0, "effective_seq": 0, "epoch": 1, "program_version": "1.2.3"})
		equal(t, "partition.claimed", claimed, object{"fingerprint": m.data(t)["fingerprint"]})
		if want := fmt.Sprintf("partition.claimed.=p%d", p); first.subject != want {
			t.Errorf("on %s, want %s", first.subject, want)
		}
		holdAttributes(t, m, "config.applied")
		valid(t, "config.applied", m.body)
		got := m.data(t)
		equal(t, "config.applied", got, object{"thread_id": nil, "partition": p, "event_seq": 0, "effective_seq": 0, "program_version": "1.2.3"})
		equal(t, "limits", got["limits"].(object), object{"event_bytes": 4096, "pending_edit_events": 7})
		if want := fmt.Sprintf("config.applied.=p%d", p); m.subject != want {
			t.Errorf("on %s, want %s", m.subject, want)
		}
		if want := fmt.Sprintf("config.applied/%d/0", p); m.header.Get("ce-id") != want {
			t.Errorf("ce-id %s, want %s", m.header.Get("ce-id"), want)
		}
	}
}

func TestPolicies(t *testing.T) {
	w := begin(t, `
partitions: 2
policies:
  - name: coders
    match: {agent_id: "coder-*"}
    tool_output: {over_chars: 100}
    tokenizer: estimate
  - name: quiet
    match: {thread_id: "quiet*"}
    enabled: false
  - name: rest
    tool_output: {over_chars: 3000}
`)
	small, large := strings.Repeat("a line of words\n", 100), output("x")
	for _, c := range []struct {
		thread, agent string
		names         []string // policies that the events name, one result each; "" names none
		content       string
		want          []string // policy of each summary, and what was not resolved
	}{
		{"p1", "coder-1", []string{""}, small, []string{"coders"}},
		{"p2", "reader", []string{""}, small, nil},
		{"p3", "reader", []string{""}, large, []string{"rest"}},
		{"quiet one", "reader", []string{""}, large, nil},
		{"quiet two", "coder-9", []string{""}, large, []string{"coders"}},
		{"p4", "team/reader", []string{""}, large, []string{"rest"}},
		{"p5", "coder-1", []string{"nobody knows"}, large, []string{"coders nobody knows"}},
		{"p6", "reader", []string{"coders", "", "rest", "gone", ""}, large, []string{"coders", "coders", "rest", "rest gone", "rest gone"}},
		{"p7", "reader", []string{"quiet", "", "coders"}, large, []string{"coders"}},
	} {
		t.Run(c.thread, func(t *testing.T) {
			var seq uint64
			for j, name := range c.names {
				data := object{"message_id": fmt.Sprint("m", j), "tool_name": "bash", "content": c.content, "agent_id": c.agent}
				if name != "" {
					data["policy"] = name
				}
				seq = w.say("tool.result", c.thread, data)
			}
			w.counters(c.thread, seq, map[string]int64{"tool_results": int64(len(c.names)), "rejected": 0, "summaries_active": int64(len(c.want))})
			if len(c.want) == 0 {
				return
			}
			n := 0
			for _, m := range w.records(c.thread, func(stored) bool { n++; return n == len(c.want) }) {
				data := m.data(t)
				got := text(t, data, "policy")
				if data["policy_unresolved"] != nil {
					got += " " + text(t, data, "policy_unresolved")
				}
				if i := int(number(t, data, "chain_seq")) - 1; got != c.want[i] {
					t.Errorf("summary %d by %q, want %q", i, got, c.want[i])
				}
			}
		})
	}
}

// The same events in the same order have the same summaries under the same ids, wherever they are made.
func TestIDsAreTheSameEverywhere(t *testing.T) {
	var ids [2][]string
	for i := range ids {
		w := begin(t, fmt.Sprintf("partitions: %d\n", 1+3*i))
		if i == 1 { // other work before and between moves no id
			w.result("other", "m", output("other"))
		}
		for n := range 5 {
			w.result("t", fmt.Sprint("m", n), output(fmt.Sprint(n)))
			w.message("t", fmt.Sprint("u", n), "go on")
			w.edit("t", fmt.Sprint("m", n), output("edited"))
		}
		n := 0
		for _, m := range w.records("t", func(stored) bool { n++; return n == 15 }) {
			ids[i] = append(ids[i], m.header.Get("ce-id"))
		}
		w.end()
	}
	if !slices.Equal(ids[0], ids[1]) {
		t.Errorf("ids differ:\n%s\n\n%s", strings.Join(ids[0], "\n"), strings.Join(ids[1], "\n"))
	}
	if s := slices.Compact(slices.Sorted(slices.Values(ids[0]))); len(s) != 15 {
		t.Errorf("%d ids of 15 records", len(s))
	}
}
