package events

import (
	"errors"
	"fmt"
)

// Errors of subjects and tokens.
var (
	// ErrThreadID is a thread id that is empty or longer than MaxIDBytes.
	ErrThreadID = errors.New("thread id must be 1 to 256 bytes")
	// ErrToken is a subject token that is not the canonical form of any thread id.
	ErrToken = errors.New("not a canonical thread token")
	// ErrType is an event type that is unknown or not allowed in its context.
	ErrType = errors.New("unknown event type")
)

// Errors of records.
var (
	// ErrChain is a record whose chain value does not follow from the previous one and its own data.
	ErrChain = errors.New("chain does not match")
	// ErrChainSet is a record that already carries a chain value when it is about to be sealed.
	ErrChainSet = errors.New("chain is already set")
)

// ErrBodyGone is a rejected event whose body was too long to keep.
var ErrBodyGone = errors.New("the body was not kept")

// Errors of event files.
var (
	// ErrLineTooLong is a line of more than MaxLineBytes.
	ErrLineTooLong = fmt.Errorf("line too long: it has more than %d MiB", MaxLineBytes>>20)
	// ErrNoThread is an event that names no thread.
	ErrNoThread = errors.New("no thread_id")
)

// Errors of a Publisher.
var (
	// ErrBufferFull is an event that was not accepted because the buffer stayed full until the context ended.
	ErrBufferFull = errors.New("buffer is full")
	// ErrTooLarge is an event that exceeds the buffer or the server's maximum payload.
	ErrTooLarge = errors.New("event is too large")
	// ErrRefused is an accepted event that the server refuses permanently.
	ErrRefused = errors.New("refused by the server")
	// ErrPublisherClosed is an event that a closed publisher did not accept, or dropped.
	ErrPublisherClosed = errors.New("publisher is closed")
	// ErrUnsent is a publisher that was closed before all its events were stored.
	ErrUnsent = errors.New("events given up")
)

// ErrDurableInUse is a durable name whose subscription follows records other than those requested.
var ErrDurableInUse = errors.New("the durable name is in use for other records")

// ErrGateTimeout is a summary still in progress, or an event not yet decided, when the gate's wait limit expired.
var ErrGateTimeout = errors.New("a summary is still being made")

// RejectError says why an event was rejected. Decode returns it as a concrete pointer type: compare it with nil
// before converting it to error, since an error that holds a nil *RejectError is not nil.
type RejectError struct {
	Code    string // one of the Code constants
	Message string // for people; never contains the event's content
	Field   string // a member's path, a header's name or "subject"; empty for the event as a whole
}

func (e *RejectError) Error() string {
	if e.Field == "" {
		return fmt.Sprintf("%s: %s", e.Code, e.Message)
	}
	return fmt.Sprintf("%s: %s: %s", e.Code, e.Field, e.Message)
}

func reject(code, field, format string, args ...any) *RejectError {
	return &RejectError{Code: code, Field: field, Message: fmt.Sprintf(format, args...)}
}

func schemaError(field, format string, args ...any) *RejectError {
	return reject(CodeSchema, field, format, args...)
}
