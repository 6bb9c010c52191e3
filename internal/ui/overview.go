package ui

import (
	"context"
	"net/http"
	"time"

	"precis/internal/roster"
	"precis/internal/timeline"
)

// lookFor bounds what a page waits for.
const lookFor = 8 * time.Second

// shownGroups is how many agents, policies and models a table has.
const shownGroups = 10

// overviewBody is what the first page shows.
type overviewBody struct {
	*past
	All      roster.Sums
	Events   uint64 // that are not applied
	Oldest   time.Time
	Outbox   int
	Jobs     int
	Plots    []Plot
	Agents   []group
	ByPolicy []group
	ByModel  []modelRow
	Prompts  []Served
	Held     uint64
	Whole    uint64
	More     int // agents that are not shown
	Today    spent
	Shared   string // which part of a cluster's partitions the sums are about
}

// group is a row of sums.
type group struct {
	Name string
	roster.Sums
	Share float64 // of the tokens of the largest
}

type modelRow struct {
	Name string
	spent
}

func (u *UI) overview(r *http.Request, v *Viewer) (*page, error) {
	if !v.Whole() {
		return &page{To: Path + "threads"}, nil
	}
	ctx, cancel := context.WithTimeout(r.Context(), lookFor)
	defer cancel()
	past, err := u.history.look(ctx)
	if err != nil {
		return nil, err
	}
	sums, err := u.Backend.Threads().Sums(ctx)
	if err != nil {
		return nil, err
	}
	running, unread, err := u.Backend.Running(ctx)
	if err != nil {
		return nil, err
	}
	b := &overviewBody{past: past, Prompts: u.Backend.Served(), Events: unread, Shared: u.Backend.Cluster().shared()}
	for _, p := range running {
		b.Outbox, b.Jobs = b.Outbox+p.Outbox, b.Jobs+p.Jobs
		if p.Behind() {
			b.Events += p.Waiting
			if !p.Oldest.IsZero() && (b.Oldest.IsZero() || p.Oldest.Before(b.Oldest)) {
				b.Oldest = p.Oldest
			}
		}
	}
	for _, s := range b.Prompts {
		b.Held, b.Whole = b.Held+s.Held, b.Whole+s.Whole
	}
	b.groups(sums)
	for _, name := range sorted(past.Models, func(s spent) int64 { return s.Cost }) {
		s := past.Models[name]
		b.ByModel = append(b.ByModel, modelRow{name, s})
		b.Today.Cost, b.Today.Calls, b.Today.Unknown = b.Today.Cost+s.Cost, b.Today.Calls+s.Calls, b.Today.Unknown+s.Unknown
	}
	b.plots()
	return &page{Name: "overview", Title: "Overview", Nav: "overview", Live: true, Body: b}, nil
}

func (b *overviewBody) groups(sums map[roster.Group]roster.Sums) {
	agents, policies := map[string]roster.Sums{}, map[string]roster.Sums{}
	for g, s := range sums {
		b.All = plus(b.All, s)
		agents[g.Agent] = plus(agents[g.Agent], s)
		policies[g.Policy] = plus(policies[g.Policy], s)
	}
	b.Agents, b.More = rows(agents)
	b.ByPolicy, _ = rows(policies)
}

func rows(list map[string]roster.Sums) (of []group, more int) {
	names := sorted(list, func(s roster.Sums) int64 { return int64(s.Tokens) })
	most := uint64(1)
	for _, name := range names {
		most = max(most, list[name].Tokens)
	}
	for _, name := range names[:min(len(names), shownGroups)] {
		of = append(of, group{name, list[name], float64(list[name].Tokens) / float64(most)})
	}
	return of, len(names) - len(of)
}

func plus(a, b roster.Sums) roster.Sums {
	a.Threads, a.Tokens, a.Live, a.CostMicroUSD, a.Active, a.Stale = a.Threads+b.Threads, a.Tokens+b.Tokens, a.Live+b.Live, a.CostMicroUSD+b.CostMicroUSD, a.Active+b.Active, a.Stale+b.Stale
	return a
}

func (b *overviewBody) plots() {
	number := func(f float64) string { return compact(f) }
	money := func(f float64) string { return timeline.Dollars(int64(f)) }
	b.Plots = []Plot{
		{ID: "events", Title: "Events per hour", Names: []string{"events"}, Show: number, Empty: "No events in the last 24 hours."},
		{ID: "made", Title: "Summaries made and gone stale, per hour", Names: []string{"made", "stale"}, Show: number, Empty: "No summaries in the last 24 hours."},
		{ID: "tokens", Title: "Tokens summarized, before and after", Names: []string{"before", "after"}, Show: number, Empty: "No summaries in the last 24 hours."},
		{ID: "cost", Title: "Cost of precis's own calls, per hour", Names: []string{"cost"}, Show: money, Empty: "No paid calls in the last 24 hours."},
	}
	var total hour
	events := uint64(0)
	for i, begin := range b.Begins {
		o, label := &b.Hours[i], begin.UTC().Format("Mon 15:04")
		events += b.past.Events[i]
		total.Made, total.Stale, total.Before, total.After, total.Cost = total.Made+o.Made, total.Stale+o.Stale, total.Before+o.Before, total.After+o.After, total.Cost+o.Cost
		for j, values := range [][]float64{{float64(b.past.Events[i])}, {float64(o.Made), float64(o.Stale)}, {float64(o.Before), float64(o.After)}, {float64(o.Cost)}} {
			b.Plots[j].Points = append(b.Plots[j].Points, Point{label, values})
		}
	}
	b.Plots[0].Note = timeline.Plural(events, "event", "events") + " in 24 hours"
	b.Plots[1].Note = timeline.Number(total.Made) + " made, " + timeline.Number(total.Stale) + " stale"
	b.Plots[2].Note = compact(float64(total.Before)) + " → " + compact(float64(total.After))
	if less := timeline.Less(total.Before, total.After); less != "" {
		b.Plots[2].Note += " (" + less + ")"
	}
	b.Plots[3].Note = timeline.Dollars(total.Cost) + " in 24 hours"
}
