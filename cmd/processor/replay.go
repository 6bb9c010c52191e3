package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"

	"precis/internal/audit"
	"precis/internal/broker"
	"precis/internal/config"
	"precis/internal/processor"
	"precis/internal/savings"
	"precis/internal/secrets"
	"precis/state"
)

// replayCmd folds the log again and checks every step.
type replayCmd struct {
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
func (replayCmd) Help() string {
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
func (c *replayCmd) Run(ctx context.Context, a *app) error {
	filter, err := c.filter()
	if err != nil {
		return err
	}
	return c.withLog(ctx, a, func(ctx context.Context, l *logAtHand) error {
		bar := newLogProgress(a, "folding the log")
		defer bar.done()
		o := l.options(bar)
		o.Filter, o.Rules = filter, !c.NoRules
		if c.Policy != "" {
			return c.whatIf(ctx, a, o, bar)
		}
		rep, err := audit.Replay(ctx, o)
		bar.clear()
		if err != nil {
			return err
		}
		return printReplay(a, rep, filter, c.JSON)
	})
}

func (c *replayCmd) filter() (f audit.Filter, err error) {
	f = audit.Filter{Thread: c.Thread, Agent: c.Agent, Policy: c.Only}
	f.From, f.To, err = spanFlags(c.From, c.To)
	return f, err
}

// spanFlags reads --from and --to; what is not given is zero.
func spanFlags(first, last string) (from, to time.Time, err error) {
	if from, err = timeFlag("--from", first); err != nil {
		return from, to, err
	}
	if to, err = timeFlag("--to", last); err != nil {
		return from, to, err
	}
	if !to.IsZero() && from.After(to) {
		return from, to, usage("--from %s is later than --to %s", first, last)
	}
	return from, to, nil
}

// timeFlag reads a time, or a day, which is its first moment.
func timeFlag(name, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02 15:04:05", time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	return time.Time{}, usage("%s %q is not a time; write 2026-01-02T15:04:05Z, or a day: 2026-01-02 (UTC)", name, text)
}

// options of a replay over the log at hand.
func (l *logAtHand) options(bar *progress) audit.Options {
	return audit.Options{
		JetStream: l.js, Scratch: l.scratch, Store: l.store, StoreName: l.storeName, Mask: l.mask,
		Workers: runtime.GOMAXPROCS(0), Now: time.Now, Logger: zerolog.Nop(), Progress: bar.reached,
	}
}

// scratchStore is a store that is thrown away.
func scratchStore() (*state.Store, func() error, error) {
	dir, err := os.MkdirTemp("", "precis-replay-")
	if err != nil {
		return nil, nil, fmt.Errorf("make scratch store: %w", err)
	}
	store, err := state.Open(dir, state.Options{Scratch: true, Logger: zerolog.Nop()})
	if err != nil {
		return nil, nil, errors.Join(err, os.RemoveAll(dir))
	}
	return store, func() error { return errors.Join(store.Close(), os.RemoveAll(dir)) }, nil
}

// storeAtRest opens the store of a data directory to read it.
func storeAtRest(data string) (*state.Store, error) {
	dir := processor.StoreDir(data)
	if _, err := os.Stat(dir); err != nil {
		return nil, usage("--data %s: %w: give the directory that the processor ran with", data, state.ErrMissing)
	}
	return state.Open(dir, state.Options{ReadOnly: true, Logger: zerolog.Nop()})
}

// logFlags are the flags of the commands that fold the log: a server's, or a data directory's own.
type logFlags struct {
	serverFlags
	Data   string `type:"path" placeholder:"DIR" help:"Data directory of a stopped processor: compare its store with the log, which is its own unless --nats names a server."`
	Config string `type:"existingfile" env:"PRECIS_CONFIG" placeholder:"FILE" help:"Configuration of the processor. Its secrets are masked by value, so recomputing a text that contains one needs them."`
}

// logAtHand is an opened log with a scratch store to fold it into.
type logAtHand struct {
	js        jetstream.JetStream
	scratch   *state.Store
	store     *state.Store // nil if none is compared with the log
	storeName string
	mask      func(string) string
}

// withLog opens what the flags name, does the work and closes it.
func (f logFlags) withLog(ctx context.Context, a *app, work func(context.Context, *logAtHand) error) (err error) {
	l := &logAtHand{storeName: f.Data}
	if l.mask, err = maskUnder(a, f.Config); err != nil {
		return err
	}
	if f.Data != "" {
		if l.store, err = storeAtRest(f.Data); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, l.store.Close()) }()
	}
	js, closeLog, err := f.open(ctx, a)
	if err != nil {
		return err
	}
	defer closeLog()
	scratch, drop, err := scratchStore()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, drop()) }()
	l.js, l.scratch = js, scratch
	return logError(work(ctx, l))
}

