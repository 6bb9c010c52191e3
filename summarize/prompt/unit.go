package prompt

import (
	"cmp"
	"slices"
	"strings"

	"precis/events"
)

// unit is what stands or goes together: a message, or an assistant's message with the results of its
// calls.
type unit struct {
	role    string
	text    string
	message *Message // nil where the message was made up for a result without its call
	blocks  []block  // the content's parts in the format; nil: the text
	calls   []call
	order   []int  // of the results: indexes of calls
	tails   []tail // what messages with results say besides
	ordinal uint64
	omitted []OmittedPart // members of the message that the format has no counterpart of
	unread  int           // tokens of the message's further members and, where there are no blocks, of what is not in the text

	fixed   bool // stays whatever happens: system, pinned
	inline  bool // a system message that stands among the others, in a format that has system messages apart
	dropped bool
	cost    int
}

// tail is what a user's message says beside the results of calls.
type tail struct {
	message *Message
	text    string // without the results
	blocks  []block
	tokens  int
	spared  bool // the message's spare summary stands for it so far: see spare
}

// beside are the tails that stand in the prompt.
func (u *unit) beside() (list []*tail) {
	for n := range u.tails {
		if !u.tails[n].spared {
			list = append(list, &u.tails[n])
		}
	}
	return list
}

// call is one tool call and what came of it.
type call struct {
	events.ToolCall
	id     string       // unique in the prompt, and fit for a provider
	own    *events.Part // the part that makes it; nil: a tool call of the message alone
	listed bool         // a tool call of the message, whether or not a part makes it too
	result *Message     // nil: it has none
	nth    int          // which of the result's answers it is
	part   int          // the part of the result's content that is the result, or wholeContent, or goneResult
	answer *events.Part // that part, where it stands verbatim
	blocks []block      // the result's parts in the format; nil: a text
	mended bool         // the result is in the format's own shape, and these are not all of its parts as they were
	shown  string       // the result's text, or what stands in for it
	cut    bool         // the result's text had to go to hold the limit
	unread int          // tokens of what the result has besides its blocks or its text
	beside int          // tokens of what the call has besides name and arguments
	other  *Message     // the result or its spare summary, whichever of the two does not stand here: see spare
}

// summarized reports whether the result's summary stands here; that of a message with several results stands in the first.
func (c *call) summarized() bool {
	return !c.gone() && c.result != nil && c.result.Summary != nil && !c.cut && c.shown != sharedResult
}

// standsAsSummary reports whether a call's result is its message's summary, or refers to the result of another call that is.
func (u *unit) standsAsSummary(c *call) bool {
	return c.summarized() || c.shown == sharedResult && slices.ContainsFunc(u.calls, func(o call) bool { return o.result == c.result && o.summarized() })
}

// gone reports whether an edit removed the result, and left others of its message.
func (c *call) gone() bool { return c.part == goneResult }

// verbatim reports whether the result itself stands in the prompt.
func (c *call) verbatim() bool {
	return c.result != nil && !c.cut && c.result.shown() && !c.gone() && (c.part >= 0 || c.nth == 0)
}

// made are the unit's calls by the parts that make them.
func (u *unit) made() map[*events.Part]int {
	calls := map[*events.Part]int{}
	if u != nil {
		for n := range u.calls {
			if own := u.calls[n].own; own != nil {
				calls[own] = n
			}
		}
	}
	return calls
}

// failed reports whether the call's result is an error.
func (c *call) failed() bool {
	if c.result != nil && c.part >= 0 {
		return c.result.Content.Parts()[c.part].Result.IsError
	}
	return c.result != nil && !c.gone() && c.result.IsError != nil && *c.result.IsError
}

// Marks in the place of a text.
const (
	noResult = "[no result]"
	// systemMark precedes a system message that a format has no place for.
	systemMark = "[system message]\n"
	// sharedResult stands for the further results of a message whose summary stands in its first.
	sharedResult = "[see the result before]"
	noText       = "[empty message]"
)

// assemble sorts the messages into units. Waiting are the messages at the end that can't be shown yet; apart, all are shown.
func assemble(messages []Message, edge uint64, own events.Shape, apart bool) (units []unit, waiting []string) {
	p := pairUp(messages, edge)
	last := lastSpeaker(messages)
	for i := range messages {
		m := &messages[i]
		if p.caller[i] >= 0 {
			continue // stands with its call
		}
		u := newUnit(m, p, messages, i)
		if i == last && u.open() && !u.fixed && !apart {
			waiting = append(waiting, u.ids()...)
			continue
		}
		units = append(units, u)
	}
	rename(units, own)
	return units, waiting
}

// lastSpeaker is the index of the newest user or assistant message; -1 for none.
func lastSpeaker(messages []Message) int {
	for i := len(messages) - 1; i >= 0; i-- {
		if r := messages[i].Role; r == events.RoleUser || r == events.RoleAssistant {
			return i
		}
	}
	return -1
}

