package prompt

import "precis/events"

// outline is what a message's calls and results are: read once for each, since a message may have thousands of them.
type outline struct {
	calls     []events.ToolCall
	callParts []int    // of each call the part that makes it; -1 for none
	results   []int    // the parts that are results of other messages' calls
	answers   []string // the calls that the message is the result of
	parts     []int    // of each answer the part that is the result, or wholeContent, or goneResult
	shape     events.Shape
	made      map[string]bool // ids of the calls that an assistant's content makes
	answered  map[string]bool // ids of the calls that it has the results of
}

// What is a result that is no part of the content.
const (
	wholeContent = -1
	goneResult   = -2 // an edit removed it, and left others
)

// outlined returns the messages with their outlines.
func outlined(messages []Message) []Message {
	list := make([]Message, len(messages))
	for i, m := range messages {
		m.outline = &outline{results: m.Results(), shape: shapeOf(m.Message), made: map[string]bool{}, answered: map[string]bool{}}
		m.outline.calls, m.callParts = m.CallParts()
		m.answers, m.parts = m.answersOf()
		if m.Role == events.RoleAssistant {
			for _, p := range m.Content.Parts() {
				switch p.Kind {
				case events.PartCall:
					m.made[p.Call.ID] = true
				case events.PartResult:
					m.answered[p.Result.CallID] = true
				}
			}
		}
		list[i] = m
	}
	return list
}

// answersOf are the calls that a message is the result of, and of each which part of the content is the result. Those that an edit
// removed come last.
func (m *Message) answersOf() (ids []string, parts []int) {
	ids = m.Message.Answers()
	if len(m.results) == 0 {
		if len(ids) < len(m.Answered) {
			ids = m.Answered
		}
		for range ids {
			parts = append(parts, wholeContent)
		}
		return ids, parts
	}
	stands := map[string]int{}
	for _, id := range ids {
		stands[id]++
	}
	parts = append(parts, m.results...)
	for _, id := range m.Answered {
		if stands[id]--; stands[id] < 0 {
			ids, parts = append(ids, id), append(parts, goneResult)
		}
	}
	return ids, parts
}

// resultPart is the part that is a message's nth result, or what it is else.
func (m *Message) resultPart(n int) int {
	if n < len(m.parts) {
		return m.parts[n]
	}
	return wholeContent
}

// shapeOf is the shape of a message's parts; ShapeShared where none says it.
func shapeOf(m *events.Message) events.Shape {
	for _, p := range m.Content.Parts() {
		if p.Shape != events.ShapeShared {
			return p.Shape
		}
	}
	if m.Legacy() != nil || len(m.ToolCalls) > 0 && len(m.ToolCalls[0].Raw) > 0 {
		return events.ShapeOpenAI
	}
	return events.ShapeShared
}
