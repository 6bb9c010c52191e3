package processor_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"

	"precis/events"
	"precis/internal/audit"
	"precis/internal/broker"
	"precis/internal/config"
	"precis/internal/processor"
	"precis/internal/recovery"
	"precis/state"
)

// server is an embedded server that is stopped and started again, and whose files are changed in between.
type server struct {
	*broker.Broker
	t      testing.TB
	dir    string
	listen string
}

func newServer(t testing.TB) *server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	s := &server{t: t, dir: filepath.Join(t.TempDir(), "nats"), listen: l.Addr().String()}
	s.start(s.listen)
	t.Cleanup(s.stop)
	return s
}

func (s *server) start(listen string) {
	s.t.Helper()
	b, err := broker.Open(context.Background(), broker.Options{StoreDir: s.dir, Sync: "2m", Listen: listen, Logger: logger(s.t)})
	if err != nil {
		s.t.Fatal(err)
	}
	s.Broker = b
}

func (s *server) stop() {
	s.t.Helper()
	if err := s.Close(context.Background()); err != nil {
		s.t.Errorf("stop server: %v", err)
	}
}

// copied is a copy of the server's files as they are now.
func (s *server) copied() (dir string) {
	s.t.Helper()
	s.stop()
	dir = filepath.Join(s.t.TempDir(), "copy")
	if err := os.CopyFS(dir, os.DirFS(s.dir)); err != nil {
		s.t.Fatal(err)
	}
	s.start(s.listen)
	return dir
}

// restore puts a copy of some streams, all without a name, in the place of what the server has; it must be stopped.
func (s *server) restore(from string, streams ...string) {
	s.t.Helper()
	below := []string{"."}
	if len(streams) > 0 {
		below = nil
	}
	for _, name := range streams {
		below = append(below, filepath.Join("jetstream", "$G", "streams", name))
	}
	for _, dir := range below {
		err := errors.Join(os.RemoveAll(filepath.Join(s.dir, dir)), os.CopyFS(filepath.Join(s.dir, dir), os.DirFS(filepath.Join(from, dir))))
		if err != nil {
			s.t.Fatal(err)
		}
	}
}

