// Package adk puts precis beside an agent of the Agent Development Kit for Go, as a plugin of its runner: each event of a session is published as it comes,
// and each request to the model gets the compacted prompt of its session in place of its contents.
//
// A request whose contents are not exactly the thread's messages goes to the model as it came: contents that ADK or another plugin changed or left out,
// another writer's messages, a call that waits for its result, a precis that does not answer.
package adk

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/adk/agent"
	"google.golang.org/adk/model"
	"google.golang.org/adk/plugin"
	"google.golang.org/adk/session"
	"google.golang.org/genai"

	"precis/api"
	"precis/events"
)

// Options are a plugin's settings.
type Options struct {
	Publisher *events.Publisher                      // required
	Client    *api.Client                            // required; may share the publisher's connection
	MaxTokens int                                    // bounds the contents of a request; 0: no limit
	Wait      time.Duration                          // how long an event or a request waits for precis; 0: 2s
	Thread    func(app, user, session string) string // names the thread of a session; nil: app, user and session, with a slash between them
	Warn      func(error)                            // receives what keeps a request from being compacted; must not block; may be nil
}

// New returns the plugin. Give it to the runner: runner.Config{PluginConfig: runner.PluginConfig{Plugins: …}}.
func New(o Options) (*plugin.Plugin, error) {
	if o.Publisher == nil || o.Client == nil {
		return nil, errors.New("adk: Publisher and Client are required")
	}
	if o.Thread == nil {
		o.Thread = func(app, user, session string) string { return app + "/" + user + "/" + session }
	}
	if o.Warn == nil {
		o.Warn = func(error) {}
	}
	o.Wait = cmp.Or(o.Wait, 2*time.Second)
	a := &adapter{Options: o}
	return plugin.New(plugin.Config{
		Name: "precis", OnUserMessageCallback: a.user, OnEventCallback: a.event, BeforeModelCallback: a.compact,
		AfterRunCallback: func(ctx agent.InvocationContext) { a.runs.Delete(ctx.InvocationID()) },
	})
}

type adapter struct {
	Options
	runs sync.Map // *run, by invocation
}

// run is what one invocation has published, with what it found in the session.
type run struct {
	mu     sync.Mutex
	thread string
	known  map[string][]string // message ids by content, as the model gets it
	seq    uint64              // EVENTS sequence of the last
	failed bool                // something could not be published: the thread lacks it
	late   bool                // precis was too slow: the next run publishes what this one does not
}

// user begins an invocation: it publishes what the session holds, which a store may have kept from another process, and the prompt.
func (a *adapter) user(ctx agent.InvocationContext, content *genai.Content) (*genai.Content, error) {
	s := ctx.Session()
	r := &run{thread: a.Thread(s.AppName(), s.UserID(), s.ID()), known: map[string][]string{}}
	a.runs.Store(ctx.InvocationID(), r)
	for e := range s.Events().All() {
		a.publish(ctx, r, e.InvocationID, e)
	}
	a.publish(ctx, r, ctx.InvocationID(), &session.Event{Author: "user", LLMResponse: model.LLMResponse{Content: content}})
	return nil, nil
}

func (a *adapter) event(ctx agent.InvocationContext, e *session.Event) (*session.Event, error) {
	if r, ok := a.runs.Load(ctx.InvocationID()); ok {
		a.publish(ctx, r.(*run), ctx.InvocationID(), e)
	}
	return nil, nil
}

// published is an event's message: Gemini's content, with what is known of it.
type published struct {
	Role      string             `json:"role"`
	Parts     []*genai.Part      `json:"parts"`
	MessageID string             `json:"message_id"`
	AgentID   string             `json:"agent_id,omitempty"`
	Usage     *events.TokenUsage `json:"usage,omitempty"`
	Model     string             `json:"model,omitempty"`
	CreatedAt time.Time          `json:"created_at,omitzero"`
}

