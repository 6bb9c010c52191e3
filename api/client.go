package api

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"

	"precis/events"
)

// ClientOptions are a Client's settings; a zero field takes its default.
type ClientOptions struct {
	// Timeout bounds one request. Default 12s, which exceeds the 10s for which a processor holds a request that waits for
	// MinEventSeq.
	Timeout time.Duration
}

const defaultTimeout = 12 * time.Second

// Client sends requests to the processor behind a NATS server. It repeats none: an error that matches ErrUnavailable or
// ErrNoProcessor, or a timeout, may pass. Every request but Summarize can be repeated at no cost.
//
// It is safe for concurrent use. It does not own its connection, and runs nothing in the background.
type Client struct {
	nc      *nats.Conn
	timeout time.Duration
}

// NewClient returns a client over a connection, such as one of events.Connect.
func NewClient(nc *nats.Conn, opts ClientOptions) (*Client, error) {
	if opts.Timeout < 0 {
		return nil, errors.New("client options: negative timeout")
	}
	if opts.Timeout == 0 {
		opts.Timeout = defaultTimeout
	}
	return &Client{nc: nc, timeout: opts.Timeout}, nil
}

// Thread returns a thread's counters.
func (c *Client) Thread(ctx context.Context, thread string, req ThreadRequest) (*ThreadReply, error) {
	return ask[ThreadReply](ctx, c, ThreadGet, thread, req)
}

// Context returns the compacted prompt of a thread.
func (c *Client) Context(ctx context.Context, thread string, req ContextRequest) (*ContextReply, error) {
	return ask[ContextReply](ctx, c, ThreadContext, thread, req)
}

// Summarize has a summary of a thread made now.
func (c *Client) Summarize(ctx context.Context, thread string, req SummarizeRequest) (*SummarizeReply, error) {
	return ask[SummarizeReply](ctx, c, ThreadSummarize, thread, req)
}

// Message returns the original text of a message, or lines of it.
func (c *Client) Message(ctx context.Context, thread string, req MessageRequest) (*MessageReply, error) {
	return ask[MessageReply](ctx, c, MessageGet, thread, req)
}

// Summary returns a summary by its id, and what became of it.
func (c *Client) Summary(ctx context.Context, id string) (*SummaryReply, error) {
	return ask[SummaryReply](ctx, c, SummaryGet, id, SummaryRequest{})
}

// ask sends a request about a thread or a summary and reads the reply.
func ask[Reply any](ctx context.Context, c *Client, subject, id string, req any) (*Reply, error) {
	token, err := events.Token(id)
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", subject+"*", err)
	}
	return askAll[Reply](ctx, c, subject+token, req)
}

// askAll sends a request to a whole subject.
func askAll[Reply any](ctx context.Context, c *Client, subject string, req any) (*Reply, error) {
	body, err := json.Marshal(req)
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", subject, err)
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	answer, err := c.nc.RequestWithContext(ctx, subject, body)
	if errors.Is(err, nats.ErrNoResponders) {
		err = ErrNoProcessor
	}
	if err == nil {
		err = errorOf(answer)
	}
	var reply Reply
	if err == nil {
		err = json.Unmarshal(answer.Data, &reply)
	}
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", subject, err)
	}
	return &reply, nil
}
