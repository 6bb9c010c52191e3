package gateway

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/rs/zerolog"
	"golang.org/x/sync/semaphore"

	"precis/events"
)

// Gateway passes requests on and publishes what they say. It is an http.Handler. Close it when nothing serves it any more.
type Gateway struct {
	opts              Options
	log               zerolog.Logger
	metrics           *Metrics
	proxy             *httputil.ReverseProxy
	openAI, anthropic *url.URL
	budget            *budget
	publisher         *events.Publisher

	mu     sync.RWMutex // held to enqueue, so that nothing enters a closed queue
	closed bool
	queue  chan func()
	sent   chan sending
	read   chan struct{} // the queue is closed, and empty
	ended  chan struct{} // and everything sent is settled

	known     *lru.Cache[key, *events.Receipt] // messages that are stored, or on their way
	threads   *lru.Cache[string, struct{}]     // seen before
	responses *lru.Cache[string, string]       // the thread of a response, by its id
	reader    *reader
	compactor *compactor
	quiet     quiet
}

// Sizes of what is remembered. What is forgotten is published again, and precis drops it as a duplicate.
const (
	knownMessages  = 1 << 17
	knownResponses = 1 << 14
)

// linger is how long messages that no request waits for are collected: nats-server makes files for every batch, which takes it several milliseconds of a core.
const linger = 100 * time.Millisecond

// New starts a gateway.
func New(o Options) (*Gateway, error) {
	o = o.withDefaults()
	g := &Gateway{
		opts: o, log: o.Logger, metrics: o.Metrics,
		budget: &budget{room: semaphore.NewWeighted(o.MemoryBytes), held: func(n int64) { o.Metrics.held.Add(float64(n)) }},
		queue:  make(chan func(), o.Queue), read: make(chan struct{}), ended: make(chan struct{}), quiet: quiet{now: o.Now}, reader: newReader(),
	}
	var err error
	if g.openAI, err = Upstream(o.OpenAI); err != nil {
		return nil, fmt.Errorf("start gateway: %w", err)
	}
	if g.anthropic, err = Upstream(o.Anthropic); err != nil {
		return nil, fmt.Errorf("start gateway: %w", err)
	}
	g.known = cache[key, *events.Receipt](knownMessages)
	g.threads = cache[string, struct{}](knownResponses)
	g.responses = cache[string, string](knownResponses)
	g.proxy = g.newProxy()
	if g.compactor, err = newCompactor(o); err != nil {
		return nil, fmt.Errorf("start gateway: %w", err)
	}
	options := events.PublisherOptions{EventBytes: o.EventBytes, BufferEvents: o.BufferEvents, BufferBytes: o.BufferBytes, Linger: linger}
	options.Warn = func(err error) { g.quiet.warn(g.log, "publish", err) }
	if g.publisher, err = events.NewPublisher(o.Conn, options); err != nil {
		return nil, fmt.Errorf("start gateway: %w", err)
	}
	g.sent = make(chan sending, g.opts.BufferEvents+1) // more can't be on their way
	go g.work()
	return g, nil
}

func cache[K comparable, V any](size int) *lru.Cache[K, V] {
	c, err := lru.New[K, V](size)
	if err != nil {
		panic(err) // only a size below 1 is an error
	}
	return c
}

// Close publishes what is queued and returns when NATS has it, or ctx ends.
func (g *Gateway) Close(ctx context.Context) error {
	g.compactor.close()
	g.mu.Lock()
	g.closed = true
	close(g.queue)
	g.mu.Unlock()
	select {
	case <-g.read:
	case <-ctx.Done():
	}
	err := g.publisher.Close(ctx)
	<-g.ended
	if t, ok := g.opts.Transport.(*http.Transport); ok {
		t.CloseIdleConnections()
	}
	if errors.Is(err, events.ErrUnsent) {
		return fmt.Errorf("close gateway: %w", err)
	}
	return nil // what NATS refused is counted
}
