package service

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
	"github.com/nats-io/nuid"
	"github.com/rs/zerolog"

	"precis/api"
	"precis/events"
	"precis/internal/broker"
	"precis/internal/content"
	"precis/internal/roster"
	"precis/state"
	"precis/summarize"
	"precis/summarize/tokens"
)

const (
	// requestTimeout bounds one request, waiting for a min_event_seq included.
	requestTimeout = 10 * time.Second
	// maxConcurrent bounds the requests that are worked on at once; more wait in the subscription.
	maxConcurrent = 64
	// flushTimeout bounds the wait for the server's word on the subscriptions.
	flushTimeout = 2 * time.Second
	// tellEvery is how often the log tells of requests that are ignored.
	tellEvery = 10 * time.Second
	// lookEvery is how long a prompt may go on to have what retention has removed: the log's first sequence is looked up as often.
	lookEvery = 10 * time.Second
)

// Reasons why a request is refused whatever it asks for.
const (
	RefusedReply   = "reply_subject" // it names no inbox to answer to
	RefusedWaiting = "waiting"       // too many wait already
)

// Backend is what answers are read from.
type Backend interface {
	// View reads what is applied in a partition; the disk may not have it yet.
	View(partition int) state.View
	Partitions() int
	// ChildPartitions are those that may hold children of a thread; no other one does.
	ChildPartitions(parent string) []int
	// Threads lists the threads of the partitions.
	Threads() *roster.Index
	// Snapshot reads one state of a partition; the caller closes it.
	Snapshot(partition int) *state.Snapshot
	// Policies are those in force.
	Policies() []summarize.Policy
	// Summarize makes a summary of a thread now and returns its id, empty where there is nothing to summarize,
	// when that is durable.
	Summarize(ctx context.Context, partition int, thread, kind string) (id string, err error)
	// Renew has made again, soon, what of a thread is stale and waits for a request; the summaries named as expired
	// are stale by now.
	Renew(partition int, thread string, expired []string)
	// Now is the clock by which summaries expire.
	Now() time.Time
	// Log reads EVENTS, and Records SUMMARIES.
	Log() *broker.LogReader
	Records() *broker.LogReader
	// CaughtUp says whether everything that the log held at the start is applied.
	CaughtUp() bool
	// Holds reports whether the partition's position has reached an EVENTS sequence: then everything up to there is
	// durable. Where it has not, that may hold nevertheless: Wait finds out.
	Holds(partition int, seq uint64) bool
	// Wait returns when everything of a partition up to an EVENTS sequence is durable, also where the event at
	// that sequence is another partition's, or ctx ends. It is a *BeyondEnd where EVENTS does not reach that sequence.
	Wait(ctx context.Context, partition int, seq uint64) error
	// Durable returns when all that was read from a partition before the call is durable, or ctx ends.
	Durable(ctx context.Context, partition int) error
}

// Options of the service.
type Options struct {
	Version string
	Logger  zerolog.Logger
	// Inboxes are the prefixes of the reply subjects that are answered. Default: nats.InboxPrefix, without its dot.
	Inboxes Inboxes
	// Refused counts a request that is refused, by reason; nil counts none.
	Refused func(reason string)
	// Shared is set where several processors share the partitions.
	Shared Shared
	// Answered counts any answer: the subject without an id, the code of the fault (empty: none), and how long it took; nil counts
	// none.
	Answered func(subject, code string, took time.Duration)
	// Served counts an answer of precis.thread.context; nil counts none.
	Served func(Served)
}

// Service answers requests until it is stopped.
type Service struct {
	backend  Backend
	shared   Shared // nil: this processor has all partitions
	contents *content.Cache
	looked   atomic.Int64 // when the log's first sequence was looked up, in nanoseconds
	counts   *tokens.Memo
	log      zerolog.Logger
	odd      zerolog.Logger // of what any client can cause: now and then
	conn     *nats.Conn
	inboxes  Inboxes
	refused  func(reason string)
	served   func(Served)
	max      int // bytes of an answer
	cancel   context.CancelFunc
	slots    chan struct{}
	turns    turns
	waiting  waiting
	kept     atomic.Int64 // requests that another processor has to answer
	// bound limits the time of a request that has a context of its own, to the service's end at the latest.
	bound func(context.Context) (context.Context, context.CancelFunc)

	identity  micro.ServiceIdentity
	started   time.Time
	endpoints []*endpoint
	subs      []*nats.Subscription

	mu      sync.Mutex
	stopped bool
	wg      sync.WaitGroup
}

// adviceServer is for answers of which no part can be asked for.
const adviceServer = "raise the server's max_payload"

