package gateway

import (
	"errors"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"precis/events"
)

// api is one operation of a provider that the gateway reads.
type api struct {
	name   string
	format string // of its prompts
	read   func(r *reader, request object) (*conversation, error)
	whole  func(response object) (*answer, error)
	stream func() assembler
	// known are the members of a request that compact mode knows.
	known []string
	list  string // the member that has the conversation
}

// assembler makes an answer of a stream's events.
type assembler interface {
	// add takes an event's data, whose members it may keep, but not the object: the next event is in the same one. done means that the answer is complete.
	add(event object) (done bool)
	answer() (*answer, error)
}

// apis are the operations by path.
var apis = map[string]*api{
	"/v1/chat/completions": chatAPI, "/v1/responses": responsesAPI, "/v1/messages": anthropicAPI,
}

// apiOf returns the operation of a request; nil where it is only passed on.
func (g *Gateway) apiOf(r *http.Request) *api {
	at := strings.TrimSuffix(r.URL.Path, "/")
	switch {
	case r.Method != http.MethodPost:
		return nil
	case at == compactionPath && g.opts.Mode == ModeCompact && g.opts.Compactions:
		return compactionAPI
	}
	return apis[at]
}

// misplaced is the path of a request for one of the operations where it is not; empty for any other.
func misplaced(r *http.Request) string {
	at := path.Clean(r.URL.Path)
	for known := range apis {
		if r.Method == http.MethodPost && r.URL.Path != known && slices.Contains([]string{strings.TrimPrefix(known, "/v1"), known, "/v1" + known}, at) {
			return at
		}
	}
	return ""
}

// forAnthropic reports which provider a request is for: by its path, or by the headers that Anthropic's API demands.
func forAnthropic(r *http.Request) bool {
	at := r.URL.Path
	return at == "/v1/messages" || strings.HasPrefix(at, "/v1/messages/") || at == "/v1/complete" ||
		r.Header.Get("Anthropic-Version") != "" || r.Header.Get("X-Api-Key") != ""
}

// Errors of what can't be read. Such a request is passed on all the same.
var (
	errRequest = errors.New("the request has not the shape of its API")
	errAnswer  = errors.New("the answer has not the shape of its API")
	errNone    = errors.New("there is no answer")
)

// messagesOf reads a list of messages that stand as their provider has them.
func (r *reader) messagesOf(list jsontext.Value) (messages []*message, err error) {
	if list.Kind() != jsontext.KindBeginArray {
		return nil, fmt.Errorf("%w: messages is not a list", errRequest)
	}
	all := r.scratch.listOf(list)
	messages = make([]*message, 0, len(all)+1) // the answer is one more
	for i := range all {
		m, err := r.message(itself, all[i:i+1:i+1]...)
		if err != nil {
			return nil, fmt.Errorf("%w: messages[%d]: %w", errRequest, i, err)
		}
		messages = append(messages, m)
	}
	return messages, nil
}

// Shapes of messages.
var (
	itself   = shape{"itself", func(raw []jsontext.Value) object { return objectOf(raw[0]) }}
	asSystem = shape{"system", contentOf(events.RoleSystem)}
	asUser   = shape{"user", contentOf(events.RoleUser)}
)

func contentOf(role string) func([]jsontext.Value) object {
	return func(raw []jsontext.Value) object { return object{"role": quote(role), "content": raw[0]} }
}

// instructions is the message of a request's instructions; none where there are none.
func (r *reader) instructions(v jsontext.Value) ([]*message, error) {
	if len(v) == 0 || v.Kind() == jsontext.KindNull || string(v) == `""` || string(v) == `[]` {
		return nil, nil
	}
	m, err := r.message(asSystem, v)
	if err != nil {
		return nil, fmt.Errorf("%w: instructions: %w", errRequest, err)
	}
	m.apart = true
	return []*message{m}, nil
}

// replied makes the answer's message, with what the provider says about it.
func replied(id, model string, data object, usage jsontext.Value) (*answer, error) {
	data["role"] = quote(events.RoleAssistant)
	if usage.Kind() == jsontext.KindBeginObject {
		data["usage"] = usage
	}
	if model != "" {
		data["model"] = quote(model)
	}
	m := &message{}
	if err := m.take(data); err != nil {
		return nil, fmt.Errorf("%w: %w", errAnswer, err)
	}
	return &answer{id: id, message: m}, nil
}

func quote(s string) jsontext.Value {
	v, _ := jsontext.AppendQuote(nil, s) // what is not UTF-8 is replaced
	return v
}