// grown are n events of many threads, all of whose ids begin with prefix; some lead to records, some to rejections.
func grown(t testing.TB, nc *nats.Conn, prefix string, n int) (last uint64) {
	t.Helper()
	pub, err := broker.NewPublisher(nc, broker.PublisherConfig{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = pub.Close() }()
	var msgs []*nats.Msg
	for i := range n {
		thread, id := fmt.Sprint("t", i%10), fmt.Sprint(prefix, i)
		m := &nats.Msg{Subject: "thread.message." + thread, Data: []byte(message(id))}
		switch i % 5 {
		case 3:
			m = &nats.Msg{Subject: "tool.result." + thread, Data: []byte(toolResult(id, 100))}
		case 4:
			m.Data = []byte(`{"message_id":"broken"`)
		}
		msgs = append(msgs, m)
	}
	for _, ack := range pub.PublishBatch(within(t), msgs) {
		if ack.Err != nil {
			t.Fatal(ack.Err)
		}
		last = max(last, ack.Seq)
	}
	return last
}

// lived runs a processor until it has taken all that is there.
func lived(t testing.TB, o processor.Options) {
	t.Helper()
	p := start(t, o)
	if err := p.Settled(within(t)); err != nil {
		t.Fatal(err)
	}
	p.end()
}

// A stream that is restored from an older backup, and grows beyond what the store has seen of it, is still the stream that
// was made then, and ends behind the store's position: only what stands at that position tells.
func TestRolledBackStreamsThatGrewAreRefused(t *testing.T) {
	for stream, grow := range map[string]func(t *testing.T, nc *nats.Conn){
		broker.StreamEvents:    func(t *testing.T, nc *nats.Conn) { grown(t, nc, "c", 150) },
		broker.StreamSummaries: func(t *testing.T, nc *nats.Conn) { put(t, nc, "summary.created.t1", manyOf(`{"by":"hand"}`, 150)...) },
		broker.StreamRejected:  func(t *testing.T, nc *nats.Conn) { put(t, nc, "event.rejected.t1", manyOf(`{"by":"hand"}`, 150)...) },
	} {
		t.Run(stream, func(t *testing.T) {
			t.Parallel()
			s, c := newServer(t), settings(t)
			c.Partitions = 3
			options := func() processor.Options { return processor.Options{Config: c, Logger: logger(t), Broker: s.Broker} }
			openAlone(t, options()).close() // makes the streams
			grown(t, s.Conn(), "a", 100)
			lived(t, options())
			backup := s.copied()
			grown(t, s.Conn(), "b", 100)
			lived(t, options())
			s.stop()
			s.restore(backup, stream)
			s.start(s.listen)
			grow(t, s.Conn())

			p, err := processor.Open(t.Context(), options())
			if err == nil {
				p.Close(t.Context())
			}
			if !errors.Is(err, recovery.ErrRewritten) || !strings.Contains(err.Error(), stream+" was rolled back and has grown again") ||
				!strings.Contains(err.Error(), recovery.Advice) {
				t.Errorf("open: %v", err)
			}
			if err := checked(t, c, s.Broker); !errors.Is(err, recovery.ErrRewritten) {
				t.Errorf("check: %v", err)
			}
		})
	}
}

// checked is why a store at rest can't be held against the log.
func checked(t *testing.T, c *config.Config, b *broker.Broker) error {
	t.Helper()
	store, err := state.Open(processor.StoreDir(c.DataDir), state.Options{Logger: logger(t), ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	_, err = audit.Compare(within(t), audit.Options{JetStream: b.JetStream(), Store: store, Logger: logger(t)}, func(state.Problem) {})
	return err
}

func manyOf(body string, n int) []string {
	bodies := make([]string, n)
	for i := range bodies {
		bodies[i] = body
	}
	return bodies
}

// A server that comes back without its last writes has given their sequences to others by the time that the processor is
// connected again: nothing of these may be applied, and nothing that was decided from what is lost published.
func TestLogThatLosesItsTailEndsTheProcessor(t *testing.T) {
	for _, lost := range [][]string{nil, {broker.StreamSummaries}, {broker.StreamRejected}} {
		t.Run(strings.Join(lost, ""), func(t *testing.T) {
			t.Parallel()
			s, c := newServer(t), settings(t)
			c.Partitions, c.NATS.URL = 3, "nats://"+s.listen
			lived(t, processor.Options{Config: c, Logger: logger(t)}) // makes the streams
			grown(t, s.Conn(), "a", 100)
			lived(t, processor.Options{Config: c, Logger: logger(t)})
			backup := s.copied()

			p := openAlone(t, processor.Options{Config: c, Logger: logger(t)})
			ran := make(chan error, 1)
			go func() { ran <- p.Run(t.Context()) }()
			last := grown(t, s.Conn(), "b", 50)
			if err := p.Settled(within(t)); err != nil {
				t.Fatal(err)
			}
			s.stop()
			s.restore(backup, lost...)
			s.start("127.0.0.1:0") // where agents reach it, and the processor does not yet
			grown(t, s.Conn(), "c", 80)
			put(t, s.Conn(), "summary.created.other", manyOf(`{"by":"hand"}`, 100)...)
			put(t, s.Conn(), "event.rejected.other", manyOf(`{"by":"hand"}`, 100)...)
			s.stop()
			s.start(s.listen)

			if err := ends(t, ran); !errors.Is(err, recovery.ErrRewritten) || !strings.Contains(err.Error(), recovery.Advice) {
				t.Errorf("run: %v", err)
			}
			p.close()
			store, err := state.Open(processor.StoreDir(c.DataDir), state.Options{Logger: logger(t)})
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close()
			for id := range c.Partitions + 1 {
				if meta, err := store.View(id).Meta(); err != nil || meta.Position > last {
					t.Errorf("partition %d stands at %d, and %d were applied before the server went away: %v", id, meta.Position, last, err)
				}
			}
		})
	}
}

// A rejection is no proof of what EVENTS held, since nothing chains it. So without a store a log that was rolled back
// behind an event that was only rejected is taken as it is: what stands there now has a rejection of its own, and replay
// names the other.
func TestRejectionOfALostEventIsNotTakenForAnothers(t *testing.T) {
	s, c := newServer(t), settings(t)
	c.Partitions, c.NATS.URL = 1, "nats://"+s.listen
	life := func() { lived(t, processor.Options{Config: c, Logger: logger(t), FS: state.Memory()}) }
	life() // makes the streams
	empty := s.copied()
	put(t, s.Conn(), "thread.message.t", `{"message_id":"lost"`)
	life()
	s.stop()
	s.restore(empty, broker.StreamEvents)
	s.start(s.listen)
	put(t, s.Conn(), "thread.message.t", `{"message_id":"new"`)
	for range 2 { // the second finds both in REJECTED
		life()
		var bodies []string
		err := broker.NewLogReader(s.JetStream(), broker.StreamRejected).Scan(within(t), 1, nil, func(m broker.Stored) error {
			var rec events.Rejected
			if err := json.Unmarshal(m.Data, &rec); err != nil {
				return err
			}
			body, err := base64.StdEncoding.DecodeString(*rec.BodyBase64)
			bodies = append(bodies, string(body))
			return err
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if want := []string{`{"message_id":"lost"`, `{"message_id":"new"`}; !slices.Equal(bodies, want) {
			t.Fatalf("REJECTED holds rejections of %q, not of %q", bodies, want)
		}
	}
	found := report(t, s.Broker).Findings
	if len(found) != 1 || found[0].Check != audit.CheckRejection || !strings.Contains(found[0].Got, "rolled back") {
		t.Errorf("replay: %+v", found)
	}
}
