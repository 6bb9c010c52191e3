package e2e_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
)

func TestThreadCountersByHand(t *testing.T) {
	w := begin(t, "partitions: 2\n")
	large := output("é") + "🧵"
	w.message("h", "m1", "héllo 🧵")
	w.say("thread.message", "h", object{
		"message_id": "m2", "role": "assistant", "content": []object{{"type": "text", "text": "one"}, {"type": "text", "text": "two"}},
		"tool_calls": []object{{"id": "c1", "name": "ignored", "arguments": `{"as": "it is"}`}, {"id": "c2", "name": "f", "arguments": object{"b": 1, "a": "é"}}},
		"usage":      object{"input_tokens": 1000, "output_tokens": 10},
	})
	w.say("tool.result", "h", object{"message_id": "m3", "tool_call_id": "c1", "tool_name": "ignored", "arguments": object{"as": "it is"}, "content": large})
	w.say("thread.message", "h", object{"message_id": "m4", "role": "tool", "tool_call_id": "c2", "content": "done"})
	w.message("h", "m5", "to be edited")
	w.edit("h", "m5", "edited")
	w.message("h", "m6", "to be deleted")
	w.say("message.edited", "h", object{"message_id": "m6", "deleted": true})
	w.message("h", "m1", "héllo 🧵") // a duplicate
	w.message("h", "m1", "another") // a conflict
	w.publish("thread.message.h", nil, []byte("no JSON"))
	seq := w.edit("h", "m7", "of nothing, waiting")

	texts := []string{"héllo 🧵", "one\ntwo", `{"as": "it is"}`, `{"a":"é","b":1}`, large, "done", "edited"}
	var tokens, bytes int64
	for _, s := range texts {
		tokens += tokensOf(t, s)
		bytes += int64(len(s))
	}
	records := w.records("h", created)
	sum := records[len(records)-1].data(t)
	if got := w.thread("h", seq); fmt.Sprint(got["tokens_live"]) != fmt.Sprint(tokens) {
		t.Errorf("%v live tokens, want %d: the output stands whole until the assistant has read it", got["tokens_live"], tokens)
	}
	seq = w.say("thread.message", "h", object{"message_id": "m8", "role": "assistant", "content": "read"})
	tokens, bytes = tokens+tokensOf(t, "read"), bytes+4
	live := tokens - tokensOf(t, large) + tokensOf(t, text(t, sum, "content"))
	w.counters("h", seq, map[string]int64{
		"messages": 5, "tool_results": 2, "edits": 2, "tokens_total": tokens, "bytes": bytes, "tokens_live": live,
		"summaries_active": 1, "summaries_stale": 0, "llm_input_tokens": 0, "llm_output_tokens": 0, "cost_microusd": 0,
		"event_seq": int64(seq), "duplicates": 1, "rejected": 2,
	})
	if got := w.thread("h", seq); got["chain_head"] != sum["chain"] {
		t.Errorf("chain_head %v, want %v", got["chain_head"], sum["chain"])
	}
}

func TestServiceErrors(t *testing.T) {
	w := begin(t, "partitions: 2\n")
	seq := w.message("t", "m1", "one\ntwo\nthree\n")
	w.thread("t", seq)
	long := strings.Repeat("\U0010ffff", 1<<20) // more than a message holds, quoted
	for _, c := range []struct {
		subject string
		body    any
		code    string
	}{
		{"precis.thread.get.nobody", nil, "404"},
		{"precis.thread.get.=61", nil, "400"},
		{"precis.thread.get.a=2eb", nil, "400"},
		{"precis.thread.get.=", nil, "400"},
		{"precis.thread.get." + strings.Repeat("x", 257), nil, "400"},
		{"precis.thread.get.t", []byte("no JSON"), "400"},
		{"precis.thread.get.t", []byte("[]"), "400"},
		{"precis.thread.get.t", object{"min_event_seq": "1"}, "400"},
		{"precis.thread.get.t", object{"min_event_seq": -1}, "400"},
		{"precis.message.get.t", nil, "400"},
		{"precis.message.get.t", object{"message_id": 5}, "400"},
		{"precis.message.get.t", object{"message_id": ""}, "400"},
		{"precis.message.get.t", object{"message_id": "m1", "revision": -1}, "400"},
		{"precis.message.get.t", object{"message_id": "m1", "revision": 1}, "404"},
		{"precis.message.get.t", object{"message_id": "m1", "revision": uint64(1) << 63}, "404"},
		{"precis.message.get.t", object{"message_id": "m1", "lines": []int{0, 1}}, "400"},
		{"precis.message.get.t", object{"message_id": "m1", "lines": []int{2, 1}}, "400"},
		{"precis.message.get.t", object{"message_id": "m1", "lines": []int{1}}, "400"},
		{"precis.message.get.t", object{"message_id": "m1", "lines": []int{1, 2, 3}}, "400"},
		{"precis.message.get.t", object{"message_id": "m1", "lines": "1-2"}, "400"},
		{"precis.message.get.t", object{"message_id": "m2"}, "404"},
		{"precis.message.get.nobody", object{"message_id": "m1"}, "404"},
		{"precis.message.get.t", object{"message_id": strings.Repeat("x", 1000)}, "404"},
		{"precis.message.get.t", object{"message_id": long}, "404"},
		{"precis.thread.context.t", object{"format": long}, "400"},
		{"precis.thread.context.t", object{long: 1}, "400"},
		{"precis.thread.summarize.t", object{"kind": long}, "400"},
		{"precis.summary.get.sum_0123", nil, "404"},
		{"precis.summary.get.=", nil, "404"},
		{"precis.summary.get." + strings.Repeat("y", 4000), nil, "404"},
	} {
		r := w.ask(c.subject, c.body)
		if r.code != c.code || r.why == "" {
			t.Errorf("%.60s %.200v: %q %.200q, want %s", c.subject, c.body, r.code, r.why, c.code)
		}
		if strings.ContainsAny(r.why, "\r\n") {
			t.Errorf("%.60s: %q breaks the line", c.subject, r.why)
		}
	}
}