func newUnit(m *Message, p pairs, messages []Message, i int) unit {
	u := unit{role: m.Role, text: m.Content.Text(), message: m, ordinal: m.Ordinal}
	u.fixed = m.Pinned || isSystem(m.Role)
	u.dropped = m.Gone && m.Summary == nil
	switch {
	case m.Role == events.RoleTool || len(m.results) > 0: // without the message that makes its calls
		u.role, u.text, u.message = events.RoleAssistant, "", nil
		u.answered(m, func(int) bool { return true })
	case m.Role == events.RoleAssistant:
		u.speaks(m, p, messages, i)
	}
	if m.trimmed() && m.Role != events.RoleTool {
		u.text = truncated(messages, m.Ordinal, m.TrimmedAt)
	}
	for n := range u.calls {
		u.calls[n].shown = u.calls[n].stands(messages)
	}
	u.order = u.arrivals()
	return u
}

// speaks takes an assistant's calls and their results.
func (u *unit) speaks(m *Message, p pairs, messages []Message, i int) {
	for n, c := range m.calls {
		next := call{ToolCall: c, part: wholeContent, listed: n < len(m.Listed())}
		if at := m.callParts[n]; at >= 0 {
			next.own = &m.Content.Parts()[at]
		}
		if r, ok := p.result[callKey{i, n}]; ok {
			next.result, next.nth, next.part = &messages[r.message], r.answer, messages[r.message].resultPart(r.answer)
			u.fixed = u.fixed || messages[r.message].Pinned
		}
		u.calls = append(u.calls, next)
	}
	for _, at := range p.answers[i] {
		u.answered(&messages[at], func(n int) bool { return !p.paired[resultKey{at, n}] })
	}
}

// answered makes up calls for the results of a message that have none, and takes what it says besides.
func (u *unit) answered(m *Message, alone func(n int) bool) {
	ids := m.answers
	if len(ids) == 0 {
		ids = []string{""}
	}
	for n, id := range ids {
		if !alone(n) || m.resultPart(n) == goneResult {
			continue
		}
		made := call{ToolCall: events.ToolCall{ID: id, Name: m.ToolName, Arguments: m.Arguments}, result: m, nth: n, part: m.resultPart(n)}
		if made.part >= 0 && m.Content.Parts()[made.part].Result.Name != "" {
			made.Name = m.Content.Parts()[made.part].Result.Name
		}
		u.calls = append(u.calls, made)
	}
	if len(m.results) > 0 && len(m.results) < len(m.Content.Parts()) && m.shown() && !m.Gone {
		u.tails = append(u.tails, tail{message: m, text: m.besidesResults()})
	}
}

// besidesResults is the content's text without the results.
func (m *Message) besidesResults() string {
	var texts []string
	for _, p := range m.Content.Parts() {
		switch p.Kind {
		case events.PartResult, events.PartCall:
		case events.PartText:
			texts = append(texts, p.Text)
		case events.PartItem:
			texts = append(texts, p.Item.Text)
		default:
			texts = append(texts, p.Mark())
		}
	}
	return strings.Join(texts, "\n")
}

// arrivals orders the results: by their calls, but those of one message as that has them, and last those that it has no more.
func (u *unit) arrivals() (order []int) {
	of := map[*Message][]int{} // the calls that a message has a part for
	for n := range u.calls {
		if c := &u.calls[n]; c.part != wholeContent {
			of[c.result] = append(of[c.result], n)
		}
	}
	for n := range u.calls {
		c := &u.calls[n]
		if c.part == wholeContent {
			order = append(order, n)
			continue
		}
		slices.SortStableFunc(of[c.result], func(a, b int) int { return cmp.Compare(uint(u.calls[a].part), uint(u.calls[b].part)) })
		order = append(order, of[c.result]...)
		delete(of, c.result)
	}
	return order
}

// shown says that the content itself stands in the prompt, where the message does.
func (m *Message) shown() bool { return m.Summary == nil && m.TrimmedAt == 0 }

func isSystem(role string) bool {
	return role == events.RoleSystem || role == events.RoleDeveloper
}

// stands is what stands in a tool result.
func (c *call) stands(messages []Message) string {
	m := c.result
	if m == nil || c.gone() {
		return noResult
	}
	switch {
	case c.nth > 0 && (c.part < 0 || !m.shown()):
		return sharedResult
	case m.Summary != nil:
		return m.Summary.Content
	case m.TrimmedAt > 0:
		return truncated(messages, m.Ordinal, m.TrimmedAt)
	case c.part >= 0:
		return m.Content.Parts()[c.part].Result.Text
	}
	return m.Content.Text()
}

// speaker is the role under which a unit's text stands where system messages are apart.
func (u *unit) speaker() string {
	if u.inline {
		return events.RoleUser
	}
	return u.role
}

// open says that a call of the unit waits.
func (u *unit) open() bool {
	for _, c := range u.calls {
		if c.result == nil {
			return true
		}
	}
	return false
}

// ids are the messages that a unit is made of, without deleted ones.
func (u *unit) ids() []string {
	var ids []string
	named := map[string]bool{}
	if u.message != nil {
		ids, named[u.message.MessageID] = append(ids, u.message.MessageID), true
	}
	for _, c := range u.calls {
		if c.result != nil && !c.result.Deleted && !named[c.result.MessageID] {
			named[c.result.MessageID] = true
			ids = append(ids, c.result.MessageID)
		}
	}
	return ids
}
