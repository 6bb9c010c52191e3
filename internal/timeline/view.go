package timeline

import (
	"cmp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"precis/events"
	"precis/internal/audit"
	"precis/internal/thread"
)

// Options say what of a story is shown.
type Options struct {
	// Contents shows what messages and summaries say.
	Contents bool
	// Whole shows everything; else the last Last entries, or those up to Before, fewer where they say much, with the summaries that
	// belong to them and the latest.
	Whole  bool
	Last   int
	Before int // entries; 0: all
	// Summary is the id of a summary that is shown in any case.
	Summary string
	// Find shows only entries with the text in ids, names or, with Contents, what they say, in any case.
	Find string
}

// View is a story as the template "story" shows it.
type View struct {
	*audit.Story
	Contents bool
	Rows     []Row
	First    int // entries before the first row
	Cards    []Card
	More     int // summaries that have no card
	Active   int
	Stale    int
	Replaced int
	Find     string
	Matches  int // entries that have it
}

// Row is an event, or a record about it.
type Row struct {
	*audit.Entry
	Record bool
	Class  string // of a record
	Kind   string // the badge's class
	Label  string // the badge
	Odd    bool   // it is not accepted
	Result string // the outcome, if odd
	Lines  string
	Cut    int64 // characters that are not shown
	Mono   bool
	Bars   []thread.Status
	Chips  []Chip
}

// Chip is a summary that stands on a message.
type Chip struct {
	ID     string
	Label  string
	Status thread.Status
}

// Card is a summary.
type Card struct {
	*audit.Standing
	Record   events.Summary
	Broken   bool // its record can't be read
	Why      string
	Trigger  string
	Messages []string // that it was made from, through all levels
	Sources  string   // those of them that are shown, as JSON, for the script
}

const (
	// longest is how many bytes of a text are shown.
	longest = 20_000
	// shownBytes is how many bytes the entries say that are shown of a story, unless it is shown whole.
	shownBytes = 300_000
	// shownCards bounds the summaries in the same way.
	shownCards = 100
)

// New makes the view of a story.
func New(s *audit.Story, o Options) *View {
	v := &View{Story: s, Contents: o.Contents, Find: o.Find}
	list, standing := v.cards()
	entries, find := s.Entries, strings.ToLower(o.Find)
	if find != "" {
		entries = nil
		for _, e := range s.Entries {
			if row := v.row(e, standing); row.has(find) {
				entries = append(entries, e)
			}
		}
	}
	v.Matches = len(entries)
	if o.Before > 0 && o.Before < len(entries) {
		entries = entries[:o.Before]
	}
	v.First = len(entries)
	for bytes := 0; v.First > 0 && (o.Whole || len(v.Rows) < o.Last && bytes < shownBytes); v.First-- {
		row := v.row(entries[v.First-1], standing)
		v.Rows, bytes = append(v.Rows, row), bytes+len(row.Lines)
	}
	slices.Reverse(v.Rows)
	v.show(list, o)
	return v
}

// show makes the cards that are shown, the newest first.
func (v *View) show(list []*Card, o Options) {
	messages, belongs := map[string]bool{}, map[string]bool{o.Summary: true}
	for i := range v.Rows {
		r := &v.Rows[i]
		messages[r.MessageID], belongs[r.Summary] = true, true
		for _, c := range r.Chips {
			belongs[c.ID] = true
		}
	}
	shown := make([]bool, len(list))
	left := shownCards
	for _, wants := range []func(*Card) bool{
		func(c *Card) bool { return o.Whole || c.ID == o.Summary },
		func(c *Card) bool { return belongs[c.ID] },
		func(*Card) bool { return true },
	} {
		for i := len(list) - 1; i >= 0; i-- {
			if !shown[i] && (o.Whole || left > 0) && wants(list[i]) {
				shown[i] = true
				left--
			}
		}
	}
	for i := len(list) - 1; i >= 0; i-- {
		if !shown[i] {
			v.More++
			continue
		}
		c := list[i]
		sources := c.Messages
		if !o.Whole { // what is not there can't be marked
			sources = slices.DeleteFunc(slices.Clone(sources), func(id string) bool { return !messages[id] })
		}
		if text, err := json.Marshal(sources); err == nil {
			c.Sources = string(text)
		}
		v.Cards = append(v.Cards, *c)
	}
}