// Start answers on a connection. All that is published there are replies to inboxes, so that it needs no other right.
func Start(nc *nats.Conn, backend Backend, o Options) (*Service, error) {
	counts, err := tokens.NewMemo()
	if err != nil {
		return nil, fmt.Errorf("start service: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &Service{
		backend: backend, shared: o.Shared, contents: content.NewShared(backend.Log()), counts: counts,
		log: o.Logger, odd: o.Logger.Sample(&zerolog.BurstSampler{Burst: 1, Period: tellEvery}),
		conn: nc, inboxes: o.Inboxes, refused: o.Refused, served: o.Served, max: int(nc.MaxPayload()),
		cancel: cancel, slots: make(chan struct{}, maxConcurrent), turns: newTurns(),
		identity: micro.ServiceIdentity{Name: api.Name, ID: nuid.Next(), Version: semantic(o.Version), Metadata: map[string]string{"contract_version": api.ContractVersion}},
		started:  time.Now().UTC(),
	}
	s.bound = func(of context.Context) (context.Context, context.CancelFunc) {
		of, cancel := context.WithTimeout(of, requestTimeout)
		unhook := context.AfterFunc(ctx, cancel)
		return of, func() { unhook(); cancel() }
	}
	if s.inboxes == nil {
		s.inboxes = Inboxes{strings.TrimSuffix(nats.InboxPrefix, ".")}
	}
	if s.refused == nil {
		s.refused = func(string) {}
	}
	if s.served == nil {
		s.served = func(Served) {}
	}
	s.endpoints = []*endpoint{
		newEndpoint(api.ThreadsList, "Threads", s.threads, "give a smaller limit"),
		newEndpoint(api.ThreadGet, "Thread", s.thread, adviceServer),
		newEndpoint(api.ThreadContext, "Context", s.context, "give max_tokens, or a smaller one (a token has 3 to 4 bytes)"),
		newEndpoint(api.ThreadSummarize, "Summarize", s.summarize, adviceServer),
		newEndpoint(api.MessageGet, "Message", s.message, "give lines, as [from, to], or fewer of them"),
		newEndpoint(api.SummaryGet, "Summary", s.summary, adviceServer),
	}
	for _, e := range s.endpoints {
		e.ofThread = e.shape != "Threads" && e.shape != "Summary"
		e.answered = o.Answered
	}
	if err := errors.Join(s.subscribe(ctx), heard(nc)); err != nil {
		return nil, errors.Join(fmt.Errorf("start service: %w", err), s.Stop())
	}
	return s, nil
}

// heard reports a user who may not subscribe what the service listens to: nothing would ever reach it. A server that is
// away takes the subscriptions when it comes back.
func heard(nc *nats.Conn) error {
	if err := nc.FlushTimeout(flushTimeout); err != nil {
		return nil
	}
	if err := nc.LastError(); errors.Is(err, nats.ErrPermissionViolation) {
		return fmt.Errorf("its user must be allowed to subscribe to precis.> and $SRV.> (nats.service.user and nats.service.password_env): %w", err)
	}
	return nil
}

// begin runs work that Stop waits for; false where it is over.
func (s *Service) begin(work func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return false
	}
	s.wg.Go(work)
	return true
}

// Stop takes no more requests and waits for those under way.
func (s *Service) Stop() error {
	var errs []error
	for _, sub := range s.subs {
		if err := sub.Drain(); err != nil && !errors.Is(err, nats.ErrConnectionClosed) {
			errs = append(errs, fmt.Errorf("stop service: %w", err))
		}
	}
	s.mu.Lock()
	s.stopped = true
	s.mu.Unlock()
	s.cancel()
	s.wg.Wait()
	return errors.Join(errs...)
}

// open returns the thread that a request names and its partition, when everything up to an EVENTS sequence is durable there.
func (s *Service) open(ctx context.Context, r *request, minEventSeq uint64) (name string, partition int, err error) {
	if name, err = events.ThreadOf(r.token); err != nil {
		return "", 0, fault(codeBadRequest, "thread: %v", err)
	}
	if err := s.caughtUp(); err != nil {
		return "", 0, err
	}
	partition = broker.PartitionOf(r.token, s.backend.Partitions())
	if err := s.arrive(ctx, r, partition); err != nil {
		return "", 0, err
	}
	return name, partition, s.wait(ctx, r, partition, minEventSeq)
}

func (s *Service) caughtUp() error {
	if !s.backend.CaughtUp() {
		return fault(codeUnavailable, "not caught up with the log yet; retry soon")
	}
	return nil
}

// forget drops contents that retention has removed from the log.
func (s *Service) forget(ctx context.Context) {
	now, last := s.backend.Now().UnixNano(), s.looked.Load()
	if now-last < int64(lookEvery) || !s.looked.CompareAndSwap(last, now) {
		return
	}
	if log, err := s.backend.Log().State(ctx); err == nil { // else the next look finds it
		s.contents.Forget(log.First)
	}
}

// told returns an answer once the state that it was read from is durable, so that no client sees what a crash could
// undo.
func (s *Service) told(ctx context.Context, partition int, answer any, err error) (any, error) {
	if err == nil {
		err = s.backend.Durable(ctx, partition)
	}
	if err != nil {
		return nil, err
	}
	return answer, nil
}
