package gateway

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"
)

// Modes.
const (
	ModeObserve = "observe" // changes nothing of what passes
	ModeCompact = "compact" // sends the prompt that precis.thread.context gives
)

// Modes are all of them.
var Modes = []string{ModeObserve, ModeCompact}

// Where requests go by default.
const (
	OpenAI    = "https://api.openai.com"
	Anthropic = "https://api.anthropic.com"
)

// Options of a gateway.
type Options struct {
	Logger zerolog.Logger
	// Conn publishes. It should reconnect without limit.
	Conn *nats.Conn
	// Mode is observe or compact. Default observe.
	Mode string
	// Compactions answers requests for a compaction in the provider's place, in mode compact.
	Compactions bool
	// Originals says that clients run the tool for originals, unless they say something else (HeaderTools): in mode compact its
	// definition is added to prompts with summaries.
	Originals bool
	// OpenAI and Anthropic are the base URLs of the providers, with or without the /v1. Default: their own.
	OpenAI, Anthropic string
	// EventBytes is the processor's limits.event_bytes, if known; 0: it rejects what is longer.
	EventBytes int
	// Guarded answers only requests whose host is a name of this machine.
	Guarded bool
	// Metrics counts; nil counts nothing.
	Metrics *Metrics
	// MemoryBytes bounds the copies of bodies that are read or wait to be. Default 256 MiB.
	MemoryBytes int64
	// BodyBytes bounds one copy; a longer body is passed on and not read. Default 32 MiB.
	BodyBytes int
	// Queue is how many exchanges may wait to be published. Default 1024.
	Queue int
	// BufferEvents and BufferBytes are the publisher's buffer. Default 10,000 and 64 MiB.
	BufferEvents, BufferBytes int
	// Wait is how long a request of mode compact waits for its prompt where there is no prepared one, a few times in ten seconds if precis is slow. Default
	// 250ms.
	Wait time.Duration
	// Brief is how long any request without a prepared prompt may wait for it. Default 4ms.
	Brief time.Duration
	// Transport makes the requests; nil is one like http.DefaultTransport.
	Transport http.RoundTripper
	// Now is the clock; nil is the system's.
	Now func() time.Time
}

func (o Options) withDefaults() Options {
	if o.Mode == "" {
		o.Mode = ModeObserve
	}
	if o.OpenAI == "" {
		o.OpenAI = OpenAI
	}
	if o.Anthropic == "" {
		o.Anthropic = Anthropic
	}
	if o.Metrics == nil {
		o.Metrics = NewMetrics(nil)
	}
	if o.MemoryBytes == 0 {
		o.MemoryBytes = 256 << 20
	}
	if o.BodyBytes == 0 {
		o.BodyBytes = 32 << 20
	}
	if o.Queue == 0 {
		o.Queue = 1024
	}
	if o.Wait == 0 {
		o.Wait = 250 * time.Millisecond
	}
	if o.Brief == 0 {
		o.Brief = brief
	}
	if o.BufferEvents == 0 {
		o.BufferEvents = 10_000
	}
	if o.Transport == nil {
		o.Transport = transport()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// Upstream reads a provider's base URL.
func Upstream(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("%q is not the URL of a provider; allowed: http or https, such as https://api.openai.com", text)
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("the URL of a provider has no user, query or fragment")
	}
	return u, nil
}

// transport makes requests as a client does that is not told to give up: how long an answer may take is the client's own affair.
func transport() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // net/http's own
	t.DisableCompression = true                          // an answer passes as it is packed
	dial := t.DialContext
	t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		if tcp, ok := c.(*net.TCPConn); ok {
			return upstreamConn{tcp}, nil
		}
		return c, nil
	}
	t.MaxIdleConnsPerHost = 256
	t.MaxIdleConns = 512
	t.ResponseHeaderTimeout = 0
	return t
}

// upstreamConn copies request bodies through buffers that are lent: a TCP connection takes 32 kB of memory for each of them.
type upstreamConn struct{ *net.TCPConn }

// ReadFrom implements io.ReaderFrom.
func (c upstreamConn) ReadFrom(r io.Reader) (int64, error) {
	b := lent.Get()
	defer lent.Put(b)
	return io.CopyBuffer(struct{ io.Writer }{c.TCPConn}, r, b)
}