// maskUnder takes secrets out of texts as a processor does under the configuration in a file; empty: under none.
func maskUnder(a *app, file string) (func(string) string, error) {
	masker, err := secrets.Load()
	if err != nil {
		return nil, fmt.Errorf("load rules for secrets: %w", err)
	}
	if file == "" {
		return masker.Mask, nil
	}
	cfg, err := config.LoadWithoutSecrets(config.Sources{File: file, Env: a.env})
	if err != nil {
		return nil, &exitError{status: exitUsage, err: err}
	}
	values, err := cfg.Secrets()
	if err != nil {
		return nil, err
	}
	return masker.With(values...).Mask, nil
}

// open reaches the server, or starts one over the data directory's own log.
func (f logFlags) open(ctx context.Context, a *app) (jetstream.JetStream, func(), error) {
	dir := processor.BrokerDir(f.Data)
	if _, err := os.Stat(dir); f.Data == "" || f.NATS != "" || err != nil {
		s, err := f.connect(a)
		if err != nil {
			return nil, nil, err
		}
		return s.js, s.close, nil
	}
	b, err := broker.Open(ctx, broker.Options{StoreDir: dir, Logger: zerolog.New(a.stderr).Level(zerolog.ErrorLevel)})
	if err != nil {
		return nil, nil, err
	}
	return b.JetStream(), func() { _ = b.Close(context.WithoutCancel(ctx)) }, nil
}

// logError explains what a fold met at the server.
func logError(err error) error {
	var exit *exitError
	if err == nil || errors.As(err, &exit) || statusOf(err) != exitUnreachable {
		return err
	}
	return serverError("fold the log", err)
}

// printReplay prints a report; a finding is an error, and so is a name that the log does not have.
func printReplay(a *app, r *audit.Report, f audit.Filter, asJSON bool) error {
	if asJSON {
		a.json(r)
	} else {
		printFindings(a, r)
		printProofs(a, r)
		printVerdict(a, r, f)
	}
	if r.Clean() && f.Named() && !r.Known {
		return wrong("the log has no %s", asked(f))
	}
	if r.Clean() {
		return nil
	}
	return wrong("%s: the log contradicts the records", counted(uint64(len(r.Findings))+r.More, "discrepancy"))
}

// findingChars is how much of a text a finding's cell shows.
const findingChars = 56

func printFindings(a *app, r *audit.Report) {
	if len(r.Findings) == 0 {
		return
	}
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
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
		a.printf("… and %s more\n", grouped(r.More))
	}
	a.printf("\n")
}

func tableCell(text string) string {
	if text == "" {
		return "-"
	}
	return clip(printable(text), findingChars)
}

