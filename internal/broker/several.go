package broker

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
)

// severalWait is how long Several waits for each message.
const severalWait = time.Second

// severalBytes is the byte limit of one request, which includes the whole message that reaches it: a server closes a
// connection with 64 MiB pending, and many readers may share one.
const severalBytes = 1 << 20

// Several calls fn for up to n messages from sequence from on, in order. It needs one request where Get needs one each,
// and a third of the work. It may end early without an error (a lagging replica, a server without batched gets, the byte
// limit): the caller reads the remaining messages individually.
//
// It reads every subject. With a wildcard filter the server walks all subjects of a block for each message:
// among 10,000 threads 1.7 ms, where Get takes 0.04.
func (r *LogReader) Several(ctx context.Context, from uint64, n int, fn func(Stored)) error {
	nc := r.js.Conn()
	inbox := nc.NewInbox()
	sub, err := nc.SubscribeSync(inbox)
	if err != nil {
		return fmt.Errorf("read from stream %s: %w", r.stream, err)
	}
	defer func() { _ = sub.Unsubscribe() }() // fails where the connection is closed
	body := fmt.Appendf(nil, `{"seq":%d,"batch":%d,"max_bytes":%d}`, from, n, severalBytes)
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
			return nil // not a message: the end of the batch, or an error status
		}
		fn(s)
		if !batched {
			return nil // a server before 2.11 sends one, without an end
		}
	}
	return nil
}

// oneOf returns the next message of a batch; nil if it does not arrive.
func (r *LogReader) oneOf(ctx context.Context, sub *nats.Subscription) (*nats.Msg, error) {
	wait, cancel := context.WithTimeout(ctx, severalWait)
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
