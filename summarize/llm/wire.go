package llm

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
)

const (
	maxErrorBytes  = 64 << 10 // of an error's body
	maxAnswerBytes = 8 << 20  // of an answer's body: a summary is a thousandth of it
)

var errAnswerTooLarge = errors.New("answer larger than 8 MiB")

// wire is what one exchange showed, whatever an SDK makes of it: the SDKs differ in which headers and
// bodies they hand on, and Retry-After is not among them.
type wire struct {
	sent      atomic.Bool // set by the connection's own goroutine
	status    int
	header    http.Header
	errorBody []byte
}

type wireKey struct{}

// observed gives a context under which the transport fills in w.
func observed(ctx context.Context, w *wire) context.Context {
	trace := &httptrace.ClientTrace{WroteRequest: func(info httptrace.WroteRequestInfo) {
		if info.Err == nil {
			w.sent.Store(true)
		}
	}}
	return context.WithValue(httptrace.WithClientTrace(ctx, trace), wireKey{}, w)
}

// transport observes exchanges and bounds what it reads.
type transport struct{ base *http.Transport }

func newTransport() transport {
	base := http.DefaultTransport.(*http.Transport).Clone()
	return transport{base: base}
}

func (t transport) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := t.base.RoundTrip(req)
	w, ok := req.Context().Value(wireKey{}).(*wire)
	if err != nil || !ok {
		return resp, err
	}
	w.status, w.header = resp.StatusCode, resp.Header
	if resp.StatusCode < http.StatusBadRequest {
		answer, err := io.ReadAll(&bounded{body: resp.Body, left: maxAnswerBytes})
		resp.Body = rest{Reader: io.MultiReader(bytes.NewReader(wholeUsage(answer)), failing{err}), Closer: resp.Body}
		return resp, nil
	}
	w.errorBody, _ = io.ReadAll(io.LimitReader(resp.Body, maxErrorBytes))
	resp.Body = rest{Reader: bytes.NewReader(w.errorBody), Closer: resp.Body}
	return resp, nil
}

// client follows no redirect: what is sent is for the configured address alone.
func (t transport) client() *http.Client {
	return &http.Client{
		Transport:     t,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

func (t transport) close() { t.base.CloseIdleConnections() }

// rest is a body that was read already, and is still to be closed.
type rest struct {
	io.Reader
	io.Closer
}

// failing ends a body as the connection ended it.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) {
	if f.err == nil {
		return 0, io.EOF
	}
	return 0, f.err
}

// bounded fails where io.LimitReader would end: a cut answer must not look like a whole one.
type bounded struct {
	body io.Reader
	left int
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.body.Read(p)
	if b.left -= n; b.left < 0 {
		return n, errAnswerTooLarge
	}
	return n, err
}
