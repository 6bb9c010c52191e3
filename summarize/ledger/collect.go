package ledger

import (
	"slices"

	"precis/events"
)

// Collect reads a span's messages, in order, and returns its untrimmed ledger.
func Collect(messages []Message) Ledger {
	c := collector{
		results: results(messages), asked: asked(messages),
		files: map[string]*File{}, commands: map[string]*Command{}, errors: map[string]*Error{},
		tasks: map[string]*Task{}, requests: map[string]*Request{}, words: map[string]*Word{},
	}
	for _, m := range messages {
		c.message(m)
	}
	return c.ledger(messages)
}

// collector builds a ledger by name; the slices beside the maps keep the order of their values.
type collector struct {
	results map[string]Message         // by call id
	asked   map[string]events.ToolCall // the calls in the span, by id
	open    string                     // the current file of an editor whose calls name no path

	files    map[string]*File
	commands map[string]*Command
	errors   map[string]*Error
	tasks    map[string]*Task
	requests map[string]*Request
	words    map[string]*Word
	order    order
	lines    []Line
	calls    int
}

// order records the order of first occurrence, so that the same messages give the same ledger.
type order struct {
	files, commands, errors, tasks, requests, words []string
}

// results maps call ids to results.
func results(messages []Message) map[string]Message {
	byCall := map[string]Message{}
	for _, m := range messages {
		if _, seen := byCall[m.ToolCallID]; m.Role == events.RoleTool && m.ToolCallID != "" && !seen {
			byCall[m.ToolCallID] = m
		}
	}
	return byCall
}

// asked maps call ids to the calls in the span.
func asked(messages []Message) map[string]events.ToolCall {
	ids := map[string]events.ToolCall{}
	for _, m := range messages {
		for _, call := range m.ToolCalls {
			ids[call.ID] = call
		}
	}
	return ids
}

func (c *collector) message(m Message) {
	switch m.Role {
	case events.RoleUser:
		c.request(m)
	case events.RoleTool:
		c.failure(m)
		c.orphan(m)
	}
	for _, call := range m.ToolCalls {
		c.calls++
		c.call(m.Ordinal, call, c.results[call.ID])
	}
	c.quote(m)
}

// orphan reconstructs the call of a result whose call is outside the span.
func (c *collector) orphan(m Message) {
	if _, called := c.asked[m.ToolCallID]; m.ToolName == "" || called {
		return // no name, so nothing is known; or the call itself accounts for the result
	}
	c.calls++
	c.call(m.Ordinal, events.ToolCall{ID: m.ToolCallID, Name: m.ToolName, Arguments: m.Arguments}, m)
}

// call records one call; result has no Message if the span contains none.
func (c *collector) call(at uint64, call events.ToolCall, result Message) {
	args := parseArguments(call.Arguments)
	end := outcomeOf(result)
	line := args.commandLine(call.Name)
	switch {
	case c.taskCall(at, call.Name, args, result):
	case line != "":
		c.command(at, line, end)
		c.shell(at, line, end)
	case c.fileCall(at, call.Name, args, end):
	default:
		c.command(at, args.brief(call.Name), end)
	}
}

func (c *collector) ledger(messages []Message) Ledger {
	l := Ledger{
		Messages: len(messages), Calls: c.calls, Lines: c.lines,
		Files: listed(c.order.files, c.files), Commands: listed(c.order.commands, c.commands),
		Errors: listed(c.order.errors, c.errors), Requests: listed(c.order.requests, c.requests),
		Tasks: latestList(listed(c.order.tasks, c.tasks)), Words: listed(c.order.words, c.words),
	}
	if len(messages) > 0 {
		l.From, l.To = messages[0].Ordinal, messages[len(messages)-1].Ordinal
	}
	return l
}

func listed[T any](order []string, byName map[string]*T) []T {
	list := make([]T, 0, len(order))
	for _, name := range order {
		list = append(list, *byName[name])
	}
	return slices.Clip(list)
}

// entry finds or creates the entry of a name.
func entry[T any](byName map[string]*T, order *[]string, name string) (e *T, fresh bool) {
	if e, ok := byName[name]; ok {
		return e, false
	}
	e = new(T)
	byName[name] = e
	*order = append(*order, name)
	return e, true
}
