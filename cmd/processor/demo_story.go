package main

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"

	"precis/events"
)

// demoPatience bounds the whole story, which takes a second or two.
const demoPatience = time.Minute

// story plays the demo's scenes one after the other and tells each when it is over: in the same words every
// time, however the agents' events came to lie between each other.
type story struct {
	app    *app
	keep   string
	asJSON bool
	page   *page
	actors []actor
	*stage

	mu sync.Mutex // agents speak at once
	// What later scenes come back to, by thread and message id.
	summaries map[[2]string]*events.Summary
}

func newStory(a *app, c *demoCmd) *story {
	s := &story{
		app: a, keep: c.Keep, asJSON: c.JSON, page: newPage(a),
		actors: cast(), summaries: map[[2]string]*events.Summary{},
	}
	if c.JSON {
		s.page.out = io.Discard
	}
	return s
}

// fact is a line of --json.
type fact struct {
	Step   string `json:"step"`
	Agent  string `json:"agent,omitzero"`
	Thread string `json:"thread_id,omitzero"`
	Data   any    `json:"data"`
}

func (s *story) fact(step string, of actor, data any) {
	if s.asJSON {
		s.app.json(fact{Step: step, Agent: of.name, Thread: of.thread, Data: data})
	}
}

// play waits for the processor, and then plays.
func (s *story) play(ctx context.Context, opened <-chan string) (err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, demoPatience, fmt.Errorf("nothing for %s", demoPatience))
	defer cancel()
	select {
	case url := <-opened:
		if s.stage, err = newStage(ctx, s.app, url, s.actors); err != nil {
			return err
		}
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer s.close()
	s.opening()
	for _, scene := range []func(context.Context) error{s.work, s.edit, s.deletion, s.faults, s.sums} {
		if err := scene(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (s *story) opening() {
	s.fact("began", actor{}, map[string]any{"nats": s.url, "keep": s.keep})
	s.page.heading("precis: summaries of what agents read, made beside the agents")
	s.page.prose("Agents publish what happens in their sessions. precis reads along, and sends back summaries of what is too large for a prompt, until somebody edits what they were made from. Here it runs with a NATS server inside, at " + s.url + ", and works by rules: no model is called, nothing leaves this machine.")
}

// work has all agents publish their sessions at once, and waits for the summaries.
func (s *story) work(ctx context.Context) error {
	s.page.heading("1. Three agents work at once, and publish")
	group, each := errgroup.WithContext(ctx)
	for _, act := range s.actors {
		group.Go(func() error { return s.perform(each, act) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	stored := time.Now()
	large := s.tellWork()
	for range large {
		if _, err := s.summary(ctx); err != nil {
			return err
		}
	}
	s.tellSummaries(time.Since(stored))
	return nil
}

// perform publishes an agent's session and waits until the server has it.
func (s *story) perform(ctx context.Context, act actor) error {
	for _, m := range act.script {
		if err := s.publish(ctx, act, m); err != nil {
			return err
		}
	}
	return nil
}

func (s *story) publish(ctx context.Context, act actor, m *events.Message) error {
	send := s.agents[act.thread].Message
	if m.Role == events.RoleTool {
		send = s.agents[act.thread].ToolResult
	}
	receipt, err := send(ctx, act.thread, m)
	return s.remember(ctx, act, receipt, err)
}

func (s *story) remember(ctx context.Context, act actor, receipt *events.Receipt, err error) error {
	if err != nil {
		return err
	}
	seq, err := receipt.Wait(ctx)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last[act.thread] = seq
	return nil
}

// summary waits for the next record, which must be a summary.
func (s *story) summary(ctx context.Context) (*events.Summary, error) {
	record, err := s.next(ctx)
	if err != nil {
		return nil, err
	}
	summary, ok := record.(*events.Summary)
	if !ok || summary.ThreadID == nil || len(summary.SourceMessageIDs) != 1 {
		return nil, fmt.Errorf("want the summary of a tool output, got %T", record)
	}
	s.summaries[[2]string{*summary.ThreadID, summary.SourceMessageIDs[0]}] = summary
	return summary, nil
}

// invalidated waits for the next record, which must take a summary back.
func (s *story) invalidated(ctx context.Context) (*events.Invalidated, error) {
	record, err := s.next(ctx)
	if err != nil {
		return nil, err
	}
	stale, ok := record.(*events.Invalidated)
	if !ok {
		return nil, fmt.Errorf("want summary.invalidated, got %T", record)
	}
	return stale, nil
}

// isLarge says whether a message is one that a summary is made of, as the default policy has it.
func isLarge(m *events.Message) bool {
	return m.Role == events.RoleTool && utf8.RuneCountInString(m.Content.Text()) > 1500
}

// edited publishes an edit and waits until the server has it.
func (s *story) edited(ctx context.Context, act actor, e *events.Edit) error {
	receipt, err := s.agents[act.thread].Edit(ctx, act.thread, e)
	return s.remember(ctx, act, receipt, err)
}
