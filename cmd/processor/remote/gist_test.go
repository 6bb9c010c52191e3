package remote

import (
	"testing"

	"precis/events"
)

func TestTriggerGist(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{TriggerGist("compaction", events.Trigger{Reason: "thread_messages", Value: new(201.0), Threshold: new(200.0)}), "thread_messages 201 > 200"},
		{TriggerGist("history", events.Trigger{Reason: "thread_messages", Value: new(10.0), Threshold: new(5.0)}), "thread_messages 10, every 5"},
		{TriggerGist("history", events.Trigger{Reason: "requested"}), "requested"},
		{TriggerGist("tool_result", events.Trigger{Reason: "tool_output_chars", Value: new(1048542.0), Threshold: new(1000000.0)}), "tool_output_chars 1,048,542 > 1,000,000"},
		{TriggerGist("compaction", events.Trigger{Reason: "window_fraction", Value: new(2.0 / 3), Threshold: new(0.6)}), "window_fraction 0.666667 > 0.6"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}
