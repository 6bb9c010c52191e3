package e2e_test

import (
	"context"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// stored is one message as a stream holds it.
type stored struct {
	subject string
	header  nats.Header
	body    []byte
	seq     uint64
}

func (s stored) data(t testing.TB) object { return decode(t, s.body) }

// follower reads a stream from its start.
type follower struct {
	t    testing.TB
	msgs chan stored
}

// follow reads a stream from its start on, only subjects that match.
func (w *world) follow(stream, filter string) *follower {
	w.t.Helper()
	c, err := w.js.OrderedConsumer(within(w.t), stream, jetstream.OrderedConsumerConfig{FilterSubjects: []string{filter}})
	if err != nil {
		w.t.Fatal(err)
	}
	f := &follower{t: w.t, msgs: make(chan stored, 1<<16)}
	reading, err := c.Consume(func(m jetstream.Msg) {
		meta, err := m.Metadata()
		if err != nil {
			w.t.Error(err)
			return
		}
		f.msgs <- stored{m.Subject(), m.Headers(), m.Data(), meta.Sequence.Stream}
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(reading.Stop)
	return f
}

// next waits for one message.
func (f *follower) next() stored {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), patience)
	defer cancel()
	select {
	case m := <-f.msgs:
		return m
	case <-ctx.Done():
		f.t.Fatal("nothing came")
		return stored{}
	}
}

// take waits for n messages.
func (f *follower) take(n int) []stored {
	f.t.Helper()
	list := make([]stored, n)
	for i := range list {
		list[i] = f.next()
	}
	return list
}

// until waits for messages up to and including the first that is wanted.
func (f *follower) until(wanted func(stored) bool) []stored {
	f.t.Helper()
	var list []stored
	for {
		m := f.next()
		list = append(list, m)
		if wanted(m) {
			return list
		}
	}
}

// records are all records of a thread in SUMMARIES up to the first that is wanted.
func (w *world) records(thread string, wanted func(stored) bool) []stored {
	w.t.Helper()
	return w.follow("SUMMARIES", "*.*."+token(thread)).until(wanted)
}
