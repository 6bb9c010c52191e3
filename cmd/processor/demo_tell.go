package main

import (
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"precis/events"
)

// How the scenes are told: as facts for programs, and on a page for people.

// tellWork tells what was published, and returns how many summaries are due.
func (s *story) tellWork() (large int) {
	var g grid
	for _, act := range s.actors {
		who := act.name
		for _, m := range act.script {
			t := events.ThreadMessage
			if m.Role == events.RoleTool {
				t = events.ToolResult
			}
			s.fact("published", act, map[string]any{"type": t, "message": m})
			row := []cell{{who, boldInk}, {m.MessageID, faintInk}, {speaker(m), plainInk}, {saying(m), faintInk}}
			if isLarge(m) {
				large++
				row[3].with = blueInk
			}
			g.row(row...)
			who = ""
		}
	}
	s.page.grid(g)
	return large
}

func speaker(m *events.Message) string {
	if m.Role == events.RoleTool {
		return m.ToolName
	}
	return m.Role
}

func saying(m *events.Message) string {
	if m.Role == events.RoleTool {
		return "printed " + grouped(chars(m.Content)) + " characters"
	}
	parts := []string{m.Content.Text()}
	for _, c := range m.ToolCalls {
		parts = append(parts, "→ "+c.Name)
	}
	return strings.TrimSpace(strings.Join(parts, " "))
}

func chars(c events.Content) int64 { return int64(utf8.RuneCountInString(c.Text())) }

// tellSummaries tells the summaries in the order of the cast, and shows the first whole.
func (s *story) tellSummaries(took time.Duration) {
	s.page.heading("2. What has over 1,500 characters comes back as a summary (summary.created)")
	var g grid
	var before, after int64
	var first *events.Summary
	for _, act := range s.actors {
		who := act.name
		for _, m := range act.script {
			summary := s.summaries[[2]string{act.thread, m.MessageID}]
			if summary == nil {
				continue
			}
			s.fact("summary.created", act, summary)
			g.row(cell{who, boldInk}, cell{m.MessageID, faintInk}, cell{m.ToolName, plainInk}, cell{category(summary), faintInk},
				cell{change(summary.TokenCountBefore, summary.TokenCountAfter, "tokens"), greenInk})
			before, after, who = before+summary.TokenCountBefore, after+summary.TokenCountAfter, ""
			if first == nil {
				first = summary
			}
		}
	}
	g.row(cell{"together", boldInk}, cell{}, cell{}, cell{}, cell{change(before, after, "tokens"), boldInk})
	s.page.grid(g)
	s.page.line("")
	s.page.prose(fmt.Sprintf("The last was there %d ms after the last event was stored. The record of each says what it was made from, how and at what cost; the agent puts its text where the output stood. The first, whole:", took.Milliseconds()))
	s.page.line("")
	s.page.quote(first.Content)
}

func category(s *events.Summary) string {
	if s.ToolSummary == nil {
		return s.Method
	}
	return strings.ReplaceAll(s.ToolSummary.Category, "_", " ")
}

func (s *story) tellEdit(act actor, e *events.Edit, stale *events.Invalidated, before, again *events.Summary) {
	s.fact("published", act, map[string]any{"type": events.MessageEdited, "edit": e})
	s.fact("summary.invalidated", act, stale)
	s.fact("summary.created", act, again)
	s.page.heading("3. The fixer mends the file, and edits what it had read of it")
	var g grid
	g.row(cell{"message.edited", plainInk}, cell{fmt.Sprintf("%s of %s has %s characters now", e.MessageID, act.name, grouped(chars(e.Content))), plainInk})
	g.row(cell{"summary.invalidated", yellowInk}, cell{staleness(stale), plainInk})
	g.row(cell{"summary.created", greenInk}, cell{fmt.Sprintf("%s in its place, version %d", shortID(again.ID), again.Version), plainInk})
	s.page.grid(g)
	s.page.line("")
	s.page.prose("Nobody reads the old text any more. What the new one says otherwise:")
	s.page.line("")
	s.page.changes(before.Content, s.text(act, e.MessageID), again.Content, e.Content.Text())
}

// text is what an actor's message said first.
func (s *story) text(act actor, message string) string {
	for _, m := range act.script {
		if m.MessageID == message {
			return m.Content.Text()
		}
	}
	return ""
}

