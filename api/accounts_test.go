package api

import (
	"slices"
	"testing"
)

// A prompt accounts for the messages that stand in it, in its summaries and behind them, and for no others.
func TestAccountsFor(t *testing.T) {
	reply := func(change func(r *ContextReply)) *ContextReply {
		r := &ContextReply{
			SystemSource: &Source{MessageIDs: []string{"s"}},
			Sources: []Source{
				{SummaryIDs: []string{"sum_c"}}, {MessageIDs: []string{"m3"}, SummaryIDs: []string{"sum_3"}}, {MessageIDs: []string{"m4", "m5"}},
			},
			Explain: &Explanation{Summaries: []ExplainedSummary{{ID: "sum_c", MessageIDs: []string{"m1", "m2"}}, {ID: "sum_3", MessageIDs: []string{"m3"}}}},
			Dropped: Dropped{DroppedCount: 1, DroppedMessageIDs: []string{"m0"}},
		}
		change(r)
		return r
	}
	all := []string{"s", "m0", "m1", "m2", "m3", "m4", "m5"}
	whole := reply(func(*ContextReply) {})
	for _, test := range []struct {
		ids             []string
		exactly, newest bool
	}{
		{all, true, true},
		{[]string{"m5", "m4", "m3", "m2", "m1", "m0", "s"}, true, true},
		{all[2:], false, true},
		{[]string{"m3", "m5"}, false, false}, // m4 is between them
		{[]string{"m2", "m4", "m5"}, false, false},
		{[]string{"m4", "m5", "m6"}, false, false},
		{append(slices.Clone(all), "m6"), false, false},
		{append(slices.Clone(all[1:]), "m6"), false, false},
		{nil, false, true},
	} {
		if exactly, newest := whole.AccountsFor(test.ids), whole.AccountsForNewest(test.ids); exactly != test.exactly || newest != test.newest {
			t.Errorf("%q: %t, %t", test.ids, exactly, newest)
		}
	}
	for name, change := range map[string]func(r *ContextReply){
		"not explained":          func(r *ContextReply) { r.Explain = nil },
		"a call waits":           func(r *ContextReply) { r.WaitingMessageIDs = []string{"m6"} },
		"more than are named":    func(r *ContextReply) { r.DroppedCount, r.DroppedMessageIDs = 2000, nil },
		"a summary of very many": func(r *ContextReply) { r.Explain.Summaries[0].MessageIDs = nil },
	} {
		if r := reply(change); r.AccountsFor(all) || r.AccountsForNewest(all) {
			t.Error(name)
		}
	}
}
