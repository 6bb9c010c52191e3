package llm

import (
	"errors"
	"fmt"
	"time"
)

// What stops a job before or between calls.
var (
	ErrProvider    = errors.New("unknown provider") // New: a kind or a URL that can't be
	ErrPrompt      = errors.New("invalid prompt")   // NewPrompts: a key or a placeholder that can't be
	errBudget      = errors.New("daily budget is used up")
	errNoPrice     = errors.New("model has no price, so its budget can't be kept")
	errNotPossible = errors.New("no room for a summary")
)

// Kind says what went wrong with a call.
type Kind string

// Kinds of failure.
const (
	KindRateLimited    Kind = "rate_limited"
	KindOverloaded     Kind = "overloaded"
	KindServer         Kind = "server_error"
	KindTimeout        Kind = "timeout"
	KindConnection     Kind = "connection"
	KindMalformed      Kind = "malformed_answer"
	KindQuota          Kind = "quota_exceeded" // money or a plan is used up: waiting does not help
	KindAuth           Kind = "authentication"
	KindBadRequest     Kind = "bad_request"
	KindContextTooLong Kind = "context_too_long"
	KindCanceled       Kind = "canceled"
)

// Error is a failed call.
type Error struct {
	Kind       Kind
	Status     int           // HTTP; 0 where there was no answer
	RetryAfter time.Duration // what the provider asks for; 0 where it does not
	Sent       bool          // the whole request left, so an answer may have been made, and billed
	Err        error
}

// Error says the kind, the status and what the provider said.
func (e *Error) Error() string {
	if e.Status == 0 {
		return fmt.Sprintf("call model: %s: %v", e.Kind, e.Err)
	}
	return fmt.Sprintf("call model: %s (status %d): %v", e.Kind, e.Status, e.Err)
}

// Unwrap gives what the SDK or the network said.
func (e *Error) Unwrap() error { return e.Err }

// transient says whether the same call may succeed a little later.
func (e *Error) transient() bool {
	switch e.Kind {
	case KindRateLimited, KindOverloaded, KindServer, KindTimeout, KindConnection, KindMalformed:
		return true
	}
	return false
}

// lost says whether the provider may have answered, and billed, without our having the answer.
func (e *Error) lost() bool {
	return e.Sent && e.Status < 300
}

// unhealthy says whether the failure speaks against the provider rather than the request.
func unhealthy(err error) bool {
	var e *Error
	if !errors.As(err, &e) {
		return false
	}
	return e.transient() || e.Kind == KindAuth || e.Kind == KindQuota
}
