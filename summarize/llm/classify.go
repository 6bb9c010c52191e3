package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"
)

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
		e.Kind, e.Err = kindOf(w.status, said), errors.New(said.text(w.status))
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

func (s saying) text(status int) string {
	message := firstChars(strings.Join(strings.Fields(strings.ToValidUTF8(s.Message, "\uFFFD")), " "), maxMessageChars)
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
