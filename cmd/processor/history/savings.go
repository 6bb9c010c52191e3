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
	return `Folds EVENTS and SUMMARIES from the start. At each turn of an assistant it compares two prompts, in tokens and at the prices of the model that the thread's messages name: all messages of the thread (ALL MESSAGES), and what precis.thread.context would have returned (WITH PRECIS). The unchanged beginning of each is priced as read from the provider's cache.

SAVED is the difference in money. From it are taken REWRITTEN, what was written to the cache again because summaries changed an earlier part of the prompt, and OWN CALLS, what precis paid for models of its own; NET is the rest. A negative NET means that it did not pay. Prices are list prices, with --config those of pricing.file. Turns of a model without a price are in no amount: "unknown".

SENT says which prompt the agent really sent, by how the input tokens grew that its provider reported: precis (the amounts were saved), own (they would have been saved), mixed, or unknown. Publishes nothing; the processor may be running.

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
	return c.withLog(ctx, a, "the log is all that is needed.", func(ctx context.Context, l *logAtHand) error {
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
	// Not the events that were read: those that were published twice are among them, and count in nothing here.
	a.Printf("%s%s\n\n", console.Counted(r.Threads, "thread"), between(r.Log.From, r.Log.To))
	if r.Total.Turns == 0 && r.Threads == 0 {
		a.Printf("No turn of an assistant.\n")
		return
	}
	out := a.NumberColumns()
	fmt.Fprint(out, "TURNS\tALL MESSAGES\tWITH PRECIS\t\tSAVED\tREWRITTEN\tOWN CALLS\tNET\tSENT\t "+savingsHeads[r.By]+"\n")
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
	var notes console.Table
	addSent(&notes, r)
	addReported(&notes, &r.Total.Reported)
	addUncounted(&notes, r)
	a.Printf("%s", &notes)
}

var savingsHeads = map[string]string{
	savings.ByThread: "THREAD", savings.ByAgent: "AGENT", savings.ByModel: "MODEL", savings.ByPolicy: "POLICY", savings.ByDay: "DAY",
}

// addSent says for whom the sums are true.
func addSent(t *console.Table, r *audit.Savings) {
	texts := map[string]string{
		savings.SentPrecis:  "%s with precis's prompt: %s tokens saved, net %s",
		savings.SentOwn:     "%s with the agent's own prompt, nothing saved: precis's would have saved %s tokens, net %s",
		savings.SentMixed:   "%s, some with precis's prompt and some with the agent's own: a part of %s tokens saved, of net %s",
		savings.SentUnknown: "%s for which no reported usage tells which prompt was sent: if precis's, %s tokens saved, net %s",
	}
	for i := range r.Sent {
		s := &r.Sent[i]
		name := ""
		if i == 0 {
			name = "turns"
		}
		t.Add(name, fmt.Sprintf(texts[s.Sent], console.Counted(s.Turns, "turn"), console.Grouped(s.SavedTokens), console.Cents(s.NetMicroUSD)))
	}
}

// addReported sets what providers reported beside what was computed.
func addReported(t *console.Table, r *savings.Reported) {
	if r.Turns == 0 {
		t.Add("usage", "no message reports what its provider counted")
		return
	}
	t.Add("usage", fmt.Sprintf("%s: providers counted %s input tokens, %s of them cached", console.Counted(r.Turns, "turn"), console.Grouped(r.InputTokens), console.Share(r.CachedTokens, r.InputTokens)))
	t.Add("", fmt.Sprintf("precis's prompts have %s by our count, %s of them cacheable", console.Grouped(r.HeldTokens), console.Share(r.HeldCached, r.HeldTokens)))
	t.Add("", fmt.Sprintf("all messages have %s by our count, %s of them cacheable", console.Grouped(r.WholeTokens), console.Share(r.WholeCached, r.WholeTokens)))
	t.Add("", fmt.Sprintf("the input grew like precis's prompt in %s, like all messages in %s", console.Counted(r.FitPrecis, "turn"), console.Grouped(r.FitOwn)))
}

// addUncounted says what is in no amount, or counted with a reservation.
func addUncounted(t *console.Table, r *audit.Savings) {
	if s := &r.Total; s.TurnsUnpriced > 0 {
		t.Add("no price", fmt.Sprintf("%s (%s tokens saved) in no amount: their messages name no model, or one without a known price; see --model and pricing.file", console.Counted(s.TurnsUnpriced, "turn"), console.Grouped(s.SavedTokensUnpriced)))
	}
	if s := &r.Total; s.OwnUnpricedMicroUSD > 0 && s.NetMicroUSD != nil {
		t.Add("", fmt.Sprintf("%s of OWN CALLS is for threads without a price, and not in NET", console.Cents(&s.OwnUnpricedMicroUSD)))
	}
	if s := &r.Total; s.OwnUnknown > 0 {
		t.Add("", fmt.Sprintf("%s of precis to models without a known price: neither in OWN CALLS nor in NET", console.Counted(s.OwnUnknown, "call")))
	}
	if o := r.Total.OverWindow; o.Turns > 0 {
		t.Add("window", fmt.Sprintf("%s would not have fit the policy's context_window: %s tokens and %s of SAVED come from turns that were possible only with precis",
			console.Counted(o.Turns, "turn"), console.Grouped(o.SavedTokens), console.Cents(&o.SavedMicroUSD)))
	}
	if !r.Log.Whole {
		t.Add("log", fmt.Sprintf("begins at event %s: earlier turns are not counted, and of %s only the messages that are left", console.Grouped(r.Log.FirstSeq), console.Counted(r.Log.Cut, "thread")))
	}
}

func ownCost(s *savings.Sums) string {
	if s.OwnUnknown > 0 && s.OwnMicroUSD == 0 {
		return "unknown"
	}
	return console.Cents(&s.OwnMicroUSD)
}
