package broker

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/ThreeDotsLabs/watermill/message"
)

// topics are the outputs to which lanes send messages. Lanes read a snapshot
// without a lock; a change, which is rare, copies it.
type topics struct {
	mu       sync.Mutex // for changes
	stopping bool
	current  atomic.Pointer[outputs]
}

// outputs is one immutable snapshot.
type outputs struct {
	byTopic map[string][]*output
	changed chan struct{} // closed when a newer snapshot exists
}

// output is the result of one Subscribe.
type output struct {
	ctx    context.Context //nolint:containedctx // Watermill wants each message's context to descend from it
	cancel context.CancelFunc
	ch     chan *message.Message

	mu     sync.RWMutex // held shared while sending: close waits for senders
	closed bool
}

func newTopics() *topics {
	t := &topics{}
	t.current.Store(&outputs{changed: make(chan struct{})})
	return t
}

func (t *topics) add(ctx context.Context, topic string) <-chan *message.Message {
	ctx, cancel := context.WithCancel(ctx)
	o := &output{ctx: ctx, cancel: cancel, ch: make(chan *message.Message)}
	t.mu.Lock()
	t.change(func(m map[string][]*output) { m[topic] = append(slices.Clip(m[topic]), o) })
	t.mu.Unlock()
	context.AfterFunc(ctx, func() { t.remove(topic, o) })
	return o.ch
}

// change publishes a new snapshot. t.mu is held.
func (t *topics) change(edit func(map[string][]*output)) {
	old := t.current.Load()
	next := &outputs{byTopic: make(map[string][]*output, len(old.byTopic)+1), changed: make(chan struct{})}
	for topic, list := range old.byTopic {
		next.byTopic[topic] = list
	}
	edit(next.byTopic)
	t.current.Store(next)
	close(old.changed)
}

// remove closes an output whose context has ended. Once the lanes are
// stopping, close does that, after the last Flush.
func (t *topics) remove(topic string, o *output) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stopping {
		return
	}
	t.change(func(m map[string][]*output) {
		m[topic] = slices.DeleteFunc(slices.Clone(m[topic]), func(x *output) bool { return x == o })
	})
	o.close()
}

// interrupt cancels the contexts of all messages in flight.
func (t *topics) interrupt() {
	t.mu.Lock()
	t.stopping = true
	t.mu.Unlock()
	t.each(func(o *output) { o.cancel() })
}

// close closes all outputs. No lane may be running.
func (t *topics) close() { t.each((*output).close) }

func (t *topics) each(do func(*output)) {
	for _, list := range t.current.Load().byTopic {
		for _, o := range list {
			do(o)
		}
	}
}

// close waits for senders, which return because the context has ended.
func (o *output) close() {
	o.cancel()
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.closed {
		o.closed = true
		close(o.ch)
	}
}
