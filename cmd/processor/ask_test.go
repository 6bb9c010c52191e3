package main

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go/micro"

	"precis/events"
	"precis/internal/broker"
)

// answers serves fixed replies on the service's wire: what the commands make of an answer is theirs to
// test, what the answer is the service's. A reply that begins with three digits is an error of that code.
func answers(t *testing.T, b *broker.Broker, replies map[string]string) <-chan string {
	t.Helper()
	service, err := micro.AddService(b.Conn(), micro.Config{Name: "precis", Version: "1.0.0"})
	if err != nil {
		t.Fatal(err)
	}
	asked := make(chan string, 100)
	for subject, reply := range replies {
		err := service.AddEndpoint("e"+strings.Map(dashes, subject), micro.HandlerFunc(func(r micro.Request) {
			asked <- subject + " " + string(r.Data())
			if code, message, isError := strings.Cut(reply, " "); isError && len(code) == 3 {
				_ = r.Error(code, message, nil)
				return
			}
			_ = r.Respond([]byte(reply))
		}), micro.WithEndpointSubject(subject))
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Conn().FlushTimeout(testTimeout); err != nil {
		t.Fatal(err)
	}
	return asked
}

func dashes(r rune) rune {
	if r == '.' || r == '=' {
		return '-'
	}
	return r
}

func TestThread(t *testing.T) {
	b := newServer(t)
	reply := `{"messages":12,"tool_results":3456,"edits":1,"tokens_total":100000,"bytes":400123,"tokens_live":25000,` +
		`"summaries_active":7,"summaries_stale":0,"llm_input_tokens":0,"llm_output_tokens":0,"cost_microusd":1234567,"duplicates":2,"rejected":1,"waiting_edits":0,"calls_of_unknown_cost":3,"event_seq":99,"chain_head":"abc"}`
	family := strings.TrimSuffix(reply, "}") + `,"parent_thread_id":"up\u001bthere","children":[{"thread_id":"a","running":true},{"thread_id":"b"}],"children_count":2,` +
		`"descendants":{"threads":3,"cost_microusd":2500000,"calls_of_unknown_cost":1}}`
	asked := answers(t, b, map[string]string{"precis.thread.get.t=20x": reply, "precis.thread.get.sub": family, "precis.thread.get.none": "404 no such thread"})
	got := command(t, b, "", "thread", "t x")
	got.wants(t, exitDone, "", "")
	golden(t, "thread.txt", got.stdout)
	command(t, b, "", "thread", "t x", "--json").wants(t, exitDone, reply+"\n", "")
	command(t, b, "", "thread", "t x", "--min-event-seq", "7").wants(t, exitDone, "", "")
	for _, body := range []string{`{"min_event_seq":0}`, `{"min_event_seq":0}`, `{"min_event_seq":7}`} {
		if got, want := <-asked, "precis.thread.get.t=20x "+body; got != want {
			t.Errorf("asked %s, want %s", got, want)
		}
	}
	command(t, b, "", "thread", "none").wants(t, exitWrong, "", "no such thread")
	got = command(t, b, "", "thread", "sub")
	got.wants(t, exitDone, "", "")
	golden(t, "thread_children.txt", got.stdout)
}

func TestSummarize(t *testing.T) {
	b := newServer(t)
	made := `{"thread_id":"t1","kind":"compaction","summary_id":"sum_1","id":"sum_1","reason":null}`
	asked := answers(t, b, map[string]string{
		"precis.thread.summarize.t1": made, "precis.thread.summarize.off": `{"summary_id":null,"reason":"disabled"}`,
		"precis.thread.summarize.small": `{"summary_id":null,"reason":"too_little"}`, "precis.thread.summarize.none": "404 no such thread",
	})
	command(t, b, "", "summarize", "t1").wants(t, exitDone, "sum_1\n", "")
	command(t, b, "", "summarize", "t1", "--json").wants(t, exitDone, made+"\n", "")
	command(t, b, "", "summarize", "off", "--kind", "history", "--min-event-seq", "7").wants(t, exitDone, "", "No history: the thread's policy is disabled.")
	command(t, b, "", "summarize", "small").wants(t, exitDone, "", "No compaction: there is too little to summarize.")
	command(t, b, "", "summarize", "none").wants(t, exitWrong, "", "no such thread")
	for _, want := range []string{
		`precis.thread.summarize.t1 {"kind":"compaction"}`, `precis.thread.summarize.t1 {"kind":"compaction"}`,
		`precis.thread.summarize.off {"kind":"history","min_event_seq":7}`,
	} {
		if got := <-asked; got != want {
			t.Errorf("asked %s, want %s", got, want)
		}
	}
}

func TestMessage(t *testing.T) {
	b := newServer(t)
	asked := answers(t, b, map[string]string{"precis.message.get.t1": `{"content":"line 1\nline 2"}`, "precis.message.get.gone": `{"content":"","deleted":true}`, "precis.message.get.short": `{"content":"","lines":[],"lines_total":2}`})
	command(t, b, "", "message", "t1", "m1").wants(t, exitDone, "line 1\nline 2\n", "")
	command(t, b, "", "message", "t1", "m1", "--revision", "0", "--lines", "2-3").wants(t, exitDone, "line 1", "")
	command(t, b, "", "message", "t1", "m1", "--lines", "7").wants(t, exitDone, "line 1", "")
	command(t, b, "", "message", "gone", "m1").wants(t, exitWrong, "", "is deleted; --revision N shows what it said")
	command(t, b, "", "message", "short", "m1", "--lines", "3-9").wants(t, exitWrong, "", "ends with line 2")
	command(t, b, "", "message", "gone", "m1", "--json").wants(t, exitWrong, `"deleted":true`, "is deleted")
	command(t, b, "", "message", "short", "m1", "--lines", "3-9", "--json").wants(t, exitWrong, `"lines_total":2`, "ends with line 2")
	want := []string{
		`precis.message.get.t1 {"message_id":"m1"}`,
		`precis.message.get.t1 {"message_id":"m1","revision":0,"lines":[2,3]}`,
		`precis.message.get.t1 {"message_id":"m1","lines":[7,7]}`,
		`precis.message.get.gone {"message_id":"m1"}`,
		`precis.message.get.short {"message_id":"m1","lines":[3,9]}`,
	}
	for _, w := range want {
		if got := <-asked; got != w {
			t.Errorf("asked %s, want %s", got, w)
		}
	}
}

func TestSummary(t *testing.T) {
	b := newServer(t)
	answers(t, b, map[string]string{"precis.summary.get.sum_1": sample(t)})
	got := command(t, b, "", "summary", "sum_1")
	got.wants(t, exitDone, "", "")
	golden(t, "summary.txt", got.stdout)
}

func sample(t *testing.T) string {
	t.Helper()
	var r struct {
		events.Summary
		Status      string              `json:"status"`
		ReplacedBy  *string             `json:"replaced_by"`
		Invalidated *events.Invalidated `json:"invalidated"`
	}
	text := `{"thread_id":"t1","partition":3,"event_seq":40,"effective_seq":40,"chain_seq":5,"chain":"x","id":"sum_1","as_of_message_id":"m3",` +
		`"kind":"tool_result","slot":"tool:m3","level":0,"current":true,"version":2,"replaces":"sum_0","source_message_ids":["m3"],"source_summary_ids":[],` +
		`"content":"[✓ read_file: File: /app.ts]\n1: export function main() {\u001b[2J\n","token_count_before":4120,"token_count_after":310,"tokenizer":"o200k_base",` +
		`"chars_before":16000,"chars_after":790,"method":"rules","rules_version":"rules-1","policy":"default","policy_unresolved":"cheap",` +
		`"trigger":{"reason":"tool_output_chars","threshold":1500,"value":16000},"cost":{"amount_microusd":0,"currency":"USD"},"created_at":"2026-01-02T03:04:05Z",` +
		`"status":"replaced","replaced_by":"sum_2","invalidated":{"reason":"source_edited","cause":{"message_id":"m3"}}}`
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatal(err)
	}
	return text
}

