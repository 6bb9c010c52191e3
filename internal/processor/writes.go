package processor

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"precis/internal/broker"
	"precis/internal/recovery"
)

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

// adviseOnStreams adds what to do if a stream that a running processor uses is gone.
func adviseOnStreams(err error) error {
	if errors.Is(err, broker.ErrStreamMissing) || errors.Is(err, broker.ErrStreamLost) {
		return fmt.Errorf("%w\nstop the processor, then %s", err, recovery.Advice)
	}
	return err
}
