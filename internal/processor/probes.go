package processor

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"precis/internal/broker"
	"precis/internal/recovery"
)

// storageTimeout bounds how long a probe or a scrape waits for the server to report what it holds.
const storageTimeout = time.Second

func (p *Processor) storage() (broker.Storage, error) {
	ctx, cancel := context.WithTimeout(context.Background(), storageTimeout)
	defer cancel()
	return p.broker.Storage(ctx)
}

// nearlyFull is the share of the server's store above which a probe warns.
const nearlyFull = 0.9

// stored checks the room that the streams have. full means that it is too little for the largest event, so that the
// server refuses what agents publish; warning is empty if there is enough room.
func (p *Processor) stored() (full bool, warning string) {
	s, err := p.storage()
	if err != nil {
		p.log.Warn().Err(err).Msg("can't tell how full the server's store is")
		return false, ""
	}
	left, known := s.Left()
	switch {
	case !known:
		return false, ""
	case left < broker.MaxPayload:
		return true, fmt.Sprintf("the server's store is full: %d of %d bytes", s.Used, s.Limit)
	case float64(s.Used) > nearlyFull*float64(s.Limit):
		return false, fmt.Sprintf("the server's store is nearly full: %d of %d bytes", s.Used, s.Limit)
	}
	return false, ""
}

// storageMetrics queries the server at each scrape.
type storageMetrics struct {
	ask         func() (broker.Storage, error)
	used, limit *prometheus.Desc
}

func newStorageMetrics(ask func() (broker.Storage, error)) *storageMetrics {
	return &storageMetrics{
		ask:   ask,
		used:  prometheus.NewDesc("precis_nats_store_bytes", "What streams take of the server's disk.", nil, nil),
		limit: prometheus.NewDesc("precis_nats_store_limit_bytes", "What they may take before the server refuses events; not there where no limit is known.", nil, nil),
	}
}

// Describe implements prometheus.Collector.
func (m *storageMetrics) Describe(out chan<- *prometheus.Desc) {
	out <- m.used
	out <- m.limit
}

// Collect implements prometheus.Collector. It reports nothing if the server does not answer.
func (m *storageMetrics) Collect(out chan<- prometheus.Metric) {
	s, err := m.ask()
	if err != nil {
		return
	}
	out <- prometheus.MustNewConstMetric(m.used, prometheus.GaugeValue, float64(s.Used))
	if s.Limit > 0 {
		out <- prometheus.MustNewConstMetric(m.limit, prometheus.GaugeValue, float64(s.Limit))
	}
}

const (
	// writesFresh is how long an answer of the server is reused: many may probe, and each check is five requests.
	writesFresh = time.Second
	// writesTimeout bounds how long a probe waits for the server.
	writesTimeout = 2 * time.Second
)

// writes checks, when a probe asks, whether the streams are the ones that the processor started with and take its
// records. Concurrent probes share one check.
type writes struct {
	check func(context.Context) error
	now   func() time.Time
	log   zerolog.Logger

	mu  sync.Mutex // held during a check
	at  time.Time  // of the last check
	err error      // its outcome

	looking atomic.Bool
	seen    atomic.Pointer[error] // what a glance has to say
}

// ask returns why nothing can be written, and what to do about it.
func (w *writes) ask() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.at.IsZero() && w.now().Sub(w.at) < writesFresh {
		return w.err
	}
	ctx, cancel := context.WithTimeout(context.Background(), writesTimeout)
	defer cancel()
	before := w.err
	w.err, w.at = adviseOnStreams(w.check(ctx)), w.now()
	switch {
	case w.err != nil && (before == nil || before.Error() != w.err.Error()):
		w.log.Error().Err(w.err).Msg("not ready: the streams are not as they were at the start, or take no records")
	case w.err == nil && before != nil:
		w.log.Info().Msg("the streams take records again")
	}
	return w.err
}

// glance is what ask says, as soon as it is known; an answer that takes longer than that is for the next glance.
func (w *writes) glance(patience time.Duration) error {
	if w.looking.CompareAndSwap(false, true) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			defer w.looking.Store(false)
			err := w.ask()
			w.seen.Store(&err)
		}()
		select {
		case <-done:
		case <-time.After(patience):
		}
	}
	if seen := w.seen.Load(); seen != nil {
		return *seen
	}
	return nil
}

// adviseOnStreams adds what to do if a stream that a running processor uses is gone.
func adviseOnStreams(err error) error {
	if errors.Is(err, broker.ErrStreamMissing) || errors.Is(err, broker.ErrStreamLost) {
		return fmt.Errorf("%w\nstop the processor, then %s", err, recovery.Advice)
	}
	return err
}
