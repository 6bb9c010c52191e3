package events_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"precis/events"
)

func TestEncode(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 600, time.FixedZone("x", 3600))
	h := events.Encode(events.SummaryCreated, "summary.created/sum_1", `Euro € 😀"%`, "/precis", at)
	for name, want := range map[string]string{
		"ce-specversion":     "1.0",
		"ce-id":              "summary.created/sum_1",
		"Nats-Msg-Id":        "summary.created/sum_1",
		"ce-source":          "/precis",
		"ce-type":            "summary.created",
		"ce-time":            "2026-01-02T02:04:05.0000006Z",
		"ce-subject":         "Euro%20%E2%82%AC%20%F0%9F%98%80%22%25", // the binding's own example, with more
		"ce-datacontenttype": "application/json",
	} {
		if got := h[name]; len(got) != 1 || got[0] != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

func TestEventIDs(t *testing.T) {
	for got, want := range map[string]string{
		events.SummaryEventID(events.SummaryStarted, "sum_1"):  "summary.started/sum_1",
		events.UsageEventID("sum_1", 2):                        "usage.recorded/sum_1/2",
		events.PositionEventID(events.ConfigApplied, 3, 1<<40): "config.applied/3/1099511627776",
		events.PartitionToken(12):                              "=p12",
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// Decode reads what Encode writes, for any thread and id.
func TestEncodeDecode(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		thread := rapid.StringN(1, 64, 256).Draw(t, "thread")
		id := rapid.StringN(1, 64, 256).Draw(t, "id")
		subject, err := events.Subject(events.ToolResult, thread)
		if err != nil {
			t.Fatal(err)
		}
		ev, rej := events.Decode(events.Raw{
			Subject: subject,
			Header:  events.Encode(events.ToolResult, id, thread, "/a", time.Unix(0, 0)),
			Body:    []byte(`{"message_id":"m","content":"x"}`),
		}, events.Limits{})
		if rej != nil || ev.Thread != thread || ev.CloudEventID != id {
			t.Fatalf("%+v, %v", ev, rej)
		}
	})
}
