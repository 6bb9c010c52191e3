package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"precis/internal/audit"
)

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
