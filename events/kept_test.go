package events_test

import (
	"bytes"
	"strings"
	"testing"

	"precis/events"
)

// Only a text that is most of its message shares its memory, and only where the message is kept unchanged.
func TestTextSharesKeptBody(t *testing.T) {
	long := strings.Repeat("text ", 100)
	for name, c := range map[string]struct {
		decode  func(events.Raw, events.Limits) (events.Event, *events.RejectError)
		content string
		model   string
		header  string
		shared  bool
	}{
		"most of it":    {events.DecodeKept, long, "m", "id", true},
		"two thirds":    {events.DecodeKept, long, long[:200], "id", false},
		"a long header": {events.DecodeKept, long, "m", long[:200], false},
		"escaped":       {events.DecodeKept, long + `\n`, "m", "id", false},
		"not kept":      {events.Decode, long, "m", "id", false},
	} {
		body := []byte(`{"message_id":"m1","role":"user","content":"` + c.content + `","model":"` + c.model + `"}`)
		ev, rej := c.decode(events.Raw{Subject: "thread.message.t1", Header: map[string][]string{"X-Trace": {c.header}}, Body: body}, events.Limits{})
		if rej != nil {
			t.Fatal(rej)
		}
		before := strings.Clone(ev.Message.Content.Text())
		copy(body, bytes.ToUpper(body))
		if after := ev.Message.Content.Text(); (after != before) != c.shared {
			t.Errorf("%s: %.20q became %.20q", name, before, after)
		}
		if ev.Message.MessageID != "m1" || ev.Message.Role != "user" {
			t.Errorf("%s: the message is %+v", name, ev.Message)
		}
	}
}
