package broker

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
)

// nextOfWait is how long NextOf waits for each message.
const nextOfWait = time.Second

// NextOf calls fn for up to n messages with sequence from and on whose stored subject matches filter, in order: one
// request, where Get takes one for each. It may end early, without an error (a replica that lags, a server that
// knows no such request, many bytes): who needs one that did not come asks for it by itself.
func (r *LogReader) NextOf(ctx context.Context, filter string, from uint64, n int, fn func(Stored)) error {
	nc := r.js.Conn()
	inbox := nc.NewInbox()
	sub, err := nc.SubscribeSync(inbox)
	if err != nil {
		return fmt.Errorf("read from stream %s: %w", r.stream, err)
	}
	defer func() { _ = sub.Unsubscribe() }() // fails where the connection is closed
	body := fmt.Appendf(nil, `{"seq":%d,"batch":%d,"next_by_subj":%q}`, from, n, filter)
	if err := nc.PublishRequest(r.prefix+"DIRECT.GET."+r.stream, inbox, body); err != nil {
		return fmt.Errorf("read from stream %s: %w", r.stream, err)
	}
	for range n {
		m, err := r.oneOf(ctx, sub)
		if m == nil || err != nil {
			return err
		}
		batched := len(m.Header[headerPending]) > 0
		s, err := directMessage(m, batched)
		if err != nil {
			return nil // not a message: the end of the batch, or why there is none
		}
		fn(s)
		if !batched {
			return nil // a server before 2.11 sends one, and no end
		}
	}
	return nil
}

// oneOf is the next message of a batch; nil where it does not come.
func (r *LogReader) oneOf(ctx context.Context, sub *nats.Subscription) (*nats.Msg, error) {
	wait, cancel := context.WithTimeout(ctx, nextOfWait)
	defer cancel()
	m, err := sub.NextMsgWithContext(wait)
	if err == nil || ctx.Err() != nil {
		return m, ctx.Err()
	}
	if wait.Err() != nil {
		return nil, nil
	}
	return nil, fmt.Errorf("read from stream %s: %w", r.stream, err)
}