// cards makes all cards, and says which summaries stand on each message.
func (v *View) cards() (list []*Card, standing map[string][]*Card) {
	byID := map[string]*Card{}
	list = make([]*Card, len(v.Summaries))
	for i, s := range v.Summaries {
		c := &Card{Standing: s}
		c.Broken = json.Unmarshal(s.Record, &c.Record) != nil
		if s.Unread {
			c.Record.Method = "its record is not read yet"
		}
		list[i], byID[s.ID] = c, c
		switch s.Status {
		case thread.Active:
			v.Active++
		case thread.Stale:
			v.Stale++
		default:
			v.Replaced++
		}
	}
	standing = map[string][]*Card{}
	for _, c := range list {
		c.fill(byID)
		for _, m := range c.Messages {
			standing[m] = append(standing[m], c)
		}
		if !v.Contents {
			c.Record.Content = ""
		}
	}
	return list, standing
}

func (c *Card) fill(byID map[string]*Card) {
	seen, seenCards := map[string]bool{}, map[*Card]bool{}
	var add func(*Card)
	add = func(from *Card) {
		if from == nil || seenCards[from] {
			return
		}
		seenCards[from] = true
		for _, m := range from.Record.SourceMessageIDs {
			if !seen[m] {
				seen[m] = true
				c.Messages = append(c.Messages, m)
			}
		}
		for _, id := range from.Record.SourceSummaryIDs {
			add(byID[id])
		}
	}
	add(c)
	if inv := new(events.Invalidated); c.Invalidated != nil && json.Unmarshal(c.Invalidated, inv) == nil {
		c.Why = inv.Reason + by(inv.Cause)
	}
	c.Trigger = c.Record.Trigger.Reason
	if t := c.Record.Trigger; t.Threshold != nil && t.Value != nil {
		sign := " > "
		if c.Kind == events.KindHistory {
			sign = ", every "
		}
		c.Trigger += " " + Number(int64(*t.Value)) + sign + Number(int64(*t.Threshold))
	}
}

func by(c events.Cause) string {
	text := func(s *string) string {
		if s == nil {
			return ""
		}
		return *s
	}
	switch {
	case c.MessageID != nil:
		return " by " + *c.MessageID
	case c.SummaryID != nil:
		return " by " + Short(*c.SummaryID)
	case c.Setting != nil:
		return ": " + *c.Setting + " " + text(c.Old) + " → " + text(c.New)
	case c.Old != nil || c.New != nil:
		return ": " + text(c.Old) + " → " + text(c.New)
	}
	return ""
}

func (v *View) row(e *audit.Entry, standing map[string][]*Card) Row {
	if e.Record != nil {
		return v.record(e)
	}
	r := Row{Entry: e, Kind: e.Role, Label: e.Role, Mono: e.Type == events.ToolResult}
	edit := e.Type == events.MessageEdited
	switch {
	case edit && e.Deleted:
		r.Kind, r.Label = "edit", "deleted"
	case edit && e.Rewind:
		r.Kind, r.Label = "edit", "rewind"
	case edit:
		r.Kind, r.Label = "edit", "edit"
	case e.Type == events.ThreadForked:
		r.Kind, r.Label = "edit", "fork of "+cmp.Or(e.Forks, "another thread")
	case e.Type == events.ToolResult:
		r.Kind, r.Label = "tool", e.Tool
	}
	if r.Label == "" {
		r.Label = map[bool]string{true: "tool", false: "event"}[r.Mono]
	}
	if e.Outcome != thread.Accepted.String() {
		r.Odd, r.Result = true, e.Outcome
		if e.Code != "" {
			r.Result += ": " + e.Code
		}
	}
	if !edit && !r.Odd {
		for _, c := range standing[e.MessageID] {
			if c.Kind == events.KindCompaction && c.Status != thread.Replaced && strings.HasPrefix(c.Slot, "leaf") {
				r.Bars = append(r.Bars, c.Status)
			}
			if c.Kind == events.KindToolResult || c.Status != thread.Replaced {
				r.Chips = append(r.Chips, c.chip())
			}
		}
	}
	r.say(v.Contents)
	return r
}

