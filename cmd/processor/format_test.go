package main

import (
	"testing"

	"precis/events"
)

func TestFormat(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{grouped(0), "0"},
		{grouped(999), "999"},
		{grouped(1000), "1,000"},
		{grouped(-1234567), "-1,234,567"},
		{change(4120, 310, "tokens"), "4,120 → 310 tokens (-92 %)"},
		{change(0, 5, "bytes"), "0 → 5 bytes"},
		{dollars(nil), "unknown"},
		{dollars(new(int64)), "$0"},
		{clip("héllo", 5), "héllo"},
		{clip("héllo!", 5), "héll…"},
		{triggerGist("compaction", events.Trigger{Reason: "thread_messages", Value: new(201.0), Threshold: new(200.0)}), "thread_messages 201 > 200"},
		{triggerGist("history", events.Trigger{Reason: "thread_messages", Value: new(10.0), Threshold: new(5.0)}), "thread_messages 10, every 5"},
		{triggerGist("history", events.Trigger{Reason: "requested"}), "requested"},
		{triggerGist("tool_result", events.Trigger{Reason: "tool_output_chars", Value: new(1048542.0), Threshold: new(1000000.0)}), "tool_output_chars 1048542 > 1000000"},
		{triggerGist("compaction", events.Trigger{Reason: "window_fraction", Value: new(2.0 / 3), Threshold: new(0.6)}), "window_fraction 0.666667 > 0.6"},
		{number(1048542), "1048542"}, {number(2.0 / 3), "0.6666666666666666"},
		{printable("a\nb\x1b[2J\u202Ec"), "a b\uFFFD[2J\uFFFDc"},
		{printableLines("a\n\tb\r\x00"), "a\n\tb\uFFFD\uFFFD"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}