func printProofs(a *app, r *audit.Report) {
	var t table
	t.add("log", fmt.Sprintf("EVENTS %s to %s%s", grouped(r.Log.FirstSeq), grouped(r.Log.LastSeq), between(r.Log.From, r.Log.To)))
	if !r.Log.Whole {
		t.add("", "events before that are gone"+cutText(r))
		t.add("", "still provable: chains and their order, costs, causes, what was started and ended")
	}
	t.add("events", counts(r.Events)+" of "+counted(r.Threads, "thread"))
	t.add("records", counts(r.Records))
	t.add("tokens", promptTokens(r.Totals.Tokens)+" in prompts")
	t.add("proved", counts(r.Proved))
	for i, u := range r.Unproved {
		t.add(map[bool]string{true: "not provable"}[i == 0], grouped(u.Count)+" × "+u.Reason)
	}
	for i, l := range r.Losses {
		t.add(map[bool]string{true: "losses"}[i == 0], fmt.Sprintf("accepted %s: EVENTS holds the applied events up to %s, of %s",
			l.AcceptedAt.UTC().Format(time.RFC3339), grouped(int64(l.EventsSeq)), grouped(int64(l.AppliedSeq))))
	}
	if len(r.Voided) > 0 {
		t.add("void by them", counts(r.Voided))
	}
	if r.Pending > 0 {
		t.add("under way", grouped(r.Pending)+" decided or started just now, not yet on record")
	}
	if r.Store != "" {
		t.add("store", "compared with the log: "+r.Store)
	}
	t.add("speed", fmt.Sprintf("%s events in %s: %s a second", grouped(r.Log.Read), r.Took.Round(time.Millisecond), grouped(int64(r.EventsPerSecond))))
	a.printf("%s", &t)
}

// printVerdict says so where nothing is wrong, unless nothing was looked at.
func printVerdict(a *app, r *audit.Report, f audit.Filter) {
	switch narrowed := f.Named() || !f.From.IsZero() || !f.To.IsZero(); {
	case !r.Clean():
	case narrowed && !r.Matched():
		a.printf("\nNothing in the log matches.\n")
	default:
		a.printf("\nNo discrepancies: the log proves everything on record.\n")
	}
}

// asked is what a filter names, in words.
func asked(f audit.Filter) string {
	var parts []string
	for _, p := range [][2]string{{"thread %q", f.Thread}, {"thread started by agent %q", f.Agent}, {"decision of policy %q", f.Policy}} {
		if p[1] != "" {
			parts = append(parts, fmt.Sprintf(p[0], p[1]))
		}
	}
	text := strings.Join(parts, ", ")
	if !f.To.IsZero() {
		text += " up to " + f.To.UTC().Format(time.RFC3339)
	}
	return text
}

// cutText says whose state can't be proved.
func cutText(r *audit.Report) string {
	if r.Log.Excused == 0 {
		return ", and no retention on record accounts for that"
	}
	text := fmt.Sprintf(", by retention up to %s: counters and decisions of %s that began earlier are not provable; all others are", grouped(r.Log.Excused), counted(r.Log.Cut, "thread"))
	if r.Store == "" {
		text += "; --data also tells when threads without a record began"
	}
	return text
}

func between(from, to time.Time) string {
	if from.IsZero() {
		return ""
	}
	return fmt.Sprintf(" (%s to %s)", from.UTC().Format(time.RFC3339), to.UTC().Format(time.RFC3339))
}

// counts writes numbers by name, the largest first.
func counts(by map[string]uint64) string {
	names := slices.Sorted(maps.Keys(by))
	slices.SortStableFunc(names, func(a, b string) int { return int(by[b]) - int(by[a]) })
	var parts []string
	for _, name := range names {
		parts = append(parts, grouped(by[name])+" "+name)
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}

// whatIf folds the log under another configuration and shows it beside what happened.
func (c *replayCmd) whatIf(ctx context.Context, a *app, o audit.Options, bar *progress) (err error) {
	cfg, err := config.LoadWithoutSecrets(config.Sources{File: c.Policy})
	if err != nil {
		return &exitError{status: exitUsage, err: err}
	}
	fc, err := processor.FoldConfig(cfg, version())
	if err != nil {
		return &exitError{status: exitUsage, err: err}
	}
	scratch, drop, err := scratchStore()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, drop()) }()
	so := savings.Options{CacheFor: savings.DefaultCacheFor, Model: c.Model}
	if so.Prices, err = cfg.Pricing.Table(); err != nil {
		return &exitError{status: exitUsage, err: err}
	}
	o.Savings = &so
	w, err := audit.Imagine(ctx, o, scratch, fc)
	bar.clear()
	if err != nil {
		return err
	}
	if c.JSON {
		a.json(w)
		return nil
	}
	printWhatIf(a, w, c.Policy)
	return nil
}

