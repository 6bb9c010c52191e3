// Package trpcagent puts precis beside agents of trpc-agent-go, as hooks of a session service: each event of a session is published as it is appended, and the
// session that a runner gets has the compacted prompt in place of its events.
//
// Where precis does not answer, a call waits for its result, or the thread has not the session's messages, the runner gets the session as it is kept. What comes
// before all of its messages is taken for those that the service keeps no more.
package trpcagent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"trpc.group/trpc-go/trpc-agent-go/event"
	"trpc.group/trpc-go/trpc-agent-go/model"
	"trpc.group/trpc-go/trpc-agent-go/session"

	"precis/api"
	"precis/events"
)

// Options are the hooks' settings.
type Options struct {
	Publisher *events.Publisher        // required
	Client    *api.Client              // required; may share the publisher's connection
	MaxTokens int                      // bounds the events of a session as a prompt; 0: no limit
	Wait      time.Duration            // how long an event or a session waits for precis; 0: 2s
	Thread    func(session.Key) string // names the thread of a session; nil: app, user and session, with a slash between them
	Warn      func(error)              // receives what keeps a session from being compacted; must not block; may be nil
}

// Hooks are for a session service: WithAppendEventHook(h.Append), WithGetSessionHook(h.Get).
type Hooks struct {
	o     Options
	begun sync.Map     // threads that have every event of their session
	until atomic.Int64 // before which precis is left alone, as it was too slow
}

// New returns hooks.
func New(o Options) (*Hooks, error) {
	if o.Publisher == nil || o.Client == nil {
		return nil, errors.New("trpcagent: Publisher and Client are required")
	}
	if o.Thread == nil {
		o.Thread = func(k session.Key) string { return k.AppName + "/" + k.UserID + "/" + k.SessionID }
	}
	if o.Warn == nil {
		o.Warn = func(error) {}
	}
	o.Wait = cmp.Or(o.Wait, 2*time.Second)
	return &Hooks{o: o}, nil
}

// Append publishes an event that the service has stored.
func (h *Hooks) Append(c *session.AppendEventContext, next func() error) error {
	if err := next(); err != nil {
		return err
	}
	_ = h.publish(c.Context, h.o.Thread(c.Key), *c.Event) // Get tries again
	return nil
}

// Get puts the compacted prompt in the place of the session's events.
func (h *Hooks) Get(c *session.GetSessionContext, next func() (*session.Session, error)) (*session.Session, error) {
	s, err := next()
	if err != nil || s == nil || len(s.Events) == 0 {
		return s, err
	}
	s.EventMu.Lock()
	defer s.EventMu.Unlock()
	thread := h.o.Thread(c.Key)
	if _, begun := h.begun.LoadOrStore(thread, true); !begun && h.publish(c.Context, thread, s.Events...) != nil { // the service may keep the session from another process
		return s, nil // the thread lacks an event
	}
	ctx, cancel := context.WithTimeout(c.Context, h.o.Wait)
	defer cancel()
	reply, err := h.o.Client.Context(ctx, thread, api.ContextRequest{Format: api.FormatOpenAI, MaxTokens: h.o.MaxTokens, MinEventSeq: h.o.Publisher.LastSeq(), Explain: true})
	if err == nil {
		s.Events, err = compacted(s.Events, reply)
	}
	if err != nil {
		h.o.Warn(fmt.Errorf("thread %q: no prompt: %w", thread, err))
	}
	return s, nil
}

type published struct {
	MessageID  string             `json:"message_id"`
	Role       model.Role         `json:"role"`
	Content    any                `json:"content"`
	ToolCalls  []model.ToolCall   `json:"tool_calls,omitempty"`
	ToolCallID string             `json:"tool_call_id,omitempty"`
	ToolName   string             `json:"tool_name,omitempty"`
	Reasoning  string             `json:"reasoning_content,omitempty"`
	AgentID    string             `json:"agent_id,omitempty"`
	Model      string             `json:"model,omitempty"`
	Usage      *events.TokenUsage `json:"usage,omitempty"`
	CreatedAt  time.Time          `json:"created_at"`
}

