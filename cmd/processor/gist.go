package main

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"

	"precis/events"
)

// line is an entry for people: when, what, which thread, and what matters of it.
func (e entry) line() string {
	thread := e.thread
	if thread == "" {
		thread = "-"
	}
	return fmt.Sprintf("%s  %-19s %s  %s", e.time.Local().Format("2006-01-02 15:04:05.000"), e.typ, printable(thread), e.gist())
}

// gistOf lays the record out that a type's data is.
func gistOf[T any](data []byte, say func(T) string) string {
	var record T
	if err := json.Unmarshal(data, &record); err != nil {
		return "(not readable: " + printable(err.Error()) + ")"
	}
	return printable(say(record))
}

func (e entry) gist() string {
	switch e.typ {
	case events.SummaryStarted:
		return gistOf(e.raw.Body, startedGist)
	case events.SummaryCreated:
		return gistOf(e.raw.Body, createdGist)
	case events.SummaryInvalidated:
		return gistOf(e.raw.Body, invalidatedGist)
	case events.SummaryFailed:
		return gistOf(e.raw.Body, failedGist)
	case events.UsageRecorded:
		return gistOf(e.raw.Body, usageGist)
	case events.ConfigApplied:
		return gistOf(e.raw.Body, configGist)
	case events.PartitionClaimed:
		return gistOf(e.raw.Body, claimGist)
	case events.EventRejected:
		return gistOf(e.raw.Body, rejectedGist)
	default:
		return e.eventGist()
	}
}

// eventGist lays out what agents publish.
func (e entry) eventGist() string {
	event, rejection := events.Decode(e.raw, events.Limits{})
	switch {
	case rejection != nil:
		return printable("not acceptable: " + rejection.Error())
	case event.Edit != nil:
		return printable(editGist(event.Edit))
	default:
		return printable(messageGist(event.Type, event.Message))
	}
}

// gistChars is how much of a text a line shows.
const gistChars = 60

func messageGist(t events.Type, m *events.Message) string {
	text := m.Content.Text()
	parts := []string{m.MessageID}
	if t == events.ToolResult {
		parts = append(parts, m.ToolName, grouped(utf8.RuneCountInString(text))+" chars")
		if m.IsError != nil && *m.IsError || m.ExitCode != nil && *m.ExitCode != 0 {
			parts = append(parts, "error")
		}
	} else {
		parts = append(parts, m.Role)
	}
	for _, call := range m.ToolCalls {
		parts = append(parts, "calls "+call.Name)
	}
	if text != "" {
		parts = append(parts, fmt.Sprintf("%q", clip(text, gistChars)))
	}
	return joined(parts)
}

func editGist(e *events.Edit) string {
	if e.Deleted {
		return e.MessageID + " · deleted"
	}
	if e.Pinned != nil {
		return e.MessageID + map[bool]string{true: " · pinned", false: " · unpinned"}[*e.Pinned]
	}
	text := e.Content.Text()
	return fmt.Sprintf("%s · %s chars · %q", e.MessageID, grouped(utf8.RuneCountInString(text)), clip(text, gistChars))
}

func createdGist(s events.Summary) string {
	parts := []string{s.Kind, s.Slot}
	if s.ToolSummary != nil {
		parts = append(parts, s.ToolSummary.ToolName)
	}
	parts = append(parts, change(s.TokenCountBefore, s.TokenCountAfter, "tokens"), method(s.Method, s.FallbackReason), triggerGist(s.Kind, s.Trigger))
	if s.Cost.AmountMicroUSD == nil || *s.Cost.AmountMicroUSD > 0 {
		parts = append(parts, dollars(s.Cost.AmountMicroUSD))
	}
	return joined(append(parts, s.ID))
}

func method(name string, fallback *string) string {
	if fallback == nil {
		return name
	}
	return name + " (" + *fallback + ")"
}

// triggerGist says what made a summary due: a threshold that was passed, or, for a history, another so many messages.
func triggerGist(kind string, t events.Trigger) string {
	if t.Threshold == nil || t.Value == nil {
		return t.Reason
	}
	if kind == events.KindHistory {
		return fmt.Sprintf("%s %s, every %s", t.Reason, measured(*t.Value), measured(*t.Threshold))
	}
	return fmt.Sprintf("%s %s > %s", t.Reason, measured(*t.Value), measured(*t.Threshold))
}

func startedGist(s events.Started) string {
	return joined([]string{s.Kind, s.Slot, triggerGist(s.Kind, s.Trigger), s.SummaryID})
}

func invalidatedGist(i events.Invalidated) string {
	return joined([]string{i.Kind, i.Reason + causeGist(i.Cause), "then " + i.Action, i.SummaryID})
}

func causeGist(c events.Cause) string {
	for _, id := range []*string{c.MessageID, c.SummaryID} {
		if id != nil {
			return " by " + *id
		}
	}
	if c.Setting != nil && c.Old != nil && c.New != nil {
		return fmt.Sprintf(" %s: %s → %s", *c.Setting, *c.Old, *c.New)
	}
	return ""
}

func failedGist(f events.Failed) string {
	return joined([]string{f.Kind, f.Code, f.Message, "then " + f.Action, f.SummaryID})
}

func usageGist(u events.UsageRecord) string {
	tokens := fmt.Sprintf("%s in, %s out", grouped(u.Usage.InputTokens), grouped(u.Usage.OutputTokens))
	return joined([]string{u.Provider + " " + u.Model, u.Outcome, tokens, dollars(u.Cost.AmountMicroUSD), u.SummaryID})
}

func configGist(c events.Config) string {
	return joined([]string{fmt.Sprintf("partition %d", c.Partition), "program " + c.ProgramVersion, "rules " + c.RulesVersion, c.Fingerprint})
}

func claimGist(c events.Claimed) string {
	return joined([]string{
		fmt.Sprintf("partition %d", c.Partition), fmt.Sprintf("epoch %d", c.Epoch), "by " + c.Owner,
		"program " + c.ProgramVersion, "rules " + c.RulesVersion, c.Fingerprint,
	})
}

func rejectedGist(r events.Rejected) string {
	field := ""
	if r.Field != nil {
		field = *r.Field
	}
	return joined([]string{r.Code, field, r.Message, r.Subject, fmt.Sprintf("EVENTS %d", r.StreamSeq)})
}

// joined puts what there is beside each other.
func joined(parts []string) string {
	var given []string
	for _, part := range parts {
		if part != "" {
			given = append(given, part)
		}
	}
	return strings.Join(given, " · ")
}
