package main

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"precis/events"
	"precis/internal/audit"
	"precis/internal/service"
	"precis/internal/thread"
)

// printStory tells a thread's story in lines.
func printStory(a *app, s *audit.Story) {
	printHead(a, s)
	if !s.Log.Whole {
		a.printf("\nThe log begins at event %s. Earlier events are gone, so the history may be incomplete.\n", grouped(s.Log.FirstSeq))
	}
	a.printf("\nWHAT HAPPENED\n")
	for _, e := range s.Entries {
		a.printf("%s\n", storyLine(e))
	}
	if len(s.Summaries) > 0 {
		a.printf("\nSUMMARIES\n")
		for _, sum := range s.Summaries {
			a.printf("%s\n", standingLine(sum))
		}
	}
	if reply, ok := s.Context.(service.ContextReply); ok {
		printMoment(a, s, reply)
	}
	a.printf("\n")
	if len(s.Findings) > 0 {
		printFindings(a, &audit.Report{Findings: s.Findings})
		return
	}
	a.printf("Every step was checked against the log. No discrepancies.\n")
	for _, u := range s.Unproved {
		a.printf("Not provable: %s × %s\n", grouped(u.Count), u.Reason)
	}
}

func printHead(a *app, s *audit.Story) {
	c := s.Counters
	var t table
	t.add("thread", printable(s.Thread))
	t.add("agent", orDash(s.Agent))
	t.add("policy", orDash(s.Policy))
	t.add("up to", fmt.Sprintf("event %d", s.EventSeq))
	t.add("events", list(counted(c.Messages, "message"), counted(c.ToolResults, "tool result"), counted(c.Edits, "edit"),
		counted(c.Duplicates, "duplicate"), grouped(c.Rejected)+" rejected"))
	t.add("tokens", strings.Replace(change(c.TokensTotal, c.TokensLive, "in its prompt"), "  ", " ", 1))
	t.add("summaries", list(grouped(c.SummariesActive)+" active", grouped(c.SummariesStale)+" stale"))
	if s.Totals.ModelCalls == 0 {
		a.printf("%s", &t)
		return
	}
	cost := dollars(&c.CostMicroUSD)
	if c.CostUnknown > 0 {
		cost += fmt.Sprintf(", and %s of unknown price", counted(c.CostUnknown, "call"))
	}
	t.add("models", fmt.Sprintf("%s, %s tokens in, %s out, %s", counted(s.Totals.ModelCalls, "call"), grouped(c.LLMInput), grouped(c.LLMOutput), cost))
	a.printf("%s", &t)
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return printable(text)
}

// storyLine is one event, or behind it and further in, one record.
func storyLine(e *audit.Entry) string {
	when := e.Time.UTC().Format("2006-01-02 15:04:05.000")
	as := entry{typ: e.Type, raw: e.Raw}
	if e.Record != nil {
		as.raw = events.Raw{Body: e.Record}
		if e.Outcome != "" {
			return fmt.Sprintf("%8s  %s    └ %s (%s)  %s", "", when, e.Type, e.Outcome, as.gist())
		}
		return fmt.Sprintf("%8s  %s    └ %s  %s", "", when, e.Type, as.gist())
	}
	outcome := ""
	if e.Outcome != thread.Accepted.String() {
		outcome = " (" + strings.Join(strings.Fields(e.Outcome+" "+e.Code), ", ") + ")"
	}
	return fmt.Sprintf("%8d  %s  %s%s  %s", e.EventSeq, when, e.Type, outcome, as.gist())
}

func standingLine(s *audit.Standing) string {
	as := entry{typ: events.SummaryCreated, raw: events.Raw{Body: s.Record}}
	line := fmt.Sprintf("%-8s  %s", s.Status, as.gist())
	if s.Invalidated != nil {
		as = entry{typ: events.SummaryInvalidated, raw: events.Raw{Body: s.Invalidated}}
		line += "\n          ✗ " + as.gist()
	}
	if s.ReplacedBy != "" {
		line += "\n          → replaced by " + s.ReplacedBy
	}
	return line
}

// printMoment shows the prompt of the moment.
func printMoment(a *app, s *audit.Story, r service.ContextReply) {
	a.printf("\nTHE CONTEXT AT EVENT %d: %s tokens, %d summaries\n", s.EventSeq, grouped(r.TokenCount), len(r.SummaryIDs))
	for _, part := range []jsontext.Value{r.System, r.Messages} {
		if len(part) == 0 || part.Kind() == 'n' {
			continue
		}
		if err := part.Indent(); err == nil {
			a.printf("%s\n", part)
		}
	}
}