func TestErrorsOfTheService(t *testing.T) {
	b := newServer(t)
	answers(t, b, map[string]string{
		"precis.thread.get.a": "400 bad", "precis.thread.get.b": "409 stale", "precis.thread.get.c": "413 large",
		"precis.thread.get.d": "503 behind", "precis.thread.get.e": "500 broken",
	})
	command(t, b, "", "thread", "a").wants(t, exitUsage, "", "bad")
	command(t, b, "", "thread", "b").wants(t, exitWrong, "", "stale")
	command(t, b, "", "thread", "c").wants(t, exitUnreachable, "", "larger than the server lets through")
	command(t, b, "", "thread", "d").wants(t, exitUnreachable, "", "has not caught up")
	command(t, b, "", "thread", "e").wants(t, exitUnreachable, "", "the processor answers 500: broken")
}

func TestContext(t *testing.T) {
	b := newServer(t)
	asked := answers(t, b, map[string]string{
		"precis.thread.context.t1": `{"system":null,"messages":[{"role":"user","content":"hi"}],"token_count":3,"within_budget":true,"dropped_count":1,"dropped_message_ids":["m1"],"summary_ids":[]}`,
		"precis.thread.context.a1": `{"system":[{"type":"text","text":"be kind"}],"messages":[],"token_count":3,"within_budget":false,"dropped_message_ids":[],"summary_ids":[]}`,
		"precis.thread.context.s1": "409 stale_summary: sum_1",
	})
	got := command(t, b, "", "context", "t1", "--max-tokens", "8000", "--format", "openai")
	got.wants(t, exitDone, "", "3 tokens, 1 message dropped")
	if want := "[\n\t{\n\t\t\"role\": \"user\",\n\t\t\"content\": \"hi\"\n\t}\n]\n"; got.stdout != want {
		t.Errorf("printed %q, want %q", got.stdout, want)
	}
	if got := <-asked; !strings.Contains(got, `"format":"openai"`) || !strings.Contains(got, `"max_tokens":8000`) {
		t.Errorf("asked %s", got)
	}
	command(t, b, "", "context", "a1", "--max-tokens", "2", "--json").wants(t, exitWrong, `"within_budget":false`, "do not fit into 2 tokens")
	<-asked
	got = command(t, b, "", "context", "a1", "--max-tokens", "2", "--format", "anthropic")
	got.wants(t, exitWrong, "", "do not fit into 2 tokens")
	var body map[string][]any
	if err := json.Unmarshal([]byte(got.stdout), &body); err != nil || len(body["system"]) != 1 || body["messages"] == nil {
		t.Errorf("anthropic: %v\n%s", err, got.stdout)
	}
	command(t, b, "", "context", "s1").wants(t, exitWrong, "", "stale_summary")
	command(t, b, "", "context", "t1", "--format", "xml").wants(t, exitUsage, "", "openai")
}