// A typo must not read as "no limit".
func TestServiceRefusesWhatItDoesNotKnow(t *testing.T) {
	w := begin(t, "partitions: 2\n")
	seq := w.message("t", "m1", "x")
	w.thread("t", seq)
	if got := w.answer("precis.message.get.t", object{"message_id": "m1", "revision": nil, "lines": nil}); got["content"] != "x" {
		t.Errorf("answer %v", got)
	}
	for subject, c := range map[string]struct {
		body object
		why  string
	}{
		"precis.message.get.t":      {object{"message_id": "m1", "line": []int{1, 1}}, `unknown member "line": did you mean "lines"?`},
		"precis.thread.context.t":   {object{"max_token": 3}, `unknown member "max_token": did you mean "max_tokens"?`},
		"precis.thread.get.t":       {object{"min_event_sq": 3}, `unknown member "min_event_sq": did you mean "min_event_seq"?`},
		"precis.thread.summarize.t": {object{"knd": "history"}, `unknown member "knd": did you mean "kind"?`},
		"precis.summary.get.sum_x":  {object{"text": true}, `unknown member "text": the request has no members`},
	} {
		if r := w.ask(subject, c.body); r.code != "400" || r.why != c.why {
			t.Errorf("%s: %s %s", subject, r.code, r.why)
		}
	}
}

func TestMessageLinesAndRevisions(t *testing.T) {
	w := begin(t, "partitions: 2\n")
	for i, c := range []struct {
		content  string
		from, to int
		want     string
		lines    string
		total    int64
	}{
		{"one\ntwo\nthree", 1, 1, "one\n", "[1 1]", 3},
		{"one\ntwo\nthree", 2, 3, "two\nthree", "[2 3]", 3},
		{"one\ntwo\nthree\n", 3, 99, "three\n", "[3 3]", 3},
		{"one\r\ntwo", 1, 1, "one\r\n", "[1 1]", 2},
		{"one", 2, 3, "", "[]", 1},
		{"", 1, 1, "", "[1 1]", 1},
		{"\n\n", 2, 2, "\n", "[2 2]", 2},
	} {
		name := fmt.Sprint("lines ", i)
		w.thread(name, w.message(name, "m", c.content))
		got := w.answer("precis.message.get."+token(name), object{"message_id": "m", "lines": []int{c.from, c.to}})
		if got["content"] != c.want || fmt.Sprint(got["lines"]) != c.lines || number(t, got, "lines_total") != c.total {
			t.Errorf("lines %d to %d of %q: %v", c.from, c.to, c.content, got)
		}
	}
	w.message("r", "m", "zero")
	w.edit("r", "m", "one")
	w.say("message.edited", "r", object{"message_id": "m", "deleted": true})
	w.thread("r", w.edit("r", "m", "three"))
	for revision, want := range []any{"zero", "one", nil, "three"} {
		got := w.answer("precis.message.get.r", object{"message_id": "m", "revision": revision})
		if got["content"] != want || number(t, got, "revision") != int64(revision) || got["deleted"] != (want == nil) {
			t.Errorf("revision %d: %v", revision, got)
		}
	}
}

