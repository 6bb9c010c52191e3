package cluster

import (
	"context"

	"github.com/nats-io/nats.go/jetstream"
)

// watched is the end of an attempt to watch the bucket.
type watched struct {
	watch jetstream.KeyWatcher
	err   error
}

// rewatch watches the bucket anew if the watch does not deliver what this member writes itself. The consumer of a watch is on one server: when
// that one is gone, the client notices by missing heartbeats, some twenty seconds later.
func (m *Member) rewatch(ctx context.Context) {
	now := m.opts.Now()
	if m.watching || m.steady.IsZero() || now.Sub(m.steady) < m.opts.Lease || now.Sub(m.heard) < m.opts.Lease {
		return
	}
	m.log.Warn().Msg("the watch of the cluster's bucket delivers nothing: watching it anew")
	m.watching = true
	m.work.Go(func() {
		var next watched
		next.watch, next.err = m.kv.WatchAll(ctx)
		m.watches <- next
	})
}

// instead returns the watch to go on with.
func (m *Member) instead(old jetstream.KeyWatcher, next watched) jetstream.KeyWatcher {
	m.watching = false
	if next.err != nil {
		m.log.Warn().Err(next.err).Msg("the cluster's bucket is not watched anew")
		return old
	}
	m.heard = m.opts.Now()
	discard(old)
	return next.watch
}

// discard ends a watch. It may have been about to deliver something, which would keep it from ending.
func discard(watch jetstream.KeyWatcher) {
	_ = watch.Stop()
	go func() {
		for range watch.Updates() {
			continue
		}
	}()
}
