package ask

import (
	"fmt"
	"strings"

	"precis/api"
	"precis/cmd/processor/console"
	"precis/cmd/processor/remote"
)

// printExplanation shows to people what a prompt is made of and why, without its text.
func printExplanation(a *console.App, thread string, limit int, r *api.ContextReply) {
	e := r.Explain
	head := &console.Table{}
	head.Add("Thread", console.Printable(thread))
	head.Add("Prompt", promptSize(limit, r))
	head.Add("Tokens", tokensByPart(e.Tokens))
	if e.PromptTokens != nil {
		head.Add("At the provider", console.Counted(*e.PromptTokens, "token")+" without a limit, by what it reported last")
	}
	head.Add("Log", fmt.Sprintf("up to event %d", r.EventSeq))
	a.Printf("%s", head)
	printSources(a, r)
	printExplainedSummaries(a, e.Summaries)
	printLeftOut(a, r)
	a.Printf("\n%s", nextCompaction(&e.Compaction))
}

func promptSize(limit int, r *api.ContextReply) string {
	text := console.Counted(r.TokenCount, "token") + " in " + console.Counted(len(r.Sources), "message") + ", including provider framing"
	switch {
	case limit == 0:
		return text + ", no limit"
	case r.WithinBudget:
		return text + ", limit " + console.Grouped(limit)
	default:
		return text + ", over the limit of " + console.Grouped(limit)
	}
}

func tokensByPart(p api.Parts) string {
	var parts []string
	for _, part := range []struct {
		name   string
		tokens int
	}{
		{"system", p.System}, {"compaction", p.Compaction}, {"messages and calls", p.Messages}, {"tool outputs", p.Outputs},
		{"summaries of tool outputs", p.Summaries}, {"frame", p.Frame},
	} {
		parts = append(parts, console.Grouped(part.tokens)+" "+part.name)
	}
	return console.List(parts...)
}

// printSources says of each message of the prompt what stands in it.
func printSources(a *console.App, r *api.ContextReply) {
	all := r.Sources
	if r.SystemSource != nil {
		all = append([]api.Source{*r.SystemSource}, all...)
	}
	if len(all) == 0 {
		return
	}
	dropped := map[string]bool{}
	for _, id := range r.DroppedMessageIDs {
		dropped[id] = true
	}
	a.Printf("\n")
	out := a.NumberColumns()
	fmt.Fprint(out, "TOKENS\t STANDS FOR\n")
	for _, s := range all {
		fmt.Fprintf(out, "%s\t %s\n", console.Grouped(s.Tokens), console.Printable(standsFor(s, dropped)))
	}
	_ = out.Flush()
}

func standsFor(s api.Source, dropped map[string]bool) string {
	text := idsShown(s.MessageIDs)
	switch {
	case len(s.SummaryIDs) > 0 && text == "":
		return "older messages, as " + idsShown(s.SummaryIDs)
	case len(s.SummaryIDs) > 0:
		return text + ", as " + idsShown(s.SummaryIDs)
	case text == "":
		return "no message: a line that opens the prompt"
	case len(s.MessageIDs) == 1 && dropped[s.MessageIDs[0]]:
		return text + ", as a mark"
	default:
		return text
	}
}

// idsShown names ids, and counts those beyond what a line holds.
func idsShown(ids []string) string {
	if len(ids) <= sourcesShown {
		return strings.Join(ids, ", ")
	}
	return strings.Join(ids[:sourcesShown], ", ") + " and " + console.Grouped(len(ids)-sourcesShown) + " more"
}

func printExplainedSummaries(a *console.App, list []api.ExplainedSummary) {
	if len(list) == 0 {
		return
	}
	a.Printf("\n")
	out := console.NewColumns(a.Stdout)
	fmt.Fprint(out, "SUMMARY\tOF\tTOKENS\n")
	for i := range list {
		s := &list[i]
		of := console.Counted(s.MessageCount, "message")
		if s.MessageCount == 1 && len(s.MessageIDs) == 1 {
			of = s.MessageIDs[0]
		}
		fmt.Fprintf(out, "%s\t%s\t%s\n", console.Printable(s.ID), console.Printable(of), console.Change(s.TokensBefore, s.TokensAfter, "tokens"))
	}
	_ = out.Flush()
}

// reasonsLeft are the reasons of api.LeftOut in words.
var reasonsLeft = map[string]string{
	"max_tokens": "no room in --max-tokens", "retention": "expired from the log", "stale": "its summary is stale, and the policy trims it",
	"waiting": "waits for the results of its calls",
}

// printLeftOut says what the prompt does without, and what to do about it.
func printLeftOut(a *console.App, r *api.ContextReply) {
	byReason := map[string][]string{}
	var order []string
	for _, l := range r.Explain.LeftOut {
		if byReason[l.Reason] == nil {
			order = append(order, l.Reason)
		}
		byReason[l.Reason] = append(byReason[l.Reason], l.ID)
	}
	var t console.Table
	for _, reason := range order {
		text, known := reasonsLeft[reason]
		if !known {
			text = reason
		}
		t.Add("Left out", console.Printable(idsShown(byReason[reason])+": "+text))
	}
	if n := r.DroppedCount - len(r.Explain.LeftOut); n > 0 {
		t.Add("Left out", console.Counted(n, "message")+" more: no room for all of what the compaction stands for, or too many to name")
	}
	if len(r.ShortenedMessageIDs) > 0 {
		t.Add("Shortened", console.Printable(idsShown(r.ShortenedMessageIDs)+": the model has not read it, but it has no room whole"))
	}
	if len(t.Rows) > 0 {
		a.Printf("\n%s", &t)
	}
}

func nextCompaction(c *api.NextCompaction) *console.Table {
	t := &console.Table{}
	text := "nothing to replace yet"
	if c.RemovableMessages > 0 {
		text = "could replace " + console.Counted(c.RemovableMessages, "message") + " of " + console.Counted(c.RemovableTokens, "token") + " now"
	}
	t.Add("Next compaction", fmt.Sprintf("%s, by policy %s", text, console.Printable(c.Policy)))
	for _, j := range c.Jobs {
		t.Add("In progress", console.Printable(remote.Joined([]string{j.Kind, j.Slot, j.SummaryID}))+", "+console.Counted(j.Attempts, "call")+" so far")
	}
	return t
}

// noteDropped says what to do about messages that have no room: below its policy's trigger, a thread has no summary that could stand for them.
func noteDropped(a *console.App, thread string, r *api.ContextReply) {
	e := r.Explain
	if e == nil || !droppedForRoom(e) {
		return
	}
	if n := e.Compaction.RemovableMessages; n > 0 {
		a.Note("The thread is below its policy's compaction.trigger. To have a summary stand for the %s in later prompts: processor summarize %s",
			console.Counted(n, "oldest message"), console.Printable(thread))
		return
	}
	a.Note("No summary can stand for what is dropped: policy %s keeps the newest messages verbatim (compaction.keep). Raise --max-tokens, or lower compaction.keep.",
		console.Printable(e.Compaction.Policy))
}

func droppedForRoom(e *api.Explanation) bool {
	for _, l := range e.LeftOut {
		if l.Reason == "max_tokens" {
			return true
		}
	}
	return false
}