func printWhatIf(a *app, w *audit.WhatIf, file string) {
	a.printf("%s of %s\n\n", counted(w.Log.Read, "event"), counted(w.Threads, "thread"))
	out := tabwriter.NewWriter(a.stdout, 0, 0, 3, ' ', 0)
	row := func(name string, of func(*audit.Totals) string) {
		fmt.Fprintf(out, "%s\t%s\t%s\n", name, of(&w.Happened), of(&w.Imagined))
	}
	fmt.Fprintf(out, "\tWHAT HAPPENED\tUNDER %s\n", printable(file))
	for _, kind := range kinds(w) {
		row(kind+" summaries", func(t *audit.Totals) string { return madeText(t.Summaries[kind]) })
	}
	row("invalidated", func(t *audit.Totals) string { return grouped(t.Invalidated) })
	row("tokens of messages → prompts", func(t *audit.Totals) string { return promptTokens(t.Tokens) })
	rowsOfThreads(out, w)
	row("tokens saved", func(t *audit.Totals) string { return grouped(t.Saved()) })
	row("model calls", func(t *audit.Totals) string {
		return fmt.Sprintf("%s (%s in, %s out)", grouped(t.ModelCalls), grouped(t.InputTokens), grouped(t.OutputTokens))
	})
	row("cost", totalCost)
	rowsOfSavings(out, w.Savings)
	_ = out.Flush()
	printBills(a, w)
	if w.Findings > 0 {
		a.printf("\nThe log has %s: see processor replay.\n", counted(w.Findings, "discrepancy"))
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
		by = append(by, fmt.Sprintf("%s %s", grouped(m.Methods[method]), method))
	}
	return fmt.Sprintf("%s (%s)", grouped(m.Count), strings.Join(by, ", "))
}

// promptTokens is what messages hold, and what prompts hold of them.
func promptTokens(t audit.Tokens) string {
	return strings.Replace(change(t.Total, t.Live, ""), "  (", " (", 1)
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
		fmt.Fprintf(out, "  %s\t%s\t%s\n", printable(t.Thread), promptTokens(t.Tokens), promptTokens(imagined[t.Thread]))
	}
}

// rowsOfSavings compares what both save: see processor savings.
func rowsOfSavings(out io.Writer, s *audit.BothSavings) {
	row := func(name string, of func(*savings.Sums) string) {
		fmt.Fprintf(out, "%s\t%s\t%s\n", name, of(&s.Happened), of(&s.Imagined))
	}
	row("tokens of all prompts", func(s *savings.Sums) string { return change(s.WholeTokens, s.HeldTokens, "") })
	row("saved on them", func(s *savings.Sums) string { return cents(s.SavedMicroUSD) })
	row("less changed prefixes", func(s *savings.Sums) string { return cents(s.PrefixMicroUSD) })
	row("less own calls", ownCost)
	row("net", func(s *savings.Sums) string {
		if s.TurnsUnpriced > 0 {
			return fmt.Sprintf("%s (%s of unknown price)", cents(s.NetMicroUSD), counted(s.TurnsUnpriced, "turn"))
		}
		return cents(s.NetMicroUSD)
	})
}

func totalCost(t *audit.Totals) string {
	text := dollars(&t.CostMicroUSD)
	if t.CostUnknown > 0 {
		text += fmt.Sprintf(" and %s of unknown price", counted(t.CostUnknown, "call"))
	}
	return text
}

// printBills says what models would cost where the other configuration has rules.
func printBills(a *app, w *audit.WhatIf) {
	if len(w.Estimates) == 0 {
		return
	}
	a.printf("\nIf a model made the summaries that the rules make there (estimated, list prices):\n")
	for _, b := range w.Estimates {
		a.printf("  %s %s: %s for %s calls (%s tokens in, %s out)\n", printable(b.Provider), printable(b.Model),
			dollars(b.CostMicroUSD), grouped(b.Calls), grouped(b.InputTokens), grouped(b.OutputTokens))
	}
}
