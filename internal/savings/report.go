package savings

import (
	"cmp"
	"slices"
	"time"

	"precis/events"
)

// What a report can group by.
const (
	ByThread = "thread"
	ByAgent  = "agent" // of the thread's first event
	ByModel  = "model"
	ByPolicy = "policy"
	ByDay    = "day" // of the answer, in UTC
)

// maxGroups is how many groups a report lists.
const maxGroups = 1000

// Report says whether it paid.
type Report struct {
	By    string `json:"by"`
	Total Sums   `json:"total"`
	// Sent is Total by which prompts the threads' agents sent: only who sent precis's has saved what the sums say. With their own
	// prompts, agents would have saved it.
	Sent   []Group `json:"by_sent"`
	Groups []Group `json:"groups"` // the largest savings in tokens first; days in their order, the latest if there are too many
	More   uint64  `json:"groups_not_listed"`

	Threads      uint64        `json:"threads"` // that have a turn or own calls
	PriceTable   string        `json:"price_table"`
	AssumedModel events.OrNull `json:"assumed_model"` // of threads that name none
	CacheSeconds float64       `json:"cache_seconds"` // how long a provider's cache holds a prompt
}

// Group are the sums of one thread, agent, model, policy or day.
type Group struct {
	Name events.OrNull `json:"name"` // null: not known
	Sent string        `json:"sent"`
	Sums
}

// ReportOf reports on ledgers with the same options.
func ReportOf(by string, o Options, ledgers ...*Ledger) *Report {
	r := &Report{By: by, AssumedModel: events.OrNull(o.Model), CacheSeconds: o.CacheFor.Seconds()}
	if o.Prices != nil {
		r.PriceTable = o.Prices.Name()
	}
	groups, sent := map[string]*Group{}, map[string]*Group{}
	for _, l := range ledgers {
		for name, a := range l.byName {
			if len(a.sums) == 0 {
				continue
			}
			r.Threads++
			how, unpriced := a.sent(), a.unpriced()
			for i := range a.sums {
				e := a.sums[i]
				if unpriced {
					e.OwnUnpricedMicroUSD = e.OwnMicroUSD
				}
				r.Total.add(&e.Sums)
				group(sent, how).add(&e.Sums)
				group(groups, e.key(by, name, a.agent)).add(&e.Sums)
			}
		}
	}
	r.Total.end()
	r.Sent, _ = listed(sent, bySavings)
	for i := range r.Sent {
		r.Sent[i].Sent = string(r.Sent[i].Name)
	}
	if by != ByDay {
		r.Groups, r.More = listed(groups, bySavings)
		return r
	}
	r.Groups, r.More = listed(groups, latest)
	slices.Reverse(r.Groups)
	return r
}

func (e *entry) key(by, thread, agent string) string {
	switch by {
	case ByThread:
		return thread
	case ByAgent:
		return agent
	case ByModel:
		return e.model
	case ByDay:
		return e.day.Format(time.DateOnly)
	}
	return e.policy
}

func group(in map[string]*Group, name string) *Group {
	g := in[name]
	if g == nil {
		g = &Group{Name: events.OrNull(name)}
		in[name] = g
	}
	return g
}

func bySavings(a, b Group) int {
	return cmp.Or(cmp.Compare(b.SavedTokens, a.SavedTokens), cmp.Compare(a.Name, b.Name))
}

func latest(a, b Group) int { return cmp.Compare(b.Name, a.Name) }

// listed returns the groups that are listed, and how many are not.
func listed(all map[string]*Group, order func(a, b Group) int) (list []Group, more uint64) {
	list = make([]Group, 0, len(all))
	for _, g := range all {
		g.end()
		g.Sent = g.Reported.Sent()
		list = append(list, *g)
	}
	slices.SortFunc(list, order)
	if len(list) > maxGroups {
		more = uint64(len(list) - maxGroups)
		list = list[:maxGroups]
	}
	return list, more
}
