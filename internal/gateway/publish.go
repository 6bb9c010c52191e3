package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"precis/events"
)

// sending is a message that the publisher has accepted.
type sending struct {
	known   key
	receipt *events.Receipt
	kind    events.Type
}

// end queues an exchange. It never blocks: what there is no room for is dropped, and a later request of the conversation repeats it.
func (g *Gateway) end(x *exchange) {
	if x == nil {
		return
	}
	x.seal()
	if !x.answered() || x.api == compactionAPI { // whose answer is no turn of the conversation
		x.release()
		return
	}
	reason := g.enqueue(func() {
		g.publish(x)
		x.release()
	})
	if reason != "" {
		x.release()
		g.drop(reason, nil)
	}
}

// enqueue hands work to the worker, or returns why it can't.
func (g *Gateway) enqueue(work func()) (reason string) {
	g.mu.RLock()
	defer g.mu.RUnlock()
	if g.closed {
		return lostStop
	}
	select {
	case g.queue <- work:
		g.metrics.queued.Inc()
		return ""
	default:
		return lostQueue
	}
}

// work does what is queued, in order: exchanges are in the order in which they ended. One goroutine does: a conversation's messages stay in order.
func (g *Gateway) work() {
	defer close(g.ended)
	settled := make(chan struct{})
	go func() {
		defer close(settled)
		for s := range g.sent {
			g.settle(s)
		}
	}()
	for work := range g.queue {
		g.metrics.queued.Dec()
		work()
	}
	close(g.sent)
	close(g.read)
	<-settled
}

// settle notes what became of a message.
func (g *Gateway) settle(s sending) {
	<-s.receipt.Done() // the publisher settles each, at the latest when it is closed
	_, err := s.receipt.Wait(context.Background())
	switch {
	case err == nil:
		g.metrics.published.WithLabelValues(string(s.kind)).Inc()
		return
	case errors.Is(err, events.ErrPublisherClosed):
		g.drop(lostStop, nil)
	default:
		g.drop(lostRefused, err)
	}
	g.known.Remove(s.known)
}

// drop counts what is not published, and logs it now and then.
func (g *Gateway) drop(reason string, err error) {
	g.metrics.dropped.WithLabelValues(reason).Inc()
	g.quiet.dropped(g.log, reason, err)
}

// publish publishes what is new in an exchange.
func (g *Gateway) publish(x *exchange) {
	if x.bad != nil {
		g.drop(lostThread, x.bad)
		return
	}
	c, reason, err := x.conversation(g.reader)
	if err != nil {
		g.drop(reason, err)
		return
	}
	a := g.answer(x, c)
	var answered string
	if a != nil {
		answered = a.id
		c.messages = append(c.messages, a.message)
	}
	if c.kept != "" && a == nil {
		return // nothing tells this turn from another
	}
	thread := c.threadOf(g.continued)
	if thread == "" {
		return // the next request will tell
	}
	c.identify(c.seed(answered))
	g.noteThread(thread, x.api)
	if a != nil && a.id != "" {
		g.responses.Add(a.id, thread)
	}
	sent := make([]*events.Receipt, 0, len(c.messages))
	for _, m := range c.messages {
		r, err := g.send(thread, x.agent, m)
		if err != nil {
			return // a later request begins here again, so that the order stays
		}
		if r != nil {
			sent = append(sent, r)
		}
	}
	g.askBehind(x, thread, c.messages, sent)
}

func (g *Gateway) continued(response string) string {
	thread, _ := g.responses.Get(response)
	return thread
}

func (g *Gateway) noteThread(thread string, a *api) {
	if seen, _ := g.threads.ContainsOrAdd(thread, struct{}{}); !seen {
		g.log.Info().Str("thread_id", thread).Str("api", a.name).Msg("conversation")
	}
}

// conversation reads the request.
func (x *exchange) conversation(r *reader) (c *conversation, reason string, err error) {
	if x.said != nil {
		return x.said, "", nil
	}
	if x.request.lost != "" {
		return nil, x.request.lost, fmt.Errorf("the request's body is not kept")
	}
	body, err := unpacked(x.request.data, x.requestCoding)
	if err != nil {
		return nil, lostCoding, err
	}
	if c, err = x.api.conversation(x.reader(r), body); err != nil {
		return nil, lostRequest, err
	}
	x.names(c)
	return c, "", nil
}

func (a *api) conversation(r *reader, body []byte) (*conversation, error) {
	request := objectOf(body)
	if request == nil {
		return nil, fmt.Errorf("%w: not a JSON object", errRequest)
	}
	return a.of(r, request)
}

// of reads a request that is an object.
func (a *api) of(r *reader, request object) (*conversation, error) {
	c, err := a.read(r, request)
	if err != nil {
		return nil, err
	}
	c.api, c.scratch = a.name, r.scratch
	return c, nil
}

// names adds what the headers say.
func (x *exchange) names(c *conversation) {
	if x.named != "" {
		c.thread = x.named
	}
	if x.session != "" {
		c.scope = x.session
	}
}

// answer reads the answer; nil where none is whole.
func (g *Gateway) answer(x *exchange, c *conversation) *answer {
	switch {
	case c.several, c.apart: // which one the client goes on with, its next request says
		return nil
	case x.response.lost != "":
		g.drop(x.response.lost, nil)
		return nil
	}
	body, uerr := unpacked(x.response.data, x.coding)
	a, err := x.api.answerOf(x.media, body)
	switch {
	case err == nil:
		return a
	case uerr != nil && x.response.whole:
		g.drop(lostCoding, uerr)
	case !x.response.whole:
		g.drop(lostPartial, nil)
	case !errors.Is(err, errNone):
		g.drop(lostAnswer, err)
	}
	return nil
}

// errUnsent is a message that there is no room for.
var errUnsent = errors.New("the publisher takes no more")

// send publishes a message, unless that is done or under way. The receipt is nil for one that precis can't take.
func (g *Gateway) send(thread, agent string, m *message) (*events.Receipt, error) {
	known := digestOf(thread, m.id)
	if r, ok := g.known.Get(known); ok {
		return r, nil
	}
	if agent != "" {
		m.published()["agent_id"] = quote(agent)
	}
	kind := events.ThreadMessage
	if m.role == events.RoleTool && string(m.published()["role"]) == `"tool"` {
		kind = events.ToolResult
	}
	body := m.body(m.id)
	if len(body) > cmp.Or(g.opts.EventBytes, defaultEventBytes) {
		m.lighten()
		body = m.body(m.id)
	}
	full, cancel := context.WithCancel(context.Background())
	cancel() // the publisher waits for nothing
	r, err := g.publisher.Publish(full, kind, thread, body)
	var reject *events.RejectError
	switch {
	case errors.Is(err, events.ErrBufferFull):
		g.drop(lostBuffer, err)
		return nil, errUnsent
	case errors.As(err, &reject) && reject.Code != events.CodeTooLarge:
		g.drop(lostRejected, err)
	case errors.Is(err, events.ErrTooLarge), reject != nil:
		g.drop(lostSize, err)
	case errors.Is(err, events.ErrThreadID):
		g.drop(lostThread, err)
	case err != nil:
		g.drop(lostStop, err)
		return nil, errUnsent
	default:
		m.sent = len(body)
		g.sent <- sending{known, r, kind}
	}
	g.known.Add(known, r)
	return r, nil
}
