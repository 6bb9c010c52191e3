package processor_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"precis/api"
	"precis/events"
	"precis/internal/processor"
	"precis/summarize"
	"precis/summarize/prompt"
	"precis/summarize/tokens"
)

// contextOf asks for a thread's prompt and returns all of the answer.
func contextOf(t *testing.T, p *running, thread, request string) (reply api.ContextReply) {
	t.Helper()
	_, body := promptOf(t, p.Broker(), thread, request)
	if err := json.Unmarshal([]byte(body), &reply); err != nil {
		t.Fatal(err)
	}
	return reply
}

// named are the messages that a prompt in the thread's own shape shows, or names as dropped, or as waiting, sorted.
func named(t *testing.T, reply api.ContextReply) (ids []string) {
	t.Helper()
	var list []struct {
		MessageID string `json:"message_id"`
	}
	if err := json.Unmarshal(reply.Messages, &list); err != nil {
		t.Fatal(err)
	}
	for _, m := range list {
		if m.MessageID != "" {
			ids = append(ids, m.MessageID)
		}
	}
	ids = append(append(ids, reply.DroppedMessageIDs...), reply.WaitingMessageIDs...)
	slices.Sort(ids)
	return ids
}

// Where there is no room for the compaction either, the messages that it stands for are named as dropped: each message
// stands in the prompt or is named, once.
func TestMessagesOfASummaryLeftOut(t *testing.T) {
	c := settings(t)
	c.Policies[0].Compaction.Trigger = summarize.Condition{Messages: 10}
	c.Policies[0].Compaction.Keep = summarize.Keep{Messages: 4}
	b := openBroker(t, t.TempDir())
	p := serving(t, processor.Options{Config: c, Logger: logger(t), Broker: b})
	var want []string
	for i := range 60 {
		pin := ""
		if i == 5 {
			pin = `,"pinned":true`
		}
		want = append(want, fmt.Sprintf("m%02d", i))
		put(t, b.Conn(), "thread.message.t1", fmt.Sprintf(`{"message_id":"m%02d","role":"user","content":"Wish %d: paint hull%d.go in a colour that lasts."%s}`, i, i, i, pin))
	}
	put(t, b.Conn(), "message.edited.t1", `{"message_id":"m08","deleted":true}`)
	want = slices.DeleteFunc(want, func(id string) bool { return id == "m08" })
	if err := p.Settled(within(t)); err != nil {
		t.Fatal(err)
	}
	whole := contextOf(t, p, "t1", `{}`)
	if len(whole.SummaryIDs) != 1 || whole.DroppedCount != 0 || whole.DroppedMessageIDs == nil || whole.DroppedRanges != nil {
		t.Fatalf("with room for everything: %+v", whole)
	}
	least := contextOf(t, p, "t1", `{"max_tokens":60}`)
	if got := named(t, least); !slices.Equal(got, want) || len(least.SummaryIDs) > 0 || least.DroppedCount != len(least.DroppedMessageIDs) {
		t.Errorf("in the prompt or named are %v, the thread has %v; %d dropped, summaries %v", got, want, least.DroppedCount, least.SummaryIDs)
	}
}

// More than a thousand dropped messages are named by the first and the last of each run.
func TestManyDroppedMessages(t *testing.T) {
	c := settings(t)
	c.Policies[0].Compaction.Trigger = summarize.Condition{Messages: 500}
	c.Policies[0].Compaction.Keep = summarize.Keep{Messages: 600}
	c.Policies[0].Tokenizer = tokens.Estimate
	b := openBroker(t, t.TempDir())
	p := serving(t, processor.Options{Config: c, Logger: logger(t), Broker: b})
	var bodies []string
	for i := range 1500 {
		pin := ""
		if i == 100 || i == 1400 {
			pin = `,"pinned":true`
		}
		bodies = append(bodies, fmt.Sprintf(`{"message_id":"m%04d","role":"user","content":"Wish %d"%s}`, i, i, pin))
	}
	put(t, b.Conn(), "thread.message.t1", bodies...)
	if err := p.Settled(within(t)); err != nil {
		t.Fatal(err)
	}
	if whole := contextOf(t, p, "t1", `{}`); len(whole.SummaryIDs) != 1 {
		t.Fatalf("the thread is not compacted: summaries %v", whole.SummaryIDs)
	}
	got := contextOf(t, p, "t1", `{"max_tokens":40}`)
	want := []api.DroppedRange{
		{First: "m0000", Last: "m0099", Count: 100}, {First: "m0101", Last: "m1399", Count: 1299}, {First: "m1401", Last: "m1498", Count: 98},
	}
	if got.DroppedCount != 1497 || got.DroppedMessageIDs != nil || !slices.Equal(got.DroppedRanges, want) {
		t.Errorf("%d dropped, %d by name, ranges %+v, want %+v", got.DroppedCount, len(got.DroppedMessageIDs), got.DroppedRanges, want)
	}
}

// A part of an unknown type is listed in every provider's format; the thread's own has it as it is.
func TestOmittedPartsAreListed(t *testing.T) {
	b := openBroker(t, t.TempDir())
	p := serving(t, processor.Options{Config: settings(t), Logger: logger(t), Broker: b})
	put(t, b.Conn(), "thread.message.t1", `{"message_id":"m1","role":"user","content":"And this?"}`)
	put(t, b.Conn(), "message.edited.t1", `{"message_id":"m1","content":[{"type":"text","text":"And this?"},{"type":"widget","size":2}]}`)
	if err := p.Settled(within(t)); err != nil {
		t.Fatal(err)
	}
	for _, format := range prompt.Formats() {
		got := contextOf(t, p, "t1", fmt.Sprintf(`{"format":%q}`, format))
		want := api.OmittedPart{MessageID: "m1", Index: 1, Type: "widget", Reason: "not_supported"}
		if format == prompt.FormatMessages {
			if len(got.OmittedParts) != 0 || !strings.Contains(string(got.Messages), `{"type":"widget","size":2}`) {
				t.Errorf("%s: %+v, %s", format, got.OmittedParts, got.Messages)
			}
			continue
		}
		if len(got.OmittedParts) != 1 || got.OmittedParts[0] != want {
			t.Errorf("%s: %+v, want %+v", format, got.OmittedParts, want)
		}
	}
}

// An answer that the server does not take says what to ask for instead.
func TestAnswerTooLarge(t *testing.T) {
	c := settings(t)
	c.Policies[0].Tokenizer = tokens.Estimate
	b := openBroker(t, t.TempDir())
	p := serving(t, processor.Options{Config: c, Logger: logger(t), Broker: b})
	for i := range 9 {
		put(t, b.Conn(), "thread.message.t1", fmt.Sprintf(`{"message_id":"m%d","role":"user","content":%q}`, i, strings.Repeat("word ", 200_000)))
	}
	if err := p.Settled(within(t)); err != nil {
		t.Fatal(err)
	}
	token, err := events.Token("t1")
	if err != nil {
		t.Fatal(err)
	}
	reply, err := b.Conn().RequestWithContext(within(t), "precis.thread.context."+token, nil)
	if err != nil {
		t.Fatal(err)
	}
	if code, said := reply.Header.Get("Nats-Service-Error-Code"), reply.Header.Get("Nats-Service-Error"); code != "413" || !strings.Contains(said, "max_tokens") {
		t.Errorf("%s %s", code, said)
	}
}
