package rest

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"precis/events"
)

const (
	// recordsAhead is how many records of a stream are in memory.
	recordsAhead = 64
	// idleConsumer is after which time the server forgets a consumer whose stream ended without a word.
	idleConsumer = time.Minute
)

// records follows a thread's records as server-sent events. An event's id is its sequence in SUMMARIES.
func (s *Server) records(w http.ResponseWriter, r *asking) error {
	if r.Method == http.MethodHead {
		w.Header().Set("Content-Type", "text/event-stream")
		w.WriteHeader(http.StatusOK)
		return nil
	}
	leave := s.streams.enter(r.who.name, 1)
	if leave == nil {
		return wrong(http.StatusServiceUnavailable, fmt.Sprintf("%d streams are open, or half as many of this token (api.streams): close one", s.opts.Streams))
	}
	defer leave()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	consumer, err := s.follow(ctx, r)
	if err != nil {
		return err
	}
	// The server forgets it by itself, later.
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = s.js.DeleteConsumer(ctx, events.StreamSummaries, consumer.CachedInfo().Name)
	}()
	messages, err := consumer.Messages(jetstream.PullMaxMessages(recordsAhead))
	if err != nil {
		return s.unread(err)
	}
	next, ended := make(chan jetstream.Msg), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			msg, err := messages.Next()
			if err != nil {
				return
			}
			select {
			case next <- msg:
			case <-ctx.Done():
				return
			}
		}
	}()
	defer func() {
		cancel()
		messages.Stop()
		<-ended
	}()
	s.stream(ctx, w, r, next, ended)
	return nil
}

// stream writes records until the client goes away, its token ends or the server stops.
func (s *Server) stream(ctx context.Context, w http.ResponseWriter, r *asking, next <-chan jetstream.Msg, ended <-chan struct{}) {
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Time{}) // of the request, which is read
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	write := func(text string) bool {
		_ = control.SetWriteDeadline(time.Now().Add(writeTimeout))
		if _, err := w.Write([]byte(text)); err != nil {
			return false
		}
		return control.Flush() == nil
	}
	beat := time.NewTicker(s.opts.Heartbeat)
	defer beat.Stop()
	for alive := write(": open\n\n"); alive; {
		select {
		case msg := <-next:
			alive = s.holds(r) && write(framed(msg))
		case <-beat.C:
			alive = s.holds(r) && write(": alive\n\n")
		case <-ctx.Done():
			return
		case <-s.closing:
			return
		case <-ended:
			return
		}
	}
}

// holds reports whether the token of a stream still allows it.
func (s *Server) holds(r *asking) bool {
	who, err := s.authorize(r.Request)
	return err == nil && who.covers(r.thread)
}

// framed is a record as a server-sent event: its data is JSON without line breaks.
func framed(msg jetstream.Msg) string {
	var seq uint64
	if meta, err := msg.Metadata(); err == nil {
		seq = meta.Sequence.Stream
	}
	kind := msg.Subject()
	if t, _, ok := events.ParseSubject(kind); ok {
		kind = string(t)
	}
	data := strings.NewReplacer("\r", "", "\n", "").Replace(string(msg.Data()))
	return "id: " + strconv.FormatUint(seq, 10) + "\nevent: " + kind + "\ndata: " + data + "\n\n"
}

// follow makes the consumer of a stream, which begins behind the last event that the client has.
func (s *Server) follow(ctx context.Context, r *asking) (jetstream.Consumer, error) {
	token, err := events.Token(r.thread)
	if err != nil {
		return nil, wrong(http.StatusBadRequest, err.Error())
	}
	ctx, cancel := context.WithTimeout(ctx, s.opts.Wait)
	defer cancel()
	stream, err := s.js.Stream(ctx, events.StreamSummaries)
	if err != nil {
		return nil, s.unread(err)
	}
	last := stream.CachedInfo().State.LastSeq
	after, err := startOf(r, last)
	if err != nil {
		return nil, err
	}
	consumer, err := s.js.OrderedConsumer(ctx, events.StreamSummaries, jetstream.OrderedConsumerConfig{
		FilterSubjects: []string{"*.*." + token}, DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: after + 1,
		InactiveThreshold: idleConsumer,
	})
	if err != nil {
		return nil, s.unread(err)
	}
	return consumer, nil
}

// startOf returns the sequence behind which a stream begins.
func startOf(r *asking, last uint64) (uint64, error) {
	from := cmpOr(r.query.Get("from"), string(events.FromStart))
	if from != string(events.FromStart) && from != string(events.FromNow) {
		return 0, wrong(http.StatusBadRequest, fmt.Sprintf("from must be start or now, not %q", from))
	}
	id := cmpOr(r.Header.Get("Last-Event-ID"), r.query.Get("last_event_id"))
	switch {
	case id == "" && from == string(events.FromNow):
		return last, nil
	case id == "":
		return 0, nil
	}
	seq, err := strconv.ParseUint(id, 10, 64)
	if err != nil {
		return 0, wrong(http.StatusBadRequest, fmt.Sprintf("Last-Event-ID must be the id of an event of this stream, not %q", id))
	}
	if seq > last {
		return 0, wrong(http.StatusBadRequest, fmt.Sprintf("Last-Event-ID %d is beyond the last record, %d: begin again without it", seq, last))
	}
	return seq, nil
}

func (s *Server) unread(err error) *problem {
	s.opts.Logger.Warn().Err(err).Msg("SUMMARIES not read")
	return wrong(http.StatusServiceUnavailable, "SUMMARIES can't be read now; retry soon")
}
