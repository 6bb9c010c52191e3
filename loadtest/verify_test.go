package main

import (
	"strings"
	"testing"
	"time"
)

// TestVerify plants one error at a time into otherwise correct records.
func TestVerify(t *testing.T) {
	sent := time.Unix(1000, 0)
	after := func(ms int) time.Time { return sent.Add(time.Duration(ms) * time.Millisecond) }
	made := func(id string, version, ms int) record {
		return record{ThreadID: "t", ID: id, Kind: kindToolResult, Slot: "tool:m", Version: version, at: after(ms)}
	}
	stale := func(id string, ms int) record {
		return record{ThreadID: "t", SummaryID: id, Kind: kindToolResult, at: after(ms)}
	}
	good := follower{
		created:     []record{made("s1", 1, 5), made("s2", 2, 107)},
		invalidated: []record{stale("s1", 106)},
	}
	for name, c := range map[string]struct {
		plant   func(*follower)
		problem string
	}{
		"as it must be":           {func(*follower) {}, ""},
		"a summary twice":         {func(f *follower) { f.created = append(f.created, made("s2", 2, 200)) }, "came twice"},
		"one too many":            {func(f *follower) { f.created = append(f.created, made("s3", 3, 200)) }, "want 2"},
		"one missing":             {func(f *follower) { f.created = f.created[:1] }, "summaries are missing"},
		"of a small output":       {func(f *follower) { f.created[1].Slot = "tool:small" }, "no large output"},
		"no invalidation":         {func(f *follower) { f.invalidated = nil }, "invalidations are missing"},
		"two invalidations":       {func(f *follower) { f.invalidated = append(f.invalidated, stale("s1", 107)) }, "invalidated twice"},
		"an invalidation of none": {func(f *follower) { f.invalidated = append(f.invalidated, stale("s9", 107)) }, "not created"},
		"of the new one too":      {func(f *follower) { f.invalidated = append(f.invalidated, stale("s2", 108)) }, "more invalidations"},
		"a rejection":             {func(f *follower) { f.rejected = []record{{Code: "schema"}} }, "rejected"},
	} {
		t.Run(name, func(t *testing.T) {
			f := follower{created: append([]record(nil), good.created...), invalidated: append([]record(nil), good.invalidated...)}
			c.plant(&f)
			v := verify([]*expectation{{Thread: "t", outputs: map[string]*output{
				"m": {made: []time.Time{sent, after(100)}, retired: []time.Time{after(100)}},
			}}}, &f)
			all := strings.Join(v.problems, "\n")
			if (c.problem == "") != (all == "") || !strings.Contains(all, c.problem) {
				t.Errorf("problems %q, want %q", all, c.problem)
			}
			if c.problem == "" && (v.Created != latency{N: 2, P50: 7, P90: 7, P99: 7, Max: 7} || v.Invalidated.Max != 6) {
				t.Errorf("latencies %+v, %+v", v.Created, v.Invalidated)
			}
		})
	}
}
