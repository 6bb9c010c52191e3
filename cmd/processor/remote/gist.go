package remote

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"

	"precis/api"
	"precis/cmd/processor/console"
	"precis/events"
)

// Line is an entry for people: when, what, which thread, and what matters of it.
func (e Entry) Line() string {
	return console.Exact(e.Time) + "  " + e.typeCell() + " " + e.threadCell() + "  " + e.Gist()
}

// ColouredLine is Line for a terminal: the colour is that of its type, and what people look for stands out.
func (e Entry) ColouredLine() string {
	return console.Paint(console.Faint, console.Exact(e.Time)) + "  " + console.Paint(colours[e.Typ], e.typeCell()) + " " +
		console.Paint(console.Cyan, e.threadCell()) + "  " + console.Printable(e.Gist())
}

var colours = map[events.Type]console.Colour{
	events.SummaryCreated: console.Green, events.SummaryInvalidated: console.Yellow, events.SummaryFailed: console.Red, events.EventRejected: console.Red,
	events.UsageRecorded: console.Faint, events.ConfigApplied: console.Faint, events.PartitionClaimed: console.Faint,
}

func (e Entry) typeCell() string { return console.Left(string(e.Typ), 19) }

func (e Entry) threadCell() string {
	if e.Thread == "" {
		return "-"
	}
	return console.Printable(e.Thread)
}

// gistOf returns a function that reads a record of one type and describes it in a line.
func gistOf[T any](say func(T) string) func(data []byte) string {
	return func(data []byte) string {
		var record T
		if err := json.Unmarshal(data, &record); err != nil {
			return "(not readable: " + console.Printable(err.Error()) + ")"
		}
		return console.Printable(say(record))
	}
}

// Gist is what matters of an entry, without its time and thread.
func (e Entry) Gist() string {
	if e.Said != "" {
		return console.Printable(e.Said)
	}
	if gist, is := gists[e.Typ]; is {
		return gist(e.Raw.Body)
	}
	return e.eventGist()
}

var gists = map[events.Type]func(body []byte) string{
	events.SummaryStarted:     gistOf(startedGist),
	events.SummaryCreated:     gistOf(createdGist),
	events.SummaryInvalidated: gistOf(invalidatedGist),
	events.SummaryFailed:      gistOf(failedGist),
	events.UsageRecorded:      gistOf(usageGist),
	events.ConfigApplied:      gistOf(configGist),
	events.PartitionClaimed:   gistOf(claimGist),
	events.EventRejected:      gistOf(rejectedGist),
}

// eventGist lays out what agents publish.
func (e Entry) eventGist() string {
	event, rejection := events.Decode(e.Raw, events.Limits{})
	switch {
	case rejection != nil:
		return console.Printable("not acceptable: " + rejection.Error())
	case event.Edit != nil:
		return console.Printable(editGist(event.Edit))
	case event.Fork != nil:
		return console.Printable(forkGist(event.Fork))
	default:
		return console.Printable(messageGist(event.Type, event.Message))
	}
}

// gistChars is how much of a text a line shows.
const gistChars = 60

func forkGist(f *events.Fork) string {
	if f.AtMessageID == "" {
		return "from " + f.ParentThreadID
	}
	return "from " + f.ParentThreadID + " at " + f.AtMessageID
}

func messageGist(t events.Type, m *events.Message) string {
	text := m.Content.Text()
	parts := []string{m.MessageID}
	if t == events.ToolResult {
		parts = append(parts, m.ToolName, console.Grouped(utf8.RuneCountInString(text))+" chars")
		if m.IsError != nil && *m.IsError || m.ExitCode != nil && *m.ExitCode != 0 {
			parts = append(parts, "error")
		}
	} else {
		parts = append(parts, m.Role)
	}
	for _, call := range m.Calls() {
		parts = append(parts, "calls "+call.Name)
	}
	if text != "" {
		parts = append(parts, fmt.Sprintf("%q", console.Clip(text, gistChars)))
	}
	return Joined(parts)
}

func editGist(e *events.Edit) string {
	if e.Deleted {
		return e.MessageID + " · deleted"
	}
	if e.Rewind {
		return e.MessageID + " · rewound to here"
	}
	if e.Pinned != nil {
		return e.MessageID + map[bool]string{true: " · pinned", false: " · unpinned"}[*e.Pinned]
	}
	text := e.Content.Text()
	return fmt.Sprintf("%s · %s chars · %q", e.MessageID, console.Grouped(utf8.RuneCountInString(text)), console.Clip(text, gistChars))
}