func staleness(i *events.Invalidated) string {
	return fmt.Sprintf("%s: %s%s, then %s", shortID(i.SummaryID), i.Reason, causeGist(i.Cause), i.Action)
}

// shortID is enough of a summary's id to tell it from another.
func shortID(id string) string { return clip(id, len("sum_")+9) }

// changesShown is how many lines of a difference are enough to see it.
const changesShown = 3

// changes shows where two summaries follow what became of their source: lines of each that are in its own source
// and not in the other's.
func (p *page) changes(before, was, after, is string) {
	var g grid
	for _, line := range quotedOnlyFrom(was, is, before) {
		g.row(cell{"- " + line, redInk})
	}
	for _, line := range quotedOnlyFrom(is, was, after) {
		g.row(cell{"+ " + line, greenInk})
	}
	p.grid(g)
}

// lineNumber is what a summary writes before a line that it quotes.
var lineNumber = regexp.MustCompile(`^\d+\S\s*`)

func quotedOnlyFrom(source, other, summary string) []string {
	var lines []string
	for line := range strings.Lines(summary) {
		line = lineNumber.ReplaceAllString(strings.TrimSpace(line), "")
		if line != "" && strings.Contains(source, line) && !strings.Contains(other, line) && len(lines) < changesShown {
			lines = append(lines, line)
		}
	}
	return lines
}

func (s *story) tellDeletion(act actor, e *events.Edit, stale *events.Invalidated) {
	s.fact("published", act, map[string]any{"type": events.MessageEdited, "edit": e})
	s.fact("summary.invalidated", act, stale)
	s.page.heading("4. Customers' addresses were in an answer: the analyst deletes it")
	var g grid
	g.row(cell{"message.edited", plainInk}, cell{fmt.Sprintf("%s of %s is deleted", e.MessageID, act.name), plainInk})
	g.row(cell{"summary.invalidated", yellowInk}, cell{staleness(stale), plainInk})
	s.page.grid(g)
	s.page.line("")
	s.page.prose("Nothing comes in its place.")
}

func (s *story) tellFaults(act actor, sent []fault, rejected []events.Rejected) {
	s.page.heading("5. The scout sends an output twice, and then what is wrong")
	s.fact("published", act, map[string]any{"type": events.ToolResult, "message": act.script[2]})
	var g grid
	g.row(cell{act.script[2].MessageID + " once more", plainInk}, cell{"a duplicate", faintInk}, cell{"counted once, summarized once", plainInk})
	for i, r := range rejected {
		s.fact("published", act, map[string]any{"type": sent[i].typ, "raw": sent[i].data})
		s.fact("event.rejected", act, r)
		g.row(cell{sent[i].what, plainInk}, cell{"event.rejected", redInk}, cell{r.Code + ": " + r.Message, plainInk})
	}
	s.page.grid(g)
	s.page.line("")
	s.page.prose("What is rejected is kept byte for byte, with the reason.")
}

// tellSums tells the counters, a thread a column.
func (s *story) tellSums(all []threadReply) {
	s.page.heading("6. What it comes to")
	var g grid
	g.row(cell{}, cell{s.columns(func(i int) string { return s.actors[i].thread }), boldInk})
	for _, r := range []struct {
		name string
		of   func(threadReply) int64
	}{
		{"messages", func(t threadReply) int64 { return t.Messages }},
		{"tool outputs", func(t threadReply) int64 { return t.ToolResults }},
		{"edits", func(t threadReply) int64 { return t.Edits }},
		{"duplicates", func(t threadReply) int64 { return t.Duplicates }},
		{"rejected", func(t threadReply) int64 { return t.Rejected }},
		{"summaries that hold", func(t threadReply) int64 { return t.SummariesActive }},
		{"stale summaries", func(t threadReply) int64 { return t.SummariesStale }},
		{"tokens of all this", func(t threadReply) int64 { return t.TokensTotal }},
		{"in the next prompt", func(t threadReply) int64 { return t.TokensLive }},
	} {
		g.row(cell{r.name, faintInk}, cell{s.columns(func(i int) string { return grouped(r.of(all[i])) }), plainInk})
	}
	for i, counters := range all {
		s.fact("counters", s.actors[i], counters)
	}
	s.page.grid(g)
}

// columns sets a text for each actor below the others'.
func (s *story) columns(of func(int) string) string {
	var b strings.Builder
	for i := range s.actors {
		fmt.Fprintf(&b, "%14s", of(i))
	}
	return b.String()
}
