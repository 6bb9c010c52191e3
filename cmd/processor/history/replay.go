package history

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"precis/cmd/processor/console"
	"precis/internal/audit"
	"precis/internal/config"
	"precis/internal/processor"
	"precis/internal/savings"
)

// Replay folds the log again and checks every step.
type Replay struct {
	logFlags
	Thread  string `placeholder:"ID" help:"Report on one thread; read no other."`
	Agent   string `placeholder:"ID" help:"Report on the threads that this agent started."`
	Only    string `name:"policy-name" placeholder:"NAME" help:"Report on decisions of this policy."`
	From    string `placeholder:"TIME" help:"Report from this time (2026-01-02T15:04:05Z, or a day)."`
	To      string `placeholder:"TIME" help:"Fold up to this time."`
	Policy  string `type:"existingfile" placeholder:"FILE" help:"What if: fold the same log under this configuration too, and compare. Calls and publishes nothing."`
	Model   string `placeholder:"NAME" help:"With --policy: price the turns of threads whose messages name no model as this one's."`
	NoRules bool   `name:"no-rules" help:"Do not recompute summaries by rules: faster, and proves everything but their texts."`
}

// Help shows the command used.
func (Replay) Help() string {
	return `Folds EVENTS and SUMMARIES from the start with the code that runs live, and verifies each step: every event is accounted for, every summary by rules is recomputed byte for byte with its sources and their digest, every trigger fired and none was missed under the configuration of that time, every edit was followed by its invalidations, every cost follows from the prices on record, every chain is unbroken. Publishes nothing; the processor may be running. With --data it also compares a store at rest with the log.

Lists discrepancies; the exit status is 1 if there are any.

Examples:

    processor replay
    processor replay --thread demo-1 --json
    processor replay --from 2026-11-01 --to 2026-11-30 --agent support-bot
    processor replay --data /var/lib/precis
    processor replay --policy other.yaml --model claude-sonnet-4-6`
}

// Run replays, and ends with status 1 where something is wrong.
func (c *Replay) Run(ctx context.Context, a *console.App) error {
	filter, err := c.filter()
	if err != nil {
		return err
	}
	return c.withLog(ctx, a, "it is the log alone that is verified.", func(ctx context.Context, l *logAtHand) error {
		bar := console.NewLogProgress(a, "folding the log")
		defer bar.Done()
		o := l.options(bar)
		o.Filter, o.Rules = filter, !c.NoRules
		if c.Policy != "" {
			return c.whatIf(ctx, a, o, bar)
		}
		rep, err := audit.Replay(ctx, o)
		bar.Clear()
		if err != nil {
			return err
		}
		return printReplay(a, rep, filter, c.JSON)
	})
}

func (c *Replay) filter() (f audit.Filter, err error) {
	f = audit.Filter{Thread: c.Thread, Agent: c.Agent, Policy: c.Only}
	f.From, f.To, err = spanFlags(c.From, c.To)
	return f, err
}

// printReplay prints a report; a finding is an error, and so is a name that the log does not have.
func printReplay(a *console.App, r *audit.Report, f audit.Filter, asJSON bool) error {
	if asJSON {
		a.JSON(r)
	} else {
		printFindings(a, r)
		printProofs(a, r)
		printVerdict(a, r, f)
	}
	if r.Clean() && f.Named() && !r.Known {
		return console.Wrong("the log has no %s", asked(f))
	}
	if r.Clean() {
		return nil
	}
	return console.Wrong("%s: the log contradicts the records", console.Counted(uint64(len(r.Findings))+r.More, "discrepancy"))
}

// findingChars is how much of a text a finding's cell shows.
const findingChars = 56

