package api

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
)

// Answers that are errors, by their code.
var (
	// ErrBadRequest is 400: the request is wrong, and stays so.
	ErrBadRequest = errors.New("bad request")
	// ErrNotFound is 404: no such thread, message, revision or summary, or the log no longer holds it.
	ErrNotFound = errors.New("not found")
	// ErrStale is 409: a summary is stale, and the thread's policy says fail.
	ErrStale = errors.New("stale summary")
	// ErrTooLarge is 413: the reply exceeds what the server lets through. Ask for less.
	ErrTooLarge = errors.New("reply too large")
	// ErrUnavailable is 503: not caught up, or the wait for MinEventSeq took too long. A later request may succeed.
	ErrUnavailable = errors.New("not ready")
	// ErrInternal is 500: an error of the processor, which its log has.
	ErrInternal = errors.New("internal error")
)

// ErrNoProcessor is a server to which no processor is connected.
var ErrNoProcessor = errors.New("no processor answers")

// Error is an error that the processor answered. It matches the error of its code with errors.Is.
type Error struct {
	Code    int
	Message string // what is wrong, and what to do
	// RetryAfter is how long to wait before the request is worth repeating, with 503; 0: a repetition is of no use, or the processor is of a version
	// that does not say.
	RetryAfter time.Duration
}

// RetryAfterHeader is the header of an error that says so, in whole seconds, as HTTP's.
const RetryAfterHeader = "Retry-After"

func (e *Error) Error() string { return fmt.Sprintf("%d: %s", e.Code, e.Message) }

// Is reports whether target is the error of the code.
func (e *Error) Is(target error) bool { return target == byCode[e.Code] }

var byCode = map[int]error{
	400: ErrBadRequest, 404: ErrNotFound, 409: ErrStale, 413: ErrTooLarge, 500: ErrInternal, 503: ErrUnavailable,
}

// errorOf returns the error in a reply's headers; nil if there is none.
func errorOf(reply *nats.Msg) error {
	text := reply.Header.Get(micro.ErrorCodeHeader)
	if text == "" {
		return nil
	}
	code, err := strconv.Atoi(text)
	if err != nil {
		return fmt.Errorf("error code %q: %s", text, reply.Header.Get(micro.ErrorHeader))
	}
	seconds, err := strconv.ParseUint(reply.Header.Get(RetryAfterHeader), 10, 16)
	if err != nil {
		seconds = 0
	}
	return &Error{Code: code, Message: reply.Header.Get(micro.ErrorHeader), RetryAfter: time.Duration(seconds) * time.Second}
}
