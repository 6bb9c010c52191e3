package history

import (
	"context"
	"fmt"
	"time"

	"precis/cmd/processor/console"
	"precis/internal/audit"
	"precis/internal/config"
	"precis/internal/savings"
	"precis/summarize/pricing"
)

// Savings says what summaries saved, and what they cost.
type Savings struct {
	logFlags
	By     string        `enum:"thread,agent,model,policy,day" default:"thread" placeholder:"WHAT" help:"Group by thread, agent, model, policy or day of the answers (${default})."`
	Thread string        `placeholder:"ID" help:"Count one thread; read no other."`
	Agent  string        `placeholder:"ID" help:"Count the threads that this agent started."`
	Only   string        `name:"policy-name" placeholder:"NAME" help:"Count the turns under this policy."`
	From   string        `placeholder:"TIME" help:"Count from this time (2026-01-02T15:04:05Z, or a day)."`
	To     string        `placeholder:"TIME" help:"Count up to this time."`
	Model  string        `placeholder:"NAME" help:"Price the turns of threads whose messages name no model as this one's."`
	Cache  time.Duration `default:"5m" placeholder:"DURATION" help:"How long a provider's cache holds a prompt; 0s: price without a cache (${default})."`
}

// Help shows the command used.
func (Savings) Help() string {
	return `Folds EVENTS and SUMMARIES from the start and compares, at each turn of an assistant, the prompt that precis.thread.context would have given (PRECIS) with all messages of the thread (ALL), at the prices of the model that the thread's messages name: with what the provider reads from its cache, which is the beginning that has not changed since the turn before.

SAVED is the difference in money, PREFIX what was written to the cache again because summaries changed what stood before, OWN what precis's own calls cost, NET the rest. A negative NET means that it did not pay. Prices are list prices, those of pricing.file with --config. A model without a price gives "unknown", and its turns are in no amount.

SENT says which prompt the agent sent, by the growth of the input tokens that providers report in usage: precis (only then the sums were saved), own (they would have been), mixed, or unknown. Publishes nothing; the processor may be running.

Examples:

    processor savings
    processor savings --by model --from 2026-11-01
    processor savings --by day
    processor savings --thread demo-1 --json
    processor savings --by agent --model claude-sonnet-4-6 --cache 1h`
}

// Run computes and prints them.
func (c *Savings) Run(ctx context.Context, a *console.App) error {
	filter := audit.Filter{Thread: c.Thread, Agent: c.Agent, Policy: c.Only}
	var err error
	if filter.From, filter.To, err = spanFlags(c.From, c.To); err != nil {
		return err
	}
	if c.Cache < 0 {
		return console.Usage("--cache %s: give a duration, or 0s for no cache", c.Cache)
	}
	options := savings.Options{Model: c.Model, CacheFor: c.Cache}
	if options.Prices, err = pricesUnder(a, c.Config); err != nil {
		return err
	}
	if _, known := options.Prices.Lookup(time.Now(), c.Model); c.Model != "" && !known {
		return console.Usage("--model %s: no price is known for it", console.Printable(c.Model))
	}
	return c.withLog(ctx, a, func(ctx context.Context, l *logAtHand) error {
		bar := console.NewLogProgress(a, "folding the log")
		defer bar.Done()
		o := l.options(bar)
		o.Filter, o.Savings = filter, &options
		rep, err := audit.Save(ctx, o, c.By)
		bar.Clear()
		if err != nil {
			return err
		}
		if c.JSON {
			a.JSON(rep)
		} else {
			printSavings(a, rep)
		}
		if filter.Named() && !rep.Known() {
			return console.Wrong("the log has no turn of a %s", asked(filter))
		}
		return nil
	})
}

// pricesUnder is the price table under the configuration in a file; empty: the built-in one.
func pricesUnder(a *console.App, file string) (*pricing.Table, error) {
	if file == "" {
		return pricing.Builtin(), nil
	}
	cfg, err := config.LoadWithoutSecrets(config.Sources{File: file, Env: a.Env})
	if err != nil {
		return nil, &console.ExitError{Status: console.ExitUsage, Err: err}
	}
	table, err := cfg.Pricing.Table()
	if err != nil {
		return nil, &console.ExitError{Status: console.ExitUsage, Err: err}
	}
	return table, nil
}

// shownGroups is how many groups a table shows; --json lists more.
const shownGroups = 20

