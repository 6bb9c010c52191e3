package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// record is the relevant part of a summary event.
type record struct {
	ThreadID  string         `json:"thread_id"`
	ID        string         `json:"id"`
	SummaryID string         `json:"summary_id"`
	Kind      string         `json:"kind"`
	Slot      string         `json:"slot"`
	Version   int            `json:"version"`
	Reason    string         `json:"reason"`
	Cause     jsontext.Value `json:"cause"`
	Subject   string         `json:"subject"` // of a rejection
	Code      string         `json:"code"`
	Message   string         `json:"message"`
	at        time.Time
}

// follower collects the processor's records about our threads as they arrive.
type follower struct {
	tokens map[string]bool // of our threads

	consuming []jetstream.ConsumeContext

	mu          sync.Mutex
	created     []record // of kind tool_result, as are the ones below
	invalidated []record
	others      int // records of other kinds
	rejected    []record
	unreadable  []string
}

// follow starts at the end of the streams; all is true for a run whose events may already be there.
func follow(ctx context.Context, nc *nats.Conn, threads []*expectation, all bool) (*follower, error) {
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, fmt.Errorf("open jetstream: %w", err)
	}
	f := &follower{tokens: map[string]bool{}}
	for _, e := range threads {
		f.tokens[token(e.Thread)] = true
	}
	for stream, subjects := range map[string][]string{
		"SUMMARIES": {"summary.created.*", "summary.invalidated.*"},
		"REJECTED":  {"event.rejected.*"},
	} {
		if err := f.consume(ctx, js, stream, subjects, all); err != nil {
			f.stop()
			return nil, fmt.Errorf("follow %s: %w", stream, err)
		}
	}
	return f, nil
}

func (f *follower) consume(ctx context.Context, js jetstream.JetStream, name string, subjects []string, all bool) error {
	stream, err := js.Stream(ctx, name)
	if err != nil {
		return err
	}
	cfg := jetstream.OrderedConsumerConfig{FilterSubjects: subjects, DeliverPolicy: jetstream.DeliverAllPolicy}
	if !all {
		// A sequence, not "new": "new" begins whenever the server handles the request.
		cfg.DeliverPolicy = jetstream.DeliverByStartSequencePolicy
		cfg.OptStartSeq = stream.CachedInfo().State.LastSeq + 1
	}
	consumer, err := stream.OrderedConsumer(ctx, cfg)
	if err != nil {
		return err
	}
	consuming, err := consumer.Consume(f.take)
	if err != nil {
		return err
	}
	f.consuming = append(f.consuming, consuming)
	return nil
}

func (f *follower) stop() {
	for _, c := range f.consuming {
		c.Stop()
		<-c.Closed()
	}
	f.consuming = nil
}

func (f *follower) take(m jetstream.Msg) {
	at := time.Now()
	i := strings.LastIndexByte(m.Subject(), '.')
	kind, tok := m.Subject()[:i], m.Subject()[i+1:]
	if !f.tokens[tok] {
		return
	}
	var r record
	err := json.Unmarshal(m.Data(), &r)
	r.at = at
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case err != nil:
		f.unreadable = append(f.unreadable, fmt.Sprintf("%s: %v", m.Subject(), err))
	case kind == "event.rejected":
		f.rejected = append(f.rejected, r)
	case r.Kind != kindToolResult:
		f.others++
	case kind == "summary.created":
		f.created = append(f.created, r)
	default:
		f.invalidated = append(f.invalidated, r)
	}
}

// kindToolResult is the kind of summary that this program can predict.
const kindToolResult = "tool_result"

// tally counts the records that have arrived.
type tally struct{ created, invalidated, others, rejected int }

func (f *follower) tally() tally {
	f.mu.Lock()
	defer f.mu.Unlock()
	return tally{len(f.created), len(f.invalidated), f.others, len(f.rejected)}
}

func (f *follower) createdSoFar() []record {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.created[:len(f.created):len(f.created)]
}