// An edit changes what a message says, and nothing else of it; a deletion takes its calls too.
func TestEditedMessageKeepsItsCalls(t *testing.T) {
	w := begin(t, "partitions: 2\n")
	w.say("thread.message", "c", object{"message_id": "m", "role": "assistant", "content": "calling", "tool_calls": []object{{"id": "c1", "name": "ls", "arguments": object{}}}})
	w.say("tool.result", "c", object{"message_id": "r", "tool_call_id": "c1", "tool_name": "ls", "content": "a b"})
	w.say("thread.message", "c", object{"message_id": "bare", "role": "tool", "tool_call_id": "c1", "content": "a b"})
	w.edit("c", "m", "calling now")
	w.edit("c", "bare", "a")
	w.thread("c", w.edit("c", "r", "a"))
	called := w.answer("precis.message.get.c", object{"message_id": "m", "revision": 0})
	if got := w.answer("precis.message.get.c", object{"message_id": "m"}); string(encode(t, got["tool_calls"])) != string(encode(t, called["tool_calls"])) || got["content"] != "calling now" {
		t.Errorf("edited: %v, before %v", got, called)
	}
	if got := w.answer("precis.message.get.c", object{"message_id": "r"}); got["tool_name"] != "ls" || got["content"] != "a" {
		t.Errorf("edited: %v", got)
	}
	for _, revision := range []any{0, nil} {
		if got := w.answer("precis.message.get.c", object{"message_id": "bare", "revision": revision}); got["tool_name"] != "ls" {
			t.Errorf("a result that names no tool itself, revision %v: %v", revision, got)
		}
	}
	w.say("message.edited", "c", object{"message_id": "r", "deleted": true})
	w.thread("c", w.say("message.edited", "c", object{"message_id": "m", "deleted": true}))
	if got := w.answer("precis.message.get.c", object{"message_id": "r"}); got["tool_name"] != "ls" || got["content"] != nil {
		t.Errorf("deleted: %v", got)
	}
	if got := w.answer("precis.message.get.c", object{"message_id": "m"}); string(encode(t, got["tool_calls"])) != "null" && string(encode(t, got["tool_calls"])) != "[]" {
		t.Errorf("deleted: %v", got)
	}
}

// What is null or empty in a request is not given.
func TestRequestsOfTheDefault(t *testing.T) {
	w := begin(t, "partitions: 2\n")
	w.thread("t", w.message("t", "m1", "x"))
	want := string(encode(t, w.answer("precis.thread.context.t", nil)))
	for _, format := range []any{nil, "", "messages"} {
		if got := string(encode(t, w.answer("precis.thread.context.t", object{"format": format}))); got != want {
			t.Errorf("format %v: %s, want %s", format, got, want)
		}
	}
	for _, kind := range []any{nil, "", "compaction"} {
		if got := w.answer("precis.thread.summarize.t", object{"kind": kind}); got["kind"] != "compaction" {
			t.Errorf("kind %v: %v", kind, got)
		}
	}
}

// Where nothing is summarized on request, the answer says why.
func TestSummarizeSaysWhyNot(t *testing.T) {
	w := begin(t, "partitions: 2\npolicies: [{name: off, match: {agent_id: quiet}, enabled: false}, {name: default}]\n")
	w.thread("short", w.message("short", "m1", "x"))
	w.thread("off", w.say("thread.message", "off", object{"message_id": "m1", "role": "user", "content": "x", "agent_id": "quiet"}))
	for thread, want := range map[string]string{"short": "too_little", "off": "disabled"} {
		for _, kind := range []string{"compaction", "history"} {
			got := w.answer("precis.thread.summarize."+thread, object{"kind": kind})
			if kind == "history" && thread == "short" { // made of whatever is there
				if got["id"] == nil || got["reason"] != nil {
					t.Errorf("%s of %s: %v", kind, thread, got)
				}
				continue
			}
			if got["id"] != nil || got["reason"] != want {
				t.Errorf("%s of %s: %v, want %s", kind, thread, got, want)
			}
		}
	}
}

// An answer larger than the server takes says so, and parts of it can be had.
func TestAnswersTooLarge(t *testing.T) {
	w := begin(t, "partitions: 1\nlimits: {event_bytes: 8388608}\npolicies: [{name: default, tokenizer: estimate}]\n")
	const largest = 8<<20 - 10
	body := fmt.Sprintf(frame, `first\n`+strings.Repeat("x", largest-len(frame)+2-len(`first\n`)))
	w.thread("t", w.publish("thread.message.t", nil, []byte(body)))
	if r := w.ask("precis.message.get.t", object{"message_id": "m"}); r.code != "413" {
		t.Errorf("%d bytes, %q %s, want 413", len(r.body), r.code, r.why)
	}
	if got := w.answer("precis.message.get.t", object{"message_id": "m", "lines": []int{1, 1}}); got["content"] != "first\n" {
		t.Errorf("a line of it: %.100v", got)
	}
}

