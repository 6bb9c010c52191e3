package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"precis/internal/audit"
	"precis/internal/config"
	"precis/internal/processor"
)

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
