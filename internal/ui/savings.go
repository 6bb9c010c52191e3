package ui

import (
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"precis/internal/audit"
	"precis/internal/savings"
	"precis/internal/timeline"
)

const (
	// maxSavings is the number of events beyond which the log is not folded for a page.
	maxSavings = 300_000
	// shownSavings is how many groups are shown, shownDays how many days.
	shownSavings, shownDays = 20, 60
)

// groupings are what savings are shown by.
var groupings = []string{savings.ByAgent, savings.ByModel, savings.ByPolicy, savings.ByDay}

// computed is the savings that were computed last, by what they are grouped by.
type computed struct {
	mu sync.Mutex
	by map[string]*saved
}

type saved struct {
	*audit.Savings
	At time.Time
}

// savingsBody is what summaries saved.
type savingsBody struct {
	By     string
	All    []string
	Report *saved // nil: not computed yet
	Plot   *Plot
	Events uint64 // that the log has
	Most   uint64 // that a page folds
	Acts   bool
}

// Groups are the largest savings, or the latest days.
func (b *savingsBody) Groups() []savings.Group {
	if b.By == savings.ByDay {
		return b.Report.Groups[max(0, len(b.Report.Groups)-shownDays):]
	}
	return b.Report.Groups[:min(len(b.Report.Groups), shownSavings)]
}

func (u *UI) savings(r *http.Request, v *Viewer) (*page, error) {
	if err := whole(v); err != nil {
		return nil, err
	}
	b := &savingsBody{By: grouping(r.URL.Query().Get("by")), All: groupings, Most: maxSavings}
	at, err := u.history.events.State(r.Context())
	if err != nil {
		return nil, err
	}
	b.Events = at.Msgs
	u.computed.mu.Lock()
	b.Report = u.computed.by[b.By]
	u.computed.mu.Unlock()
	if b.Report != nil {
		b.plot()
	}
	return &page{Name: "savings", Title: "Savings", Nav: "savings", Body: b}, nil
}

func grouping(by string) string {
	if slices.Contains(groupings, by) {
		return by
	}
	return groupings[0]
}

// plot sets what all messages would have cost beside what prompts cost; tokens where no price is known.
func (b *savingsBody) plot() {
	p := &Plot{ID: "saved", Title: "Cost of prompts by " + b.By, Note: "all messages, and precis's prompts", Names: []string{"all messages", "precis's prompts"}, Empty: "No turn of an agent has a known price.",
		Show: func(f float64) string { return timeline.Dollars(int64(f)) }, Column: b.By}
	for _, g := range b.Groups() {
		if g.WholeMicroUSD == nil || g.HeldMicroUSD == nil {
			continue
		}
		p.Points = append(p.Points, Point{nameOf(g), []float64{float64(*g.WholeMicroUSD), float64(*g.HeldMicroUSD)}})
	}
	if len(p.Points) == 0 {
		p.Title, p.Note, p.Show = "Tokens of prompts by "+b.By, "no model of the threads has a known price", compact
		for _, g := range b.Groups() {
			p.Points = append(p.Points, Point{nameOf(g), []float64{float64(g.WholeTokens), float64(g.HeldTokens)}})
		}
	}
	if len(p.Points) > 0 {
		b.Plot = p
	}
}

func nameOf(g savings.Group) string {
	if g.Name == "" {
		return "(no name)"
	}
	return string(g.Name)
}

// save computes savings: it folds the whole log, and so is no GET.
func (u *UI) save(r *http.Request, v *Viewer) (*page, error) {
	if err := whole(v); err != nil {
		return nil, err
	}
	by := grouping(r.URL.Query().Get("by"))
	ctx := r.Context()
	at, err := u.history.events.State(ctx)
	if err != nil {
		return nil, err
	}
	if at.Msgs > maxSavings {
		return nil, &failure{http.StatusUnprocessableEntity, fmt.Sprintf("The log has %s events, and a page folds at most %s. The command does: processor savings --by %s", timeline.Number(at.Msgs), timeline.Number(maxSavings), by)}
	}
	done, err := u.place(&ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	scratch, err := scratchStore()
	if err != nil {
		return nil, err
	}
	defer scratch.Close()
	o := u.folding(scratch, "")
	o.Savings = &savings.Options{CacheFor: savings.DefaultCacheFor}
	if o.Savings.Prices, err = u.Backend.Config().Pricing.Table(); err != nil {
		return nil, err
	}
	report, err := audit.Save(ctx, o, by)
	if err != nil {
		return nil, err
	}
	u.computed.mu.Lock()
	u.computed.by[by] = &saved{report, u.Backend.Now()}
	u.computed.mu.Unlock()
	return &page{To: Path + "savings?by=" + by}, nil
}