func TestMicroProtocol(t *testing.T) {
	w := begin(t, "partitions: 2\n")
	w.thread("t", w.message("t", "m", "x"))
	w.ask("precis.thread.get.nobody", nil)
	for _, verb := range []string{"PING", "INFO", "STATS"} {
		if got := w.answer("$SRV."+verb+".precis", nil); got["name"] != "precis" || got["version"] != "1.2.3" {
			t.Errorf("%s: %v", verb, got)
		}
	}
	var info micro.Info
	if err := json.Unmarshal(w.ask("$SRV.INFO.precis", nil).body, &info); err != nil {
		t.Fatal(err)
	}
	var subjects []string
	for _, e := range info.Endpoints {
		subjects = append(subjects, e.Subject)
	}
	for _, want := range []string{"precis.thread.get.*", "precis.message.get.*", "precis.summary.get.*"} {
		if !slices.Contains(subjects, want) {
			t.Errorf("no endpoint on %s: %v", want, subjects)
		}
	}
	var stats micro.Stats
	if err := json.Unmarshal(w.ask("$SRV.STATS.precis", nil).body, &stats); err != nil {
		t.Fatal(err)
	}
	counts, errs := map[string]int{}, map[string]int{}
	for _, e := range stats.Endpoints {
		counts[e.Subject], errs[e.Subject] = e.NumRequests, e.NumErrors
	}
	if counts["precis.thread.get.*"] < 2 || errs["precis.thread.get.*"] < 1 {
		t.Errorf("requests %v, errors %v", counts, errs)
	}
}

func TestFiftyClients(t *testing.T) {
	w := begin(t, "partitions: 4\n")
	var wg sync.WaitGroup
	for c := range 50 {
		wg.Go(func() {
			nc, err := nats.Connect(w.url)
			if err != nil {
				t.Error(err)
				return
			}
			defer nc.Close()
			name := fmt.Sprint("client ", c%10)
			for i := range 10 {
				if err := writeAndRead(t, nc, name, fmt.Sprint(c, "-", i)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	total := int64(0)
	for c := range 10 {
		total += number(t, w.thread(fmt.Sprint("client ", c), 0), "messages")
	}
	if total != 500 {
		t.Errorf("%d messages, want 500", total)
	}
}

// writeAndRead publishes a message and reads it back with the ack's sequence.
func writeAndRead(t *testing.T, nc *nats.Conn, thread, id string) error {
	ctx := within(t)
	ack, err := nc.RequestWithContext(ctx, "thread.message."+token(thread), encode(t, object{"message_id": id, "role": "user", "content": id}))
	if err != nil {
		return err
	}
	var stored struct{ Seq uint64 }
	if err := json.Unmarshal(ack.Data, &stored); err != nil {
		return err
	}
	m, err := nc.RequestWithContext(ctx, "precis.thread.get."+token(thread), encode(t, object{"min_event_seq": stored.Seq}))
	if err != nil {
		return err
	}
	if code := m.Header.Get(micro.ErrorCodeHeader); code != "" {
		return fmt.Errorf("thread %s: %s %s", thread, code, m.Header.Get(micro.ErrorHeader))
	}
	if m, err = nc.RequestWithContext(ctx, "precis.message.get."+token(thread), encode(t, object{"message_id": id, "min_event_seq": stored.Seq})); err != nil {
		return err
	}
	var got struct{ Content string }
	if err := json.Unmarshal(m.Data, &got); err != nil || got.Content != id {
		return fmt.Errorf("message %s: %s: %w", id, m.Data, err)
	}
	return nil
}

func TestTheAnswersFields(t *testing.T) {
	w := begin(t, "partitions: 2\n")
	w.thread("t", w.result("t", "m", output("x")))
	record := w.records("t", created)[0].data(t)
	want := slices.Sorted(maps.Keys(record))
	got := w.answer("precis.summary.get."+text(t, record, "id"), nil)
	for _, key := range want {
		a, b := encode(t, record[key]), encode(t, got[key])
		if string(a) != string(b) {
			t.Errorf("%s is %s, want %s", key, b, a)
		}
	}
	if got["status"] != "active" {
		t.Errorf("status %v", got["status"])
	}
}

func TestAThreadOfRejectionsAlone(t *testing.T) {
	w := begin(t, "partitions: 2\n")
	rejections := w.follow("REJECTED", ">")
	seq := w.publish("thread.message.r", nil, []byte("no JSON"))
	rejections.next()
	w.counters("r", seq, map[string]int64{"messages": 0, "tool_results": 0, "edits": 0, "rejected": 1, "tokens_total": 0})
}