func printFindings(a *console.App, r *audit.Report) {
	if len(r.Findings) == 0 {
		return
	}
	w := a.Columns()
	fmt.Fprintln(w, "EVENT\tCHECK\tTHREAD\tSUMMARY\tWANT\tGOT")
	for _, f := range r.Findings {
		event := "-"
		if f.EventSeq > 0 {
			event = fmt.Sprint(f.EventSeq)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", event, f.Check, tableCell(string(f.Thread)), tableCell(string(f.Summary)), tableCell(f.Want), tableCell(f.Got))
	}
	_ = w.Flush()
	if r.More > 0 {
		a.Printf("… and %s more\n", console.Grouped(r.More))
	}
	a.Printf("\n")
}

func tableCell(text string) string {
	if text == "" {
		return "-"
	}
	return console.Clip(console.Printable(text), findingChars)
}

func printProofs(a *console.App, r *audit.Report) {
	var t console.Table
	t.Add("log", fmt.Sprintf("EVENTS %s to %s%s", console.Grouped(r.Log.FirstSeq), console.Grouped(r.Log.LastSeq), between(r.Log.From, r.Log.To)))
	if !r.Log.Whole {
		t.Add("", "events before that are gone"+cutText(r))
		t.Add("", "still provable: chains and their order, costs, causes, what was started and ended")
	}
	t.Add("events", counts(r.Events)+" of "+console.Counted(r.Threads, "thread"))
	t.Add("records", counts(r.Records))
	t.Add("tokens", promptTokens(r.Totals.Tokens)+" in prompts")
	t.Add("proved", counts(r.Proved))
	for i, u := range r.Unproved {
		t.Add(map[bool]string{true: "not provable"}[i == 0], console.Grouped(u.Count)+" × "+u.Reason)
	}
	for i, l := range r.Losses {
		t.Add(map[bool]string{true: "losses"}[i == 0], fmt.Sprintf("accepted %s: EVENTS holds the applied events up to %s, of %s",
			console.Time(l.AcceptedAt), console.Grouped(int64(l.EventsSeq)), console.Grouped(int64(l.AppliedSeq))))
	}
	if len(r.Voided) > 0 {
		t.Add("void by them", counts(r.Voided))
	}
	if r.Pending > 0 {
		t.Add("under way", console.Grouped(r.Pending)+" decided or started just now, not yet on record")
	}
	if r.Store != "" {
		t.Add("store", "compared with the log: "+r.Store)
	}
	if r.Took >= time.Second { // of less, a rate says nothing
		t.Add("speed", fmt.Sprintf("%s events in %s: %s a second", console.Grouped(r.Log.Read), r.Took.Round(time.Millisecond), console.Grouped(int64(r.EventsPerSecond))))
	}
	a.Printf("%s", &t)
}

// printVerdict says so where nothing is wrong, unless nothing was looked at.
func printVerdict(a *console.App, r *audit.Report, f audit.Filter) {
	switch narrowed := f.Named() || !f.From.IsZero() || !f.To.IsZero(); {
	case !r.Clean():
	case narrowed && !r.Matched():
		a.Printf("\nNothing in the log matches.\n")
	default:
		a.Printf("\nNo discrepancies: the log proves everything on record.\n")
	}
}

// cutText says whose state can't be proved.
func cutText(r *audit.Report) string {
	if r.Log.Excused == 0 {
		return ", and no retention on record accounts for that"
	}
	text := fmt.Sprintf(", by retention up to %s: counters and decisions of %s that began earlier are not provable; all others are", console.Grouped(r.Log.Excused), console.Counted(r.Log.Cut, "thread"))
	if r.Store == "" {
		text += "; --data also tells when threads without a record began"
	}
	return text
}

func between(from, to time.Time) string {
	if from.IsZero() {
		return ""
	}
	return fmt.Sprintf(" (%s to %s)", console.Time(from), console.Time(to))
}

// counts writes numbers by name, the largest first.
func counts(by map[string]uint64) string {
	names := slices.Sorted(maps.Keys(by))
	slices.SortStableFunc(names, func(a, b string) int { return int(by[b]) - int(by[a]) })
	var parts []string
	for _, name := range names {
		parts = append(parts, console.Grouped(by[name])+" "+name)
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}

// whatIf folds the log under another configuration and shows it beside what happened.
func (c *Replay) whatIf(ctx context.Context, a *console.App, o audit.Options, bar *console.Progress) (err error) {
	cfg, err := config.LoadWithoutSecrets(config.Sources{File: c.Policy})
	if err != nil {
		return &console.ExitError{Status: console.ExitUsage, Err: err}
	}
	fc, err := processor.FoldConfig(cfg, console.Version())
	if err != nil {
		return &console.ExitError{Status: console.ExitUsage, Err: err}
	}
	scratch, drop, err := scratchStore()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, drop()) }()
	so := savings.Options{CacheFor: savings.DefaultCacheFor, Model: c.Model}
	if so.Prices, err = cfg.Pricing.Table(); err != nil {
		return &console.ExitError{Status: console.ExitUsage, Err: err}
	}
	o.Savings = &so
	w, err := audit.Imagine(ctx, o, scratch, fc)
	bar.Clear()
	if err != nil {
		return err
	}
	if c.JSON {
		a.JSON(w)
		return nil
	}
	printWhatIf(a, w, c.Policy)
	return nil
}