// say fills in what the event says.
func (r *Row) say(contents bool) {
	text := r.Text
	for _, call := range r.Calls {
		if text != "" {
			text += "\n"
		}
		text += "⚙ " + call.Name
		if contents {
			text += " " + call.Arguments
		}
	}
	if !contents {
		text = ""
		for _, call := range r.Calls {
			text += "⚙ " + call.Name + "\n"
		}
	}
	if len(text) > longest {
		cut := longest
		for cut > 0 && text[cut]&0xC0 == 0x80 { // within a character
			cut--
		}
		r.Cut, text = int64(len([]rune(text[cut:]))), text[:cut]
	}
	r.Lines = strings.TrimRight(text, "\n")
}

func (c *Card) chip() Chip {
	name := "summary"
	parts := strings.Split(c.Slot, ":")
	switch {
	case c.Kind == events.KindToolResult:
	case c.Slot == events.SlotCurrent:
		name = "current"
	case parts[0] == "node" && len(parts) > 1:
		name = "node " + parts[1]
	default:
		name = parts[0]
	}
	return Chip{ID: c.ID, Label: name + " v" + Number(c.Record.Version), Status: c.Status}
}

// record is a record in one line.
func (v *View) record(e *audit.Entry) Row {
	r := Row{Entry: e, Record: true, Class: "record " + classes[e.Type], Lines: string(e.Type) + " · a record that can't be read"}
	if text, err := line(e.Type, e.Record, v.Contents); err == nil {
		r.Lines = text
	}
	if e.Outcome != "" {
		r.Class, r.Lines = "record failed", r.Lines+" · "+e.Outcome
	}
	return r
}

var classes = map[events.Type]string{
	events.SummaryStarted: "started", events.SummaryCreated: "created", events.SummaryInvalidated: "invalidated", events.SummaryFailed: "failed", events.UsageRecorded: "usage",
}

func line(typ events.Type, data jsontext.Value, contents bool) (string, error) {
	version := func(kind, slot string, v uint64) string { return kind + " " + slot + " v" + Number(v) }
	switch typ {
	case events.SummaryStarted:
		var r events.Started
		err := json.Unmarshal(data, &r)
		return "started " + version(r.Kind, r.Slot, r.Version) + " · " + r.Trigger.Reason + with(" · ", r.Model), err
	case events.SummaryCreated:
		var r events.Summary
		err := json.Unmarshal(data, &r)
		return "created " + version(r.Kind, r.Slot, r.Version) + " · " + Number(r.TokenCountBefore) + " → " + Number(r.TokenCountAfter) + " tokens (" + Less(r.TokenCountBefore, r.TokenCountAfter) +
			") · " + r.Method + with(" ", r.Model) + " · " + r.Trigger.Reason, err
	case events.SummaryInvalidated:
		var r events.Invalidated
		err := json.Unmarshal(data, &r)
		return "stale: " + r.Kind + " · " + r.Reason + by(r.Cause) + " · then " + r.Action, err
	case events.SummaryFailed:
		var r events.Failed
		err := json.Unmarshal(data, &r)
		text := "failed: " + r.Kind + " · " + r.Code
		if contents { // a provider's answer may repeat what it was asked
			text += " " + r.Message
		}
		return text + " · then " + r.Action, err
	case events.UsageRecorded:
		var r events.UsageRecord
		err := json.Unmarshal(data, &r)
		cost := "unknown cost"
		if r.Cost.AmountMicroUSD != nil {
			cost = Dollars(*r.Cost.AmountMicroUSD)
		}
		return "paid: " + r.Provider + " " + r.Model + " · " + r.Outcome + " · " + Number(r.Usage.InputTokens) + " tokens in, " + Number(r.Usage.OutputTokens) + " out · " + cost, err
	}
	return string(typ), nil
}

func with(before string, s *string) string {
	if s == nil || *s == "" {
		return ""
	}
	return before + *s
}

// has searches a row.
func (r *Row) has(lower string) bool {
	for _, text := range []string{r.MessageID, r.Label, r.Lines, r.Summary, r.Result, string(r.Type)} {
		if strings.Contains(strings.ToLower(text), lower) {
			return true
		}
	}
	return false
}
