package service

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"precis/internal/content"
	"precis/internal/fold"
	"precis/state"
)

// Codes of errors, as Nats-Service-Error-Code carries them.
const (
	codeBadRequest  = "400"
	codeNotFound    = "404"
	codeStale       = "409"
	codeTooLarge    = "413"
	codeInternal    = "500"
	codeUnavailable = "503"
)

// retryAfter is how long a request that is answered with 503 waits before it is worth asking again: a partition that moves has its owner by then.
const retryAfter = time.Second

// Fault is an error with its code.
type Fault struct {
	Code    string
	Message string
}

func (f *Fault) Error() string { return f.Code + ": " + f.Message }

// RetryAfter is how long to wait before the request is worth repeating; 0: a repetition is of no use.
func (f *Fault) RetryAfter() time.Duration {
	if f.Code == codeUnavailable {
		return retryAfter
	}
	return 0
}

func fault(code, format string, args ...any) *Fault {
	return &Fault{Code: code, Message: fmt.Sprintf(format, args...)}
}

// BeyondEnd is a min_event_seq that EVENTS does not reach, as its leader says: no publish ack has given it, so that
// waiting is of no use.
type BeyondEnd struct{ Seq, Last uint64 }

func (e *BeyondEnd) Error() string {
	return fmt.Sprintf("min_event_seq %d is beyond the last event, %d: give the sequence of a publish ack", e.Seq, e.Last)
}

// maxMessage bounds the message of a fault, in bytes. It may quote what the request says, which may be as long as the server lets through, and an
// answer beyond that is never sent. The longest of our own, which names the five messages that an id's end fits, is below it.
const maxMessage = 4 << 10

// asFault gives every error a code.
func asFault(err error) *Fault {
	f := faultOf(err)
	if len(f.Message) <= maxMessage {
		return f
	}
	return &Fault{Code: f.Code, Message: strings.ToValidUTF8(f.Message[:maxMessage], "") + "…"}
}

func faultOf(err error) *Fault {
	var f *Fault
	var beyond *BeyondEnd
	switch {
	case errors.As(err, &f):
		return f
	case errors.As(err, &beyond):
		return fault(codeBadRequest, "%v", beyond)
	case errors.Is(err, content.ErrGone):
		return fault(codeNotFound, "the log no longer holds it: retention.events removed it, or it was lost")
	case errors.Is(err, fold.ErrNoThread):
		return fault(codeNotFound, "%v", err)
	case errors.Is(err, fold.ErrKind):
		return fault(codeBadRequest, "%v", err)
	case errors.Is(err, fold.ErrNotReady), errors.Is(err, state.ErrParked), errors.Is(err, state.ErrLost):
		return fault(codeUnavailable, "%v; retry soon", err)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return fault(codeUnavailable, "timed out; retry soon")
	}
	return fault(codeInternal, "%v", err)
}
