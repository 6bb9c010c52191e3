package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"time"

	"precis/summarize/lex"
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
	Said       string        // the provider's own names for the error, such as "invalid_request_error: model_not_found"; never its message, which may repeat the request
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

// maxMessageChars bounds what is kept of a provider's message: some echo the whole request.
const maxMessageChars = 300

// classify makes an *Error of a failed call. The context tells our own timeout from the caller's end.
func classify(ctx context.Context, w *wire, err error, now time.Time) *Error {
	e := &Error{Status: w.status, Sent: w.sent.Load() || w.status != 0, Err: err}
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		e.Kind = KindCanceled
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		e.Kind = KindTimeout
	case w.status >= http.StatusBadRequest:
		said := sayingOf(w.errorBody)
		e.Kind, e.Err, e.Said = kindOf(w.status, said), errors.New(said.text(w.status)), said.names()
		e.RetryAfter = retryAfter(w.header, now)
	case w.status >= http.StatusMultipleChoices:
		e.Kind, e.Err = KindBadRequest, fmt.Errorf("redirected to %q: set the base URL to where the API is", w.header.Get("Location"))
	case isConnection(err):
		e.Kind = KindConnection
	case w.status != 0:
		e.Kind = KindMalformed
	case e.Sent:
		e.Kind = KindConnection
	default:
		e.Kind = kindBeforeSending(err)
	}
	return e
}

// kindBeforeSending: what never reached the network's other end is the network's fault, and what never
// reached the network is the request's.
func kindBeforeSending(err error) Kind {
	var network net.Error
	if errors.As(err, &network) {
		return KindConnection
	}
	return KindBadRequest
}

func isConnection(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) ||
		errors.Is(err, io.ErrClosedPipe) || errors.Is(err, syscall.ECONNRESET)
}

// saying is what a provider's error body says; the wire formats are close enough for one form.
type saying struct {
	Type, Code, Message string
}

func sayingOf(body []byte) saying {
	var doc struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
	}
	if json.Unmarshal(body, &doc) != nil {
		return saying{Message: string(body)}
	}
	var inner struct {
		Type    string `json:"type"`
		Code    any    `json:"code"` // a string, a number or null
		Message string `json:"message"`
	}
	if json.Unmarshal(doc.Error, &inner) != nil {
		return saying{Message: strings.Trim(string(doc.Error), `"`) + doc.Message}
	}
	code, _ := inner.Code.(string)
	return saying{Type: inner.Type, Code: code, Message: inner.Message}
}

// names are the type and the code, where they are names: a proxy may put anything there.
func (s saying) names() string {
	names := []string{}
	for _, n := range []string{s.Type, s.Code} {
		if isErrorName(n) {
			names = append(names, n)
		}
	}
	return strings.Join(names, ": ")
}

// isErrorName: a provider's names of errors are short words, joined by underscores.
func isErrorName(s string) bool {
	const most = 64
	for _, r := range s {
		if r != '_' && r != '-' && r != '.' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') {
			return false
		}
	}
	return s != "" && len(s) <= most
}

func (s saying) text(status int) string {
	message := lex.Head(strings.Join(strings.Fields(strings.ToValidUTF8(s.Message, "\uFFFD")), " "), maxMessageChars)
	parts := []string{}
	for _, p := range []string{s.Type, s.Code, message} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	if len(parts) == 0 {
		return http.StatusText(status)
	}
	return strings.Join(parts, ": ")
}

// statusOverloaded is Anthropic's, outside of HTTP's own list.
const statusOverloaded = 529

// kindOf reads the provider's own words before the status: both use one status for several things.
func kindOf(status int, s saying) Kind {
	words := strings.ToLower(s.Type + " " + s.Code + " " + s.Message)
	switch {
	case tooLong(status, words):
		return KindContextTooLong
	case strings.Contains(words, "insufficient_quota") || strings.Contains(words, "billing_error") || status == http.StatusPaymentRequired:
		return KindQuota
	case status == http.StatusTooManyRequests:
		return KindRateLimited
	case status == statusOverloaded || strings.Contains(s.Type, "overloaded") || status == http.StatusServiceUnavailable:
		return KindOverloaded
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return KindAuth
	case status == http.StatusRequestTimeout || status == http.StatusGatewayTimeout:
		return KindTimeout
	case status >= http.StatusInternalServerError || status == http.StatusConflict:
		return KindServer
	}
	return KindBadRequest
}

// tooLong knows how OpenAI, vLLM, Ollama and Anthropic say that the input does not fit.
func tooLong(status int, words string) bool {
	if status == http.StatusRequestEntityTooLarge {
		return true
	}
	if status != http.StatusBadRequest {
		return false
	}
	for _, s := range []string{"context_length_exceeded", "maximum context length", "context window", "prompt is too long", "request_too_large"} {
		if strings.Contains(words, s) {
			return true
		}
	}
	return false
}

// retryAfter reads how long a provider asks to wait: milliseconds (OpenAI's own header), seconds or a
// date (RFC 9110, 10.2.3). 0 where it says nothing that can be understood.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil {
		return span(ms, time.Millisecond)
	}
	value := strings.TrimSpace(h.Get("Retry-After"))
	if seconds, err := strconv.ParseFloat(value, 64); err == nil {
		return span(seconds, time.Second)
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}

// span is n units, at most a day: a Duration would overflow, and no call waits longer. NaN means no wait.
func span(n float64, unit time.Duration) time.Duration {
	const day = 24 * time.Hour
	if !(n > 0) {
		return 0
	}
	if n >= float64(day/unit) {
		return day
	}
	return time.Duration(n * float64(unit))
}
