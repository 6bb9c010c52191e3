package processor_test

import (
	"fmt"
	"strings"
	"testing"

	"precis/internal/processor"
	"precis/summarize"
	"precis/summarize/prompt"
	"precis/summarize/prompt/valid"
)

// A loop in Anthropic's own shape: calls and results are parts, and one message has the results of several calls. They are pairs to
// cuts, large outputs are summarized as soon as they have been read, and every prompt is one that the provider takes. An edit and a deletion of results
// leave no call open.
func TestContextOfParts(t *testing.T) {
	c := settings(t)
	c.Policies[0].Compaction.Trigger = summarize.Condition{Messages: 12}
	c.Policies[0].Compaction.Keep = summarize.Keep{Messages: 5}
	b := openBroker(t, t.TempDir())
	p := serving(t, processor.Options{Config: c, Logger: logger(t), Broker: b})
	put(t, b.Conn(), "thread.message.t1", `{"message_id":"m0","role":"user","content":"Read all files."}`)
	long := strings.Repeat("a line of the file\\n", 200)
	for i := range 30 {
		put(t, b.Conn(), "thread.message.t1", fmt.Sprintf(`{"message_id":"a%d","role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"c2ln"},`+
			`{"type":"tool_use","id":"t%da","name":"read","input":{"path":"a%d.go"}},{"type":"tool_use","id":"t%db","name":"read","input":{"path":"b%d.go"}}]}`, i, i, i, i, i))
		put(t, b.Conn(), "thread.message.t1", fmt.Sprintf(`{"message_id":"r%d","role":"user","content":[{"type":"tool_result","tool_use_id":"t%da","content":"%s"},`+
			`{"type":"tool_result","tool_use_id":"t%db","content":"package b%d"}]}`, i, i, long, i, i))
		switch i {
		case 28:
			put(t, b.Conn(), "message.edited.t1", `{"message_id":"r28","content":"another output"}`)
		case 29:
			put(t, b.Conn(), "message.edited.t1", `{"message_id":"r29","deleted":true}`)
		}
		if err := p.Settled(within(t)); err != nil {
			t.Fatal(err)
		}
		for _, format := range prompt.Formats() {
			got := contextOf(t, p, "t1", fmt.Sprintf(`{"format":%q}`, format))
			var err error
			switch format {
			case prompt.FormatOpenAI:
				err = valid.OpenAI(got.Messages)
			case prompt.FormatResponses:
				err = valid.Responses(got.Messages)
			case prompt.FormatAnthropic:
				err = valid.Anthropic(got.System, got.Messages)
			case prompt.FormatGemini:
				err = valid.Gemini(got.System, got.Messages)
			default:
				err = valid.Plain(got.Messages)
			}
			if err != nil || len(got.WaitingMessageIDs) > 0 {
				t.Fatalf("after %d turns, %s: %v, %v wait\n%s", i, format, err, got.WaitingMessageIDs, got.Messages)
			}
			whole := 1 // the newest stands whole, until the assistant has read it
			if i >= 28 {
				whole = 0
			}
			if n := strings.Count(string(got.Messages), long); n != whole || len(got.SummaryIDs) == 0 && i > 0 {
				t.Fatalf("after %d turns, %s: %d outputs stand whole, and the summaries %v\n%s", i, format, n, got.SummaryIDs, got.Messages)
			}
		}
	}
	if got := contextOf(t, p, "t1", `{}`); strings.Contains(string(got.Messages), `"a0"`) || !strings.Contains(string(got.Messages), "Read all files.") {
		t.Errorf("not compacted, or without the newest request:\n%s", got.Messages)
	}
}

// Items of the Responses API may come one by one: reasoning is compacted with the call that it led to, and stands where that stands.
func TestContextOfItems(t *testing.T) {
	for n := range 4 {
		t.Run(fmt.Sprint(n), func(t *testing.T) { contextOfItems(t, 4+n%2, 5+n/2) })
	}
}

func contextOfItems(t *testing.T, keep, trigger int) {
	c := settings(t)
	c.Policies[0].Compaction.Trigger = summarize.Condition{Messages: trigger}
	c.Policies[0].Compaction.Keep = summarize.Keep{Messages: keep}
	b := openBroker(t, t.TempDir())
	p := serving(t, processor.Options{Config: c, Logger: logger(t), Broker: b})
	put(t, b.Conn(), "thread.message.t1", `{"message_id":"m0","role":"user","content":"Read all files."}`)
	compacted := 0
	for i := range 30 {
		for _, m := range []string{
			`{"message_id":"t%d","role":"assistant","content":[{"type":"reasoning","id":"rs_%d","summary":[],"encrypted_content":"gAAA"}]}`,
			`{"message_id":"a%d","role":"assistant","content":[{"type":"function_call","call_id":"call_%d","name":"ls","arguments":"{}"}]}`,
			`{"message_id":"r%d","role":"user","content":[{"type":"function_call_output","call_id":"call_%d","output":"a.go"}]}`,
		} {
			put(t, b.Conn(), "thread.message.t1", fmt.Sprintf(m, i, i))
		}
		if err := p.Settled(within(t)); err != nil {
			t.Fatal(err)
		}
		for _, limit := range []int{0, 400, 150} {
			got := contextOf(t, p, "t1", fmt.Sprintf(`{"format":"responses","max_tokens":%d}`, limit))
			if err := valid.Responses(got.Messages); err != nil {
				t.Fatalf("after %d turns: %v\n%s", i, err, got.Messages)
			}
			for n := range i + 1 {
				reasoned := strings.Contains(string(got.Messages), fmt.Sprintf(`"rs_%d"`, n))
				called := strings.Contains(string(got.Messages), fmt.Sprintf(`"call_%d"`, n))
				if reasoned != called {
					t.Fatalf("after %d turns, %d tokens, turn %d: reasoning %v, call %v\n%s", i, limit, n, reasoned, called, got.Messages)
				}
			}
			if len(got.SummaryIDs) > 0 {
				compacted++
			}
		}
	}
	if compacted == 0 {
		t.Error("nothing was compacted")
	}
}
