package main

import (
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"
)

// rights hears what the server refuses a user. It answers no request that a user may not make: whoever asks waits
// until its patience ends, while the refusal comes on its own, at once.
type rights struct {
	mu     sync.Mutex
	asking context.CancelCauseFunc // nil: nobody is
}

// ask runs a request that may be refused; only one at a time.
func (r *rights) ask(ctx context.Context, request func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r.set(cancel)
	defer r.set(nil)
	err := request(ctx)
	if cause := context.Cause(ctx); err != nil && errors.Is(cause, nats.ErrPermissionViolation) {
		return cause
	}
	return err
}

func (r *rights) set(cancel context.CancelCauseFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asking = cancel
}

// refused says whether an error of the connection is a refusal that somebody waits for, who is told.
func (r *rights) refused(err error) bool {
	if !errors.Is(err, nats.ErrPermissionViolation) {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.asking == nil {
		return false
	}
	r.asking(err)
	return true
}

// leftBehind tells the server's word that this user may not take its own ephemeral consumer away, as an auditor may
// not: that is no fault, for the server drops what nobody asks any more.
func leftBehind(err error) bool {
	return errors.Is(err, nats.ErrPermissionViolation) && strings.Contains(err.Error(), `"$JS.API.CONSUMER.DELETE.`)
}
