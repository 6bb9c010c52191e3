package main

import (
	"context"
	"errors"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"precis/events"
)

// Endpoints of the service, each before the token of what it is asked about.
const (
	threadEndpoint  = "precis.thread.get."
	contextEndpoint = "precis.thread.context."
	messageEndpoint = "precis.message.get."
	summaryEndpoint = "precis.summary.get."
)

// requestTimeout bounds one request: the processor may have to catch up with the log first.
const requestTimeout = 30 * time.Second

// ask sends a request about one thread or summary to the service and returns the reply's JSON.
func (s *server) ask(ctx context.Context, endpoint, id string, request any) ([]byte, error) {
	token, err := events.Token(id)
	if err != nil {
		return nil, usage("%q: %w", printable(id), err)
	}
	body, err := json.Marshal(request)
	if err != nil {
		return nil, usage("build request: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	reply, err := s.conn.RequestWithContext(ctx, endpoint+token, body)
	switch {
	case errors.Is(err, nats.ErrNoResponders):
		return nil, unreachable("no processor answers at %s; start one with \"processor run\"", s.url)
	case err != nil:
		return nil, serverError("ask the processor", err)
	}
	return reply.Data, replyError(reply)
}

// errNotReady is an answer that a later request can have.
var errNotReady = errors.New("the processor has not caught up or does not own this thread")

// replyError turns the service's error headers into an error with its exit status.
func replyError(reply *nats.Msg) error {
	code, message := reply.Header.Get(micro.ErrorCodeHeader), reply.Header.Get(micro.ErrorHeader)
	switch code {
	case "":
		return nil
	case "400":
		return usage("%s", message)
	case "404", "409":
		return wrong("%s", message)
	case "413":
		return unreachable("%s: the answer is larger than the server lets through; ask for less (--lines, --max-tokens), or raise its max_payload", message)
	case "503":
		return unreachable("%s: %w; try again in a moment", message, errNotReady)
	default:
		return unreachable("the processor answers %s: %s", code, message)
	}
}