// said are the messages of an event, if it has any.
func said(e *event.Event) (list []model.Choice) {
	if e.Response != nil && !e.IsPartial && e.IsValidContent() {
		list = e.Choices
	}
	return list
}

// messageID names the nth message of an event, as a merged event has several.
func messageID(e *event.Event, n int) string {
	return strings.TrimSuffix(fmt.Sprintf("%s#%d", e.ID, n+1), "#1")
}

// publish publishes what the events say, and waits until it is stored. What was published before is a duplicate, by its id.
func (h *Hooks) publish(ctx context.Context, thread string, list ...event.Event) (err error) {
	for i := range list {
		for n, choice := range said(&list[i]) {
			e, m := &list[i], choice.Message
			p := published{
				MessageID: messageID(e, n), Role: m.Role, Content: m.Content, ToolCalls: m.ToolCalls, ToolCallID: m.ToolID, ToolName: m.ToolName,
				Reasoning: m.ReasoningContent, AgentID: e.Author, Model: e.Model, CreatedAt: e.Timestamp,
			}
			if len(m.ContentParts) > 0 { // kept as they are: the event itself goes back to the runner
				p.Content = append([]model.ContentPart{{Type: model.ContentTypeText, Text: &m.Content}}, m.ContentParts...)
			}
			if u := e.Usage; u != nil && n == 0 {
				p.Usage = &events.TokenUsage{InputTokens: int64(u.PromptTokens), OutputTokens: int64(u.CompletionTokens), CachedInputTokens: int64(u.PromptTokensDetails.CachedTokens)}
			}
			err = cmp.Or(err, h.store(ctx, thread, p))
		}
	}
	if err != nil {
		h.o.Warn(fmt.Errorf("publish events of thread %q: %w", thread, err))
		h.begun.Delete(thread) // the next run publishes all of the session
	}
	return err
}

// store publishes one message, and waits until it is stored. Where precis is too slow it is left alone for ten seconds.
func (h *Hooks) store(ctx context.Context, thread string, p published) error {
	data, err := json.Marshal(p)
	if err != nil || time.Now().UnixNano() < h.until.Load() {
		return cmp.Or(err, context.DeadlineExceeded)
	}
	ctx, cancel := context.WithTimeout(ctx, h.o.Wait)
	defer cancel()
	_, err = h.o.Publisher.Store(ctx, events.ThreadMessage, thread, data)
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		h.until.Store(time.Now().Add(10 * time.Second).UnixNano())
	}
	return err
}

// compacted are the events of a prompt, or the given ones with an error, each with one message: the session's own where the message stands there, with another text where precis has one.
func compacted(list []event.Event, reply *api.ContextReply) (out []event.Event, err error) {
	own := map[string]event.Event{}
	for i := range list {
		for n, choice := range said(&list[i]) {
			e := list[i].Clone()
			e.Choices = []model.Choice{choice}
			own[messageID(&list[i], n)] = *e
		}
	}
	if !reply.AccountsForNewest(slices.Collect(maps.Keys(own))) {
		return list, errors.New("a call waits for its result, or the thread has not the session's messages")
	}
	var messages []struct {
		Role      model.Role       `json:"role"`
		Content   any              `json:"content"`
		ToolCalls []model.ToolCall `json:"tool_calls"`
		CallID    string           `json:"tool_call_id"`
	}
	if err := json.Unmarshal(reply.Messages, &messages); err != nil {
		return list, fmt.Errorf("read the prompt: %w", err)
	}
	for i, m := range messages {
		e, ok := own[strings.Join(reply.Sources[i].MessageIDs, "\n")] // what is made of several is none of them
		text, plain := m.Content.(string)
		if !ok { // a summary, or what the service keeps no more
			e = *list[0].Clone()
			e.ID, e.Author = fmt.Sprintf("precis-%d", i), string(m.Role)
			e.Choices = []model.Choice{{Message: model.Message{Role: m.Role, ToolCalls: m.ToolCalls, ToolID: m.CallID}}}
		}
		if message := &e.Choices[0].Message; plain && len(message.ContentParts) == 0 {
			message.Content = text
		} else if !ok && m.Content != nil {
			return list, fmt.Errorf("message %d of the prompt has parts that are not in the session", i)
		}
		out = append(out, e)
	}
	return out, nil
}