func createdGist(s events.Summary) string {
	parts := []string{s.Kind, s.Slot}
	if s.ToolSummary != nil {
		parts = append(parts, s.ToolSummary.ToolName)
	}
	parts = append(parts, console.Change(s.TokenCountBefore, s.TokenCountAfter, "tokens"), Method(s.Method, s.FallbackReason), TriggerGist(s.Kind, s.Trigger))
	if s.Cost.AmountMicroUSD == nil || *s.Cost.AmountMicroUSD > 0 {
		parts = append(parts, console.Dollars(s.Cost.AmountMicroUSD))
	}
	return Joined(append(parts, s.ID))
}

// Method is how a summary was made, and why not as its policy asks.
func Method(name string, fallback *string) string {
	if fallback == nil {
		return name
	}
	return name + " (" + *fallback + ")"
}

// TriggerGist says what made a summary due: a threshold that was passed, or, for a history, another so many messages.
func TriggerGist(kind string, t events.Trigger) string {
	if t.Threshold == nil || t.Value == nil {
		return t.Reason
	}
	if kind == events.KindHistory {
		return fmt.Sprintf("%s %s, every %s", t.Reason, console.Measured(*t.Value), console.Measured(*t.Threshold))
	}
	return fmt.Sprintf("%s %s > %s", t.Reason, console.Measured(*t.Value), console.Measured(*t.Threshold))
}

func startedGist(s events.Started) string {
	return Joined([]string{s.Kind, s.Slot, TriggerGist(s.Kind, s.Trigger), s.SummaryID})
}

func invalidatedGist(i events.Invalidated) string {
	return Joined([]string{i.Kind, i.Reason + CauseGist(i.Cause), "then " + i.Action, i.SummaryID})
}

// CauseGist is what made a summary stale.
func CauseGist(c events.Cause) string {
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
	return Joined([]string{f.Kind, f.Code, f.Message, "then " + f.Action, f.SummaryID})
}

func usageGist(u events.UsageRecord) string {
	tokens := fmt.Sprintf("%s in, %s out", console.Grouped(u.Usage.InputTokens), console.Grouped(u.Usage.OutputTokens))
	return Joined([]string{u.Provider + " " + u.Model, u.Outcome, tokens, console.Dollars(u.Cost.AmountMicroUSD), u.SummaryID})
}

func configGist(c events.Config) string {
	return Joined([]string{fmt.Sprintf("partition %d", c.Partition), "program " + c.ProgramVersion, "rules " + c.RulesVersion, c.Fingerprint})
}

func claimGist(c events.Claimed) string {
	return Joined([]string{
		fmt.Sprintf("partition %d", c.Partition), fmt.Sprintf("epoch %d", c.Epoch), "by " + c.Owner,
		"program " + c.ProgramVersion, "rules " + c.RulesVersion, c.Fingerprint,
	})
}

func rejectedGist(r events.Rejected) string {
	field := ""
	if r.Field != nil {
		field = *r.Field
	}
	return Joined([]string{r.Code, field, r.Message, r.Subject, fmt.Sprintf("EVENTS %d", r.StreamSeq)})
}

// Joined puts what there is beside each other.
func Joined(parts []string) string {
	var given []string
	for _, part := range parts {
		if part != "" {
			given = append(given, part)
		}
	}
	return strings.Join(given, " · ")
}

// Lineage says where a fork comes from.
func Lineage(f *api.Lineage) string {
	text := "from " + console.Printable(f.ParentThreadID)
	if f.AtMessageID != nil {
		text += " at " + console.Printable(*f.AtMessageID)
	}
	text += fmt.Sprintf(", event %d, ", f.EventSeq)
	if f.Reason != nil {
		return text + "with nothing: " + *f.Reason
	}
	return text + "with " + console.Counted(f.InheritedMessages, "message")
}

// Why says what is wrong with a rejected event, and where it is.
func Why(r events.Rejected) string {
	message := r.Message
	if r.Field != nil && *r.Field != "" {
		message = *r.Field + ": " + message
	}
	return console.Printable(fmt.Sprintf("%s · %s · EVENTS %d", message, r.Subject, r.StreamSeq))
}
