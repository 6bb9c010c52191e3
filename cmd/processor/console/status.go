package console

import (
	"errors"
	"fmt"

	"precis/events"
	"precis/internal/broker"
	"precis/internal/config"
	"precis/internal/processor"
	"precis/internal/recovery"
	"precis/state"
)

// Exit statuses.
const (
	ExitDone        = 0
	ExitWrong       = 1 // it found something wrong
	ExitUsage       = 2 // wrong usage or configuration
	ExitUnreachable = 3 // it can't reach what it needs
)

// ExitError is an error with the status that it ends the program with.
type ExitError struct {
	Status int
	Err    error
}

func (e *ExitError) Error() string { return e.Err.Error() }
func (e *ExitError) Unwrap() error { return e.Err }

// Wrong is an error of a command that found something wrong.
func Wrong(format string, args ...any) error {
	return &ExitError{Status: ExitWrong, Err: fmt.Errorf(format, args...)}
}

// Usage is an error in how the program is used or configured.
func Usage(format string, args ...any) error {
	return &ExitError{Status: ExitUsage, Err: fmt.Errorf(format, args...)}
}

// Unreachable is an error about what a command needs and can't reach.
func Unreachable(format string, args ...any) error {
	return &ExitError{Status: ExitUnreachable, Err: fmt.Errorf(format, args...)}
}

// Status is the one place where errors become statuses. An error that is not classified comes from outside: a disk, a
// connection.
func Status(err error) int {
	var exit *ExitError
	switch {
	case errors.As(err, &exit):
		return exit.Status
	case errors.Is(err, config.ErrInvalid), errors.Is(err, broker.ErrInvalidOptions), errors.Is(err, broker.ErrPayload),
		errors.Is(err, processor.ErrNotInLog):
		return ExitUsage
	case errors.Is(err, state.ErrDamaged), errors.Is(err, state.ErrMissing), errors.Is(err, state.ErrFormat), errors.Is(err, recovery.ErrRolledBack),
		errors.Is(err, recovery.ErrRewritten), errors.Is(err, recovery.ErrOtherStream), errors.Is(err, recovery.ErrStreamGone), errors.Is(err, processor.ErrOtherWriter),
		errors.Is(err, recovery.ErrUnfinished), errors.Is(err, recovery.ErrDisturbed), errors.Is(err, events.ErrNewerConfig):
		return ExitWrong
	default:
		return ExitUnreachable
	}
}

// MoveAway is what to do with a store that is wrong; beside it may stand the log itself.
const MoveAway = "stop the processor, move the store (state in the data directory) away and start again: it is rebuilt from the log, " +
	"which takes about a minute for each million events, and answers 503 until then"

// Report tells an error and returns the exit status.
func (a *App) Report(err error) int {
	if unwritten := a.Stdout.err; unwritten != nil && (err == nil || errors.Is(err, unwritten)) {
		err = Unreachable("write: %w", unwritten)
	}
	if err == nil {
		return ExitDone
	}
	a.Note("processor: %v", err)
	switch {
	case errors.Is(err, state.ErrDamaged):
		a.Note("The store is damaged: %s.", MoveAway)
	case errors.Is(err, state.ErrFormat):
		a.Note("The store was made by another version of precis: start that one, or %s.", MoveAway)
	}
	return Status(err)
}
