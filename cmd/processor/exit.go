package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"precis/events"
	"precis/internal/broker"
	"precis/internal/config"
	"precis/internal/processor"
	"precis/internal/recovery"
	"precis/state"
)

// Exit statuses.
const (
	exitDone        = 0
	exitWrong       = 1 // it found something wrong
	exitUsage       = 2 // wrong usage or configuration
	exitUnreachable = 3 // it can't reach what it needs
)

// exitError is an error with the status that it ends the program with.
type exitError struct {
	status int
	err    error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

func wrong(format string, args ...any) error {
	return &exitError{status: exitWrong, err: fmt.Errorf(format, args...)}
}

func usage(format string, args ...any) error {
	return &exitError{status: exitUsage, err: fmt.Errorf(format, args...)}
}

func unreachable(format string, args ...any) error {
	return &exitError{status: exitUnreachable, err: fmt.Errorf(format, args...)}
}

// statusOf is the one place where errors become statuses. What nobody classified is something outside
// that failed: a disk, a connection.
func statusOf(err error) int {
	var exit *exitError
	switch {
	case errors.As(err, &exit):
		return exit.status
	case errors.Is(err, config.ErrInvalid), errors.Is(err, broker.ErrInvalidOptions), errors.Is(err, broker.ErrPayload):
		return exitUsage
	case errors.Is(err, state.ErrDamaged), errors.Is(err, state.ErrMissing), errors.Is(err, state.ErrFormat), errors.Is(err, recovery.ErrRolledBack),
		errors.Is(err, recovery.ErrRewritten), errors.Is(err, recovery.ErrOtherStream), errors.Is(err, recovery.ErrStreamGone), errors.Is(err, processor.ErrOtherWriter),
		errors.Is(err, recovery.ErrUnfinished), errors.Is(err, recovery.ErrDisturbed), errors.Is(err, events.ErrNewerConfig):
		return exitWrong
	default:
		return exitUnreachable
	}
}

// moveAway is what to do with a store that is wrong; beside it may stand the log itself.
const moveAway = "stop the processor, move the store (state in the data directory) away and start again: it is rebuilt from the log, " +
	"which takes about a minute for each million events, and answers 503 until then"

// serverError explains an error of a server that was reached.
func serverError(doing string, err error) error {
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound):
		return unreachable("%s: the server has no such stream; has a processor run against it? (%w)", doing, err)
	case errors.Is(err, jetstream.ErrJetStreamNotEnabled), errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount):
		return unreachable("%s: the server has no JetStream for this account; start it with -js, or use another account (%w)", doing, err)
	case errors.Is(err, nats.ErrPermissionViolation):
		return unreachable("%s: this user may not: use one that may (--creds or --user) (%w)", doing, err)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, nats.ErrTimeout):
		return unreachable("%s: no answer in time; is the server busy, or this user without the right? (%w)", doing, err)
	default:
		return unreachable("%s: %w", doing, err)
	}
}