// publish publishes an event that has a content. An event that was published before is a duplicate, by its id.
func (a *adapter) publish(ctx context.Context, r *run, invocation string, e *session.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	content := e.LLMResponse.Content
	if r.late || e.LLMResponse.Partial || content == nil || content.Role == "" || len(content.Parts) == 0 {
		return
	}
	p := published{Role: content.Role, Parts: content.Parts, MessageID: e.ID, AgentID: e.Author, Model: e.LLMResponse.ModelVersion, CreatedAt: e.Timestamp}
	if e.Author == "user" { // of which the runner makes the id later
		p.MessageID, p.AgentID = invocation+"/user", ""
	}
	if u := e.LLMResponse.UsageMetadata; u != nil {
		p.Usage = &events.TokenUsage{
			InputTokens: int64(u.PromptTokenCount), OutputTokens: int64(u.CandidatesTokenCount + u.ThoughtsTokenCount), CachedInputTokens: int64(u.CachedContentTokenCount),
		}
	}
	data, err := json.Marshal(p)
	ctx, cancel := context.WithTimeout(ctx, a.Wait)
	defer cancel()
	if err == nil {
		r.seq, err = a.Publisher.Store(ctx, events.ThreadMessage, r.thread, data)
	}
	if err != nil {
		r.failed, r.late = true, ctx.Err() != nil
		a.Warn(fmt.Errorf("publish an event of thread %q: %w", r.thread, err))
		return
	}
	r.known[digest(content)] = append(r.known[digest(content)], p.MessageID)
}

// compact puts the compacted prompt in the place of a request's contents.
func (a *adapter) compact(ctx agent.CallbackContext, req *model.LLMRequest) (*model.LLMResponse, error) {
	begun, ok := a.runs.Load(ctx.InvocationID())
	if !ok {
		return nil, nil
	}
	r := begun.(*run)
	r.mu.Lock()
	defer r.mu.Unlock()
	ids, left := []string{}, maps.Clone(r.known)
	for _, c := range req.Contents {
		if d := digest(c); len(left[d]) > 0 { // contents may be equal
			ids, left[d] = append(ids, left[d][0]), left[d][1:]
		}
	}
	if r.failed || len(ids) < len(req.Contents) {
		a.Warn(fmt.Errorf("thread %q: the request has contents that were not published", r.thread))
		return nil, nil
	}
	limited, cancel := context.WithTimeout(ctx, a.Wait)
	defer cancel()
	reply, err := a.Client.Context(limited, r.thread, api.ContextRequest{Format: api.FormatGemini, MaxTokens: a.MaxTokens, MinEventSeq: r.seq, Explain: true})
	var contents []*genai.Content
	if err == nil && !reply.AccountsFor(ids) {
		err = errors.New("a call waits for its result, or the thread has not exactly the request's messages")
	} else if err == nil {
		err = json.Unmarshal(reply.Messages, &contents)
	}
	if err != nil {
		a.Warn(fmt.Errorf("thread %q: no prompt: %w", r.thread, err))
		return nil, nil
	}
	for _, c := range contents {
		clean(c)
	}
	req.Contents = contents
	return nil, nil
}

// digest is a content as the model gets it.
func digest(c *genai.Content) string {
	var sent genai.Content
	text, err := json.Marshal(c)
	if err != nil || json.Unmarshal(text, &sent) != nil {
		return ""
	}
	clean(&sent)
	text, _ = json.Marshal(sent) // it was JSON
	return string(text)
}

// clean removes what ADK does not send: empty parts, and the ids that it gave to calls.
func clean(c *genai.Content) {
	c.Parts = slices.DeleteFunc(c.Parts, func(p *genai.Part) bool { return p == nil || reflect.ValueOf(*p).IsZero() })
	for _, p := range c.Parts {
		if call := p.FunctionCall; call != nil && strings.HasPrefix(call.ID, "adk-") {
			call.ID = ""
		}
		if result := p.FunctionResponse; result != nil && strings.HasPrefix(result.ID, "adk-") {
			result.ID = ""
		}
	}
}