func printWhatIf(a *console.App, w *audit.WhatIf, file string) {
	a.Printf("%s of %s\n\n", console.Counted(w.Log.Read, "event"), console.Counted(w.Threads, "thread"))
	out := a.Columns()
	row := func(name string, of func(*audit.Totals) string) {
		fmt.Fprintf(out, "%s\t%s\t%s\n", name, of(&w.Happened), of(&w.Imagined))
	}
	fmt.Fprintf(out, "\tWHAT HAPPENED\tUNDER %s\n", console.Printable(file))
	for _, kind := range kinds(w) {
		row(kind+" summaries", func(t *audit.Totals) string { return madeText(t.Summaries[kind]) })
	}
	row("invalidated", func(t *audit.Totals) string { return console.Grouped(t.Invalidated) })
	row("tokens of messages → prompts", func(t *audit.Totals) string { return promptTokens(t.Tokens) })
	rowsOfThreads(out, w)
	row("tokens saved", func(t *audit.Totals) string { return console.Grouped(t.Saved()) })
	row("model calls", func(t *audit.Totals) string {
		return fmt.Sprintf("%s (%s in, %s out)", console.Grouped(t.ModelCalls), console.Grouped(t.InputTokens), console.Grouped(t.OutputTokens))
	})
	row("cost", totalCost)
	rowsOfSavings(out, w.Savings)
	_ = out.Flush()
	printBills(a, w)
	if w.Findings > 0 {
		a.Printf("\nThe log has %s: see processor replay.\n", console.Counted(w.Findings, "discrepancy"))
	}
}

func kinds(w *audit.WhatIf) []string {
	all := map[string]bool{}
	for kind := range w.Happened.Summaries {
		all[kind] = true
	}
	for kind := range w.Imagined.Summaries {
		all[kind] = true
	}
	return slices.Sorted(maps.Keys(all))
}

func madeText(m *audit.Made) string {
	if m == nil {
		return "0"
	}
	var by []string
	for _, method := range slices.Sorted(maps.Keys(m.Methods)) {
		by = append(by, fmt.Sprintf("%s %s", console.Grouped(m.Methods[method]), method))
	}
	return fmt.Sprintf("%s (%s)", console.Grouped(m.Count), strings.Join(by, ", "))
}

// promptTokens is what messages hold, and what prompts hold of them.
func promptTokens(t audit.Tokens) string {
	return console.Change(t.Total, t.Live, "")
}

// shownThreads is how many threads a table shows; --json lists more.
const shownThreads = 10

// rowsOfThreads compares the largest threads' prompts.
func rowsOfThreads(out io.Writer, w *audit.WhatIf) {
	imagined := map[string]audit.Tokens{}
	for _, t := range w.Imagined.Threads {
		imagined[t.Thread] = t.Tokens
	}
	for _, t := range w.Happened.Threads[:min(len(w.Happened.Threads), shownThreads)] {
		fmt.Fprintf(out, "  %s\t%s\t%s\n", console.Printable(t.Thread), promptTokens(t.Tokens), promptTokens(imagined[t.Thread]))
	}
}

// rowsOfSavings compares what both save: see processor savings.
func rowsOfSavings(out io.Writer, s *audit.BothSavings) {
	row := func(name string, of func(*savings.Sums) string) {
		fmt.Fprintf(out, "%s\t%s\t%s\n", name, of(&s.Happened), of(&s.Imagined))
	}
	row("tokens of all prompts", func(s *savings.Sums) string { return console.Change(s.WholeTokens, s.HeldTokens, "") })
	row("saved on them", func(s *savings.Sums) string { return console.Cents(s.SavedMicroUSD) })
	row("less changed prefixes", func(s *savings.Sums) string { return console.Cents(s.PrefixMicroUSD) })
	row("less own calls", ownCost)
	row("net", func(s *savings.Sums) string {
		if s.TurnsUnpriced > 0 {
			return fmt.Sprintf("%s (%s of unknown price)", console.Cents(s.NetMicroUSD), console.Counted(s.TurnsUnpriced, "turn"))
		}
		return console.Cents(s.NetMicroUSD)
	})
}

func totalCost(t *audit.Totals) string {
	text := console.Dollars(&t.CostMicroUSD)
	if t.CostUnknown > 0 {
		text += fmt.Sprintf(" and %s of unknown price", console.Counted(t.CostUnknown, "call"))
	}
	return text
}

// printBills says what models would cost where the other configuration has rules.
func printBills(a *console.App, w *audit.WhatIf) {
	if len(w.Estimates) == 0 {
		return
	}
	a.Printf("\nIf a model made the summaries that the rules make there (estimated, list prices):\n")
	for _, b := range w.Estimates {
		a.Printf("  %s %s: %s for %s calls (%s tokens in, %s out)\n", console.Printable(b.Provider), console.Printable(b.Model),
			console.Dollars(b.CostMicroUSD), console.Grouped(b.Calls), console.Grouped(b.InputTokens), console.Grouped(b.OutputTokens))
	}
}