func printSavings(a *console.App, r *audit.Savings) {
	a.Printf("%s of %s%s\n\n", console.Counted(r.Log.Read, "event"), console.Counted(r.Threads, "thread"), between(r.Log.From, r.Log.To))
	if r.Total.Turns == 0 && r.Threads == 0 {
		a.Printf("No turn of an assistant.\n")
		return
	}
	out := a.NumberColumns()
	fmt.Fprint(out, "TURNS\tALL\tPRECIS\t\tSAVED\tPREFIX\tOWN\tNET\tSENT\t "+savingsHeads[r.By]+"\n")
	row := func(s *savings.Sums, sent, name string) {
		fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t %s\n", console.Grouped(s.Turns), console.Grouped(s.WholeTokens), console.Grouped(s.HeldTokens),
			console.Percentage(s.HeldTokens-s.WholeTokens, s.WholeTokens), console.Cents(s.SavedMicroUSD), console.Cents(s.PrefixMicroUSD), ownCost(s), console.Cents(s.NetMicroUSD), sent, name)
	}
	shown := r.Groups[:min(len(r.Groups), shownGroups)]
	if r.By == savings.ByDay {
		shown = r.Groups[len(r.Groups)-len(shown):]
	}
	for i := range shown {
		g := &shown[i]
		row(&g.Sums, g.Sent, tableCell(string(g.Name)))
	}
	if more := uint64(len(r.Groups)) - min(uint64(len(r.Groups)), shownGroups) + r.More; more > 0 {
		fmt.Fprintf(out, "\t\t\t\t\t\t\t\t\t … and %s more\n", console.Grouped(more))
	}
	row(&r.Total, r.Total.Reported.Sent(), "TOTAL")
	_ = out.Flush()
	a.Printf("\n")
	printSent(a, r)
	printReported(a, &r.Total.Reported)
	printUncounted(a, r)
}

var savingsHeads = map[string]string{
	savings.ByThread: "THREAD", savings.ByAgent: "AGENT", savings.ByModel: "MODEL", savings.ByPolicy: "POLICY", savings.ByDay: "DAY",
}

// printSent says for whom the sums are true.
func printSent(a *console.App, r *audit.Savings) {
	texts := map[string]string{
		savings.SentPrecis:  "sent precis's prompts: saved",
		savings.SentOwn:     "sent their own prompts: would have saved",
		savings.SentMixed:   "sent prompts of both kinds: saved a part of",
		savings.SentUnknown: "report nothing that tells: with precis's prompts, saved",
	}
	var t console.Table
	for i := range r.Sent {
		s := &r.Sent[i]
		name := ""
		if i == 0 {
			name = "sent"
		}
		t.Add(name, fmt.Sprintf("%s of agents that %s %s tokens, net %s", console.Counted(s.Turns, "turn"), texts[s.Sent], console.Grouped(s.SavedTokens), console.Cents(s.NetMicroUSD)))
	}
	a.Printf("%s", &t)
}

// printReported sets what providers reported beside what was computed.
func printReported(a *console.App, r *savings.Reported) {
	if r.Turns == 0 {
		a.Printf("%s", &console.Table{Rows: [][2]string{{"usage", "no message reports any"}}})
		return
	}
	var t console.Table
	t.Add("usage", fmt.Sprintf("%s: providers saw %s tokens, %s of them cached", console.Counted(r.Turns, "turn"), console.Grouped(r.InputTokens), console.Share(r.CachedTokens, r.InputTokens)))
	t.Add("", fmt.Sprintf("precis's prompts hold %s there, %s of them cached as computed", console.Grouped(r.HeldTokens), console.Share(r.HeldCached, r.HeldTokens)))
	t.Add("", fmt.Sprintf("all messages have %s, %s of them cached as computed", console.Grouped(r.WholeTokens), console.Share(r.WholeCached, r.WholeTokens)))
	t.Add("", fmt.Sprintf("what was sent grew as precis's prompts in %s, as all messages in %s", console.Counted(r.FitPrecis, "turn"), console.Grouped(r.FitOwn)))
	a.Printf("%s", &t)
}

// printUncounted says what is in no amount, or counted with a reservation.
func printUncounted(a *console.App, r *audit.Savings) {
	var t console.Table
	if s := &r.Total; s.TurnsUnpriced > 0 {
		t.Add("no price", fmt.Sprintf("%s of models without a known price (%s tokens saved) are in no amount: see --model and pricing.file", console.Counted(s.TurnsUnpriced, "turn"), console.Grouped(s.SavedTokensUnpriced)))
	}
	if s := &r.Total; s.OwnUnpricedMicroUSD > 0 && s.NetMicroUSD != nil {
		t.Add("", fmt.Sprintf("%s of OWN are for threads of such models alone: NET leaves them out", console.Cents(&s.OwnUnpricedMicroUSD)))
	}
	if s := &r.Total; s.OwnUnknown > 0 {
		t.Add("", fmt.Sprintf("%s of precis have no known price: NET lacks them", console.Counted(s.OwnUnknown, "own call")))
	}
	if o := r.Total.OverWindow; o.Turns > 0 {
		t.Add("window", fmt.Sprintf("%s have more messages than the policy's context_window takes: %s tokens and %s of what is saved were made possible, not saved",
			console.Counted(o.Turns, "turn"), console.Grouped(o.SavedTokens), console.Cents(&o.SavedMicroUSD)))
	}
	if !r.Log.Whole {
		t.Add("log", fmt.Sprintf("begins at event %s: turns before that are not counted, and %s that began earlier weigh what is left of them", console.Grouped(r.Log.FirstSeq), console.Counted(r.Log.Cut, "thread")))
	}
	a.Printf("%s", &t)
}

func ownCost(s *savings.Sums) string {
	if s.OwnUnknown > 0 && s.OwnMicroUSD == 0 {
		return "unknown"
	}
	return console.Cents(&s.OwnMicroUSD)
}
