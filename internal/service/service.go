package service

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
	"github.com/rs/zerolog"

	"precis/events"
	"precis/internal/broker"
	"precis/internal/contents"
	"precis/state"
	"precis/summarize"
	"precis/summarize/tokens"
)

// Name of the micro service.
const Name = "precis"

const (
	// requestTimeout bounds one request, waiting for a min_event_seq included.
	requestTimeout = 10 * time.Second
	// grace is how long a request may hold up the ones behind it.
	grace = 5 * time.Millisecond
	// graceAmong is the same where others are under way already.
	graceAmong = 500 * time.Microsecond
	// maxConcurrent bounds the requests that are answered at once; more wait in the subscription.
	maxConcurrent = 64
)

// Backend is what answers are read from.
type Backend interface {
	// View reads what is applied in a partition; the disk may not have it yet.
	View(partition int) state.View
	Partitions() int
	// Snapshot reads one state of a partition; the caller closes it.
	Snapshot(partition int) *state.Snapshot
	// Policies are those in force.
	Policies() []summarize.Policy
	// Summarize makes a summary of a thread now and returns its id, empty where there is nothing to summarize,
	// when that is durable.
	Summarize(ctx context.Context, partition int, thread, kind string) (id string, err error)
	// Renew has made again, soon, what of a thread is stale and waits for somebody to ask for it.
	Renew(partition int, thread string)
	// Log reads EVENTS.
	Log() *broker.LogReader
	// CaughtUp says whether everything that the log held at the start is applied.
	CaughtUp() bool
	// Wait returns when everything of a partition up to an EVENTS sequence is durable, also where the event at
	// that sequence is another partition's, or ctx ends.
	Wait(ctx context.Context, partition int, seq uint64) error
	// Durable returns when all that was read from a partition before the call is durable, or ctx ends.
	Durable(ctx context.Context, partition int) error
}

// Options of the service.
type Options struct {
	Version string
	Logger  zerolog.Logger
}

// Service answers requests until it is stopped.
type Service struct {
	backend  Backend
	contents *contents.Shared
	counts   *tokens.Memo
	log      zerolog.Logger
	conn     *nats.Conn
	micro    micro.Service
	max      int // bytes of an answer
	cancel   context.CancelFunc
	slots    chan struct{}
	wg       sync.WaitGroup
}

// Start registers the service on a connection.
func Start(nc *nats.Conn, backend Backend, o Options) (*Service, error) {
	counts, err := tokens.NewMemo()
	if err != nil {
		return nil, fmt.Errorf("start service: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &Service{
		backend: backend, contents: contents.NewShared(backend.Log()), counts: counts, log: o.Logger, conn: nc, max: int(nc.MaxPayload()),
		cancel: cancel, slots: make(chan struct{}, maxConcurrent),
	}
	svc, err := micro.AddService(nc, micro.Config{Name: Name, Version: semantic(o.Version), Description: "summaries of agents' threads"})
	if err != nil {
		cancel()
		return nil, fmt.Errorf("start service: %w", err)
	}
	s.micro = svc
	for subject, answer := range map[string]answerer{
		"precis.thread.get.*":       s.thread,
		"precis.thread.context.*":   s.context,
		"precis.thread.summarize.*": s.summarize,
		"precis.message.get.*":      s.message,
		"precis.summary.get.*":      s.summary,
	} {
		name := strings.ReplaceAll(strings.TrimSuffix(strings.TrimPrefix(subject, "precis."), ".*"), ".", "-")
		if err := svc.AddEndpoint(name, s.handler(ctx, answer), micro.WithEndpointSubject(subject)); err != nil {
			return nil, errors.Join(fmt.Errorf("start service: %w", err), s.Stop())
		}
	}
	return s, nil
}

// Stop takes no more requests and waits for those under way.
func (s *Service) Stop() error {
	err := s.micro.Stop()
	s.cancel()
	s.wg.Wait()
	return err
}

// partitionOf is the partition of a thread's token, as the server's subject transform has it.
func partitionOf(token string, partitions int) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(token)) // never fails
	return int(h.Sum32() % uint32(partitions))
}

// view reads the partition of the thread that a token names.
func (s *Service) view(token string) (state.View, string, int, error) {
	name, err := events.ThreadOf(token)
	if err != nil {
		return state.View{}, "", 0, fault(codeBadRequest, "thread: %v", err)
	}
	if !s.backend.CaughtUp() {
		return state.View{}, "", 0, fault(codeUnavailable, "not caught up with the log yet: ask again soon")
	}
	partition := partitionOf(token, s.backend.Partitions())
	return s.backend.View(partition), name, partition, nil
}

// told lets an answer out when what it was read from is durable: nobody is told what a crash could take back.
func (s *Service) told(ctx context.Context, partition int, answer any, err error) (any, error) {
	if err == nil {
		err = s.backend.Durable(ctx, partition)
	}
	if err != nil {
		return nil, err
	}
	return answer, nil
}

// semanticVersion is what the micro protocol takes for a version (semver.org, with the leading v taken off).
var semanticVersion = regexp.MustCompile(`^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`)

// semantic is the part of the program's version that micro takes, 0.0.0 where there is none.
func semantic(version string) string {
	head, _, _ := strings.Cut(strings.TrimPrefix(version, "v"), " ")
	if !semanticVersion.MatchString(head) {
		return "0.0.0"
	}
	return head
}