// People are shown what a prompt is made of, and what to do about messages without room.
func TestContextExplained(t *testing.T) {
	b := newServer(t)
	reply := func(removable, reason string) string {
		return `{"system":null,"messages":[],"token_count":1234,"within_budget":true,"dropped_count":2,"dropped_message_ids":["m2","m3"],` +
			`"summary_ids":["sum_1","sum_2"],"shortened_message_ids":["m7"],"system_source":{"message_ids":["s"],"tokens":9},` +
			`"sources":[{"message_ids":[],"summary_ids":["sum_1"],"tokens":300},{"message_ids":["m1\u001b"],"tokens":25},{"message_ids":["m3"],"tokens":4},{"message_ids":["m7"],"summary_ids":["sum_2"],"tokens":896}],` +
			`"explain":{"tokens":{"system":9,"compaction":300,"messages":25,"outputs":4,"summaries":893,"frame":3},"prompt_tokens":null,` +
			`"summaries":[{"summary_id":"sum_1","message_count":40,"message_ids":[],"token_count_before":4000,"token_count_after":290},` +
			`{"summary_id":"sum_2","message_count":1,"message_ids":["m7"],"token_count_before":9000,"token_count_after":890}],` +
			`"left_out":[{"id":"m2","reason":"` + reason + `"},{"id":"m3","reason":"` + reason + `"}],` +
			`"compaction":{"policy":"default","removable_tokens":700,"removable_messages":` + removable + `,"jobs":[{"summary_id":"sum_3","kind":"compaction","slot":"current","attempts":1}]}},"event_seq":99}`
	}
	asked := answers(t, b, map[string]string{
		"precis.thread.context.some": reply("12", "max_tokens"), "precis.thread.context.none": reply("0", "max_tokens"), "precis.thread.context.old": reply("12", "retention"),
		"precis.thread.context.mute": `{"messages":[],"within_budget":true}`,
	})
	got := command(t, b, "", "context", "some", "--max-tokens", "2000", "--explain")
	got.wants(t, exitDone, "", "processor summarize some")
	golden(t, "context_explain.txt", got.stdout)
	command(t, b, "", "context", "some", "--max-tokens", "2000").wants(t, exitDone, "[]", "for the 12 oldest messages in later prompts: processor summarize some")
	command(t, b, "", "context", "none", "--max-tokens", "2000").wants(t, exitDone, "[]", "compaction.keep")
	if got := command(t, b, "", "context", "old", "--max-tokens", "2000"); strings.Contains(got.stderr, "summarize") {
		t.Errorf("nothing brings back what is gone from the log: %s", got.stderr)
	}
	if got := command(t, b, "", "context", "some", "--json"); got.stdout != reply("12", "max_tokens")+"\n" || got.stderr != "" {
		t.Errorf("a program reads\n%s%s", got.stdout, got.stderr)
	}
	for range 5 { // the last does not ask for it
		if last := <-asked; strings.Contains(last, `"explain":true`) != (len(asked) > 0) {
			t.Errorf("asked %s", last)
		}
	}
	command(t, b, "", "context", "mute", "--explain").wants(t, exitUnreachable, "", "no explanation")
}
