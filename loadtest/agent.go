package main

import (
	"fmt"
	"math/rand/v2"
	"time"
	"unicode/utf8"
)

// agent generates the events of one agent, in publishing order. The same options
// and number give the same events.
type agent struct {
	name    string
	rng     *rand.Rand
	threads []*thread
	queued  []event // go before anything new
	recent  []event // candidates for duplicates
	left    int     // events still to generate
	n       int     // events generated, for message ids and times
	ids     int     // CloudEvents ids assigned
}

// thread is one of an agent's conversations.
type thread struct {
	*expectation
	last     string // role of the last message
	call     string // the call that awaits its result
	tool     string
	editable []*editable
}

// editable is a message that a later edit may change.
type editable struct {
	id     string
	result bool
	bytes  int
	output *output // nil if the content is small
}

const (
	keepRecent   = 64 // events
	keepEditable = 32 // messages of a thread
)

// newAgents distributes the threads among the agents.
func newAgents(o options) []*agent {
	agents := make([]*agent, o.Agents)
	for i := range agents {
		agents[i] = &agent{
			name: fmt.Sprintf("loader-%d", i),
			rng:  rand.New(rand.NewPCG(o.Seed, uint64(i))),
			left: share(o.Events, o.Agents, i),
		}
	}
	for i := range o.Threads {
		a := agents[i%len(agents)]
		a.threads = append(a.threads, &thread{expectation: &expectation{
			Thread: threadID(o.Run, i), outputs: map[string]*output{},
		}})
	}
	return agents
}

// threadID makes every eighth id one that needs escaping as a subject token.
func threadID(run string, i int) string {
	if i%8 == 7 {
		return fmt.Sprintf("load.%s thread/%d ü*>", run, i)
	}
	return fmt.Sprintf("load-%s-%d", run, i)
}

// next returns the agent's next event.
func (a *agent) next() event {
	a.left--
	if len(a.queued) > 0 {
		e := a.queued[0]
		a.queued = a.queued[1:]
		return a.remember(e)
	}
	if len(a.recent) > 0 && a.rng.IntN(100) < 4 {
		again := a.recent[a.rng.IntN(len(a.recent))]
		again.makes, again.retires = nil, nil
		return again
	}
	a.n++
	t := a.threads[a.rng.IntN(len(a.threads))]
	if len(t.editable) > 0 && a.rng.IntN(100) < 4 {
		return a.remember(a.edit(t))
	}
	return a.remember(a.turn(t))
}

func (a *agent) remember(e event) event {
	if len(a.recent) < keepRecent {
		a.recent = append(a.recent, e)
	} else {
		a.recent[a.rng.IntN(keepRecent)] = e
	}
	return e
}

// turn returns the next message of a conversation: a user asks, the assistant calls a tool or answers, a
// call gets its result.
func (a *agent) turn(t *thread) event {
	switch {
	case t.call != "":
		return a.result(t)
	case t.last == "user" || t.last == "result":
		if a.rng.IntN(100) < 75 {
			return a.calls(t)
		}
		return a.says(t, "assistant")
	case t.last == "":
		return a.says(t, "system")
	}
	return a.says(t, "user")
}

// says returns a text message. Occasionally an edit precedes it, and has to wait for it.
func (a *agent) says(t *thread, role string) event {
	text := prose(a.rng, a.rng.IntN(400))
	t.last = role
	t.Messages++
	m := &editable{id: a.messageID(), bytes: len(text)}
	t.Bytes += m.bytes
	t.live = append(t.live, m.id)
	e := a.event(t, typeMessage, map[string]any{
		"message_id": m.id, "role": role, "content": a.content(text), "agent_id": a.name, "created_at": a.createdAt(),
	})
	t.keep(a.rng, m)
	if a.rng.IntN(200) == 0 && a.left > 0 { // an edit without its message would wait forever
		a.queued = append(a.queued, e)
		return a.change(t, m, prose(a.rng, 1+a.rng.IntN(300)))
	}
	return e
}

// calls returns an assistant message that calls a tool.
func (a *agent) calls(t *thread) event {
	t.last, t.call, t.tool = "assistant", fmt.Sprintf("call_%d", a.n), tools[a.rng.IntN(len(tools))]
	// In RFC 8785 form, so that every method of counting gives the same bytes.
	arguments := fmt.Sprintf(`{"command":"%s --limit %d","path":"src/%s.go"}`, t.tool, a.rng.IntN(100), words[a.rng.IntN(8)])
	text := prose(a.rng, a.rng.IntN(120))
	t.Messages++
	t.Bytes += len(text) + len(arguments)
	t.live = append(t.live, a.messageID())
	return a.event(t, typeMessage, map[string]any{
		"message_id": a.messageID(), "role": "assistant", "content": a.content(text), "agent_id": a.name, "created_at": a.createdAt(),
		"tool_calls": []any{map[string]any{"id": t.call, "name": t.tool, "arguments": rawJSON(arguments)}},
		"usage":      map[string]any{"input_tokens": 1000 + a.rng.IntN(9000), "output_tokens": 10 + a.rng.IntN(500)},
	})
}

// result returns the result of the open call.
func (a *agent) result(t *thread) event {
	text := toolText(a.rng, t.tool, toolChars(a.rng))
	m := &editable{id: a.messageID(), result: true, bytes: len(text)}
	e := a.event(t, typeResult, map[string]any{
		"message_id": m.id, "tool_call_id": t.call, "tool_name": t.tool, "content": a.content(text),
		"is_error": a.rng.IntN(20) == 0, "agent_id": a.name, "created_at": a.createdAt(),
	})
	if utf8.RuneCountInString(text) > largeChars {
		m.output = &output{}
		t.outputs[m.id] = m.output
		e.makes = m.output
	}
	t.ToolResults++
	t.live = append(t.live, m.id)
	t.Bytes += m.bytes
	t.last, t.call = "result", ""
	t.keep(a.rng, m)
	return e
}

// content returns a text in one of the forms that content may have.
func (a *agent) content(text string) any {
	switch p := a.rng.IntN(10); {
	case p == 0 && text == "":
		return nil
	case p < 2:
		return []any{map[string]any{"type": "text", "text": text}}
	}
	return text
}

func (a *agent) event(t *thread, typ string, data map[string]any) event {
	a.ids++
	e := event{typ: typ, thread: t.Thread, id: fmt.Sprintf("%s/%s/%d", t.Thread, a.name, a.ids), data: data}
	switch a.rng.IntN(10) {
	case 0:
		e.form = binary
	case 1:
		e.form = structured
	}
	return e
}

func (a *agent) messageID() string { return fmt.Sprintf("%s-%d", a.name, a.n) }

// createdAt advances by a second per event from a fixed time: published data must not depend
// on a clock.
func (a *agent) createdAt() string {
	return time.Unix(1_750_000_000+int64(a.n), 0).UTC().Format(time.RFC3339)
}

func (t *thread) keep(rng *rand.Rand, m *editable) {
	if len(t.editable) < keepEditable {
		t.editable = append(t.editable, m)
		return
	}
	t.editable[rng.IntN(keepEditable)] = m
}
