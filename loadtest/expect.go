package main

import "time"

// largeChars is the length that a tool output must exceed to be summarized: tool_output.over_chars of
// the default policy, in Unicode code points.
const largeChars = 1500

// expectation is the expected state of a thread. One agent's goroutine tallies it; other goroutines read it only
// after that has ended.
type expectation struct {
	Thread      string
	Messages    int
	ToolResults int
	Edits       int
	Bytes       int // of the current revisions: text and arguments
	outputs     map[string]*output
	live        []string // messages that are not deleted, in order
}

// output is one large tool output.
type output struct {
	made    []time.Time // first publish of each revision that must be summarized
	retired []time.Time // first publish of each edit that makes a summary stale
}

// totals are the sums over all threads.
type totals struct {
	Messages      int `json:"messages"`
	ToolResults   int `json:"tool_results"`
	Edits         int `json:"edits"`
	Summaries     int `json:"summaries"`
	Invalidations int `json:"invalidations"`
}

func sum(all []*expectation) totals {
	var t totals
	for _, e := range all {
		t.Messages += e.Messages
		t.ToolResults += e.ToolResults
		t.Edits += e.Edits
		for _, o := range e.outputs {
			t.Summaries += len(o.made)
			t.Invalidations += len(o.retired)
		}
	}
	return t
}
