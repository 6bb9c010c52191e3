package service

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"precis/api"
	"precis/internal/broker"
)

// answerer answers one request.
type answerer func(ctx context.Context, r *request) (any, error)

// request is one request. It holds a slot while it is worked on, and none while it waits.
type request struct {
	subject string
	token   string // the subject's last
	body    []byte
	client  string // see clientOf
	threads string // what the ids of running threads begin with that the answer may name
	// partition is that of the answer; negative: none yet.
	partition int
	slots     chan struct{}
	max       int // bytes of the answer
	working   bool
	waited    bool        // the partition was another processor's, or moving, when the request came: its owner now may have ignored the request
	ended     func(error) // nil or called once the answer is encoded, with why there is none
}

// work takes a slot, or gives up when ctx ends.
func (r *request) work(ctx context.Context) error {
	select {
	case r.slots <- struct{}{}:
		r.working = true
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// rest gives the slot back.
func (r *request) rest() {
	if r.working {
		<-r.slots
		r.working = false
	}
}

// reply is an answer's body, or why there is none.
type reply struct {
	body   []byte
	fault  *Fault
	silent bool // another processor answers
}

// handler answers each request in a goroutine of its own, as many at once as there are slots: more wait in the
// subscription. A request that could not be answered is not worked on.
func (s *Service) handler(running context.Context, e *endpoint) nats.MsgHandler {
	return func(m *nats.Msg) {
		if !s.answerable(m) {
			return
		}
		r := &request{
			subject: m.Subject, token: m.Subject[strings.LastIndexByte(m.Subject, '.')+1:], body: m.Data,
			client: clientOf(m.Reply), slots: s.slots, max: s.max, partition: -1,
		}
		partition, place := s.placeOf(e, r)
		r.waited = place != Here
		if place == Elsewhere {
			if came := time.Now(); s.shared.Silent(partition, came) {
				s.begin(func() {
					switch err := s.outlives(running, partition, came); {
					case err == nil && r.work(running) == nil:
						s.serve(running, m, r, e)
					case err != nil && !errors.Is(err, errSilent):
						s.reply(m.Reply, e, came, reply{fault: asFault(err)})
					}
				})
			}
			return
		}
		if r.work(running) != nil {
			return
		}
		if !s.begin(func() { s.serve(running, m, r, e) }) {
			r.rest()
		}
	}
}

// serve answers a request that has a slot.
func (s *Service) serve(running context.Context, m *nats.Msg, r *request, e *endpoint) {
	defer r.rest()
	ctx, cancel := context.WithTimeout(running, requestTimeout)
	defer cancel()
	start := time.Now()
	reply := s.answer(ctx, r, e)
	if reply.silent {
		return
	}
	s.reply(m.Reply, e, start, reply)
}

// reply counts an answer, and sends it to an inbox.
func (s *Service) reply(to string, e *endpoint, start time.Time, r reply) {
	e.count(time.Since(start), r.fault)
	s.send(to, r)
}

// wait returns when everything of a partition up to an EVENTS sequence is durable. Others are answered meanwhile.
func (s *Service) wait(ctx context.Context, r *request, partition int, seq uint64) error {
	if s.backend.Holds(partition, seq) {
		return nil
	}
	leave := s.waiting.enter(r.client, r.token)
	if leave == nil {
		s.refused(RefusedWaiting)
		return fault(codeUnavailable, "too many requests wait for their min_event_seq; retry in a second")
	}
	defer leave()
	r.rest()
	if err := s.backend.Wait(ctx, partition, seq); err != nil {
		return err
	}
	return r.work(ctx)
}

// placeOf reports who answers a request, and which partition's thread it is for; that costs no slot.
func (s *Service) placeOf(e *endpoint, r *request) (partition int, place Place) {
	if s.shared == nil || !e.ofThread {
		return 0, Here
	}
	partition = broker.PartitionOf(r.token, s.backend.Partitions())
	return partition, s.place(partition)
}

func (s *Service) answer(ctx context.Context, r *request, e *endpoint) reply {
	out, err := e.answer(ctx, r)
	if errors.Is(err, errSilent) {
		return reply{silent: true}
	}
	if errors.Is(err, errMoved) {
		body, fault := s.shared.Forward(ctx, r.subject, r.body)
		return reply{body: body, fault: fault}
	}
	if moved := s.still(r); moved != nil && (err == nil || asFault(err).Code != codeUnavailable) { // else it says why already
		err = moved
	}
	var body []byte
	if err == nil {
		body, err = encode(out, r.max, e.advice)
	}
	if r.ended != nil {
		r.ended(err)
	}
	if err == nil {
		return reply{body: body}
	}
	fault := asFault(err)
	if fault.Code == codeInternal {
		s.log.Error().Err(err).Str("subject", r.subject).Msg("request failed")
	}
	return reply{fault: fault}
}

func encode(out any, limit int, advice string) ([]byte, error) {
	var body []byte
	var err error
	if prompt, is := out.(api.ContextReply); is {
		body, err = encodePrompt(prompt)
	} else {
		body, err = json.Marshal(out, json.Deterministic(true))
	}
	if err != nil {
		return nil, fmt.Errorf("encode answer: %w", err)
	}
	if len(body) > limit {
		return nil, fault(codeTooLarge, "the answer has %d bytes, and the server allows %d: %s", len(body), limit, advice)
	}
	return body, nil
}

// encodePrompt puts the messages of a prompt, which are most of it, into the answer as they are: they were written as JSON, without blanks, and the
// library would read all of them once more.
func encodePrompt(r api.ContextReply) ([]byte, error) {
	messages := r.Messages
	if messages == nil {
		messages = jsontext.Value("null")
	}
	system, err := json.Marshal(r.System)
	if err != nil {
		return nil, err
	}
	r.System, r.Messages = nil, nil
	rest, err := json.Marshal(r, json.Deterministic(true))
	if err != nil {
		return nil, err
	}
	rest = rest[len(`{"system":null,"messages":null`):]
	return slices.Concat([]byte(`{"system":`), system, []byte(`,"messages":`), messages, rest), nil
}

// answerable reports whether a request names an inbox to answer to.
func (s *Service) answerable(m *nats.Msg) bool {
	if s.inboxes.allow(m.Reply) {
		return true
	}
	s.refused(RefusedReply)
	s.odd.Warn().Str("subject", m.Subject).Str("reply", m.Reply).
		Msg("request ignored: its reply subject is not under nats.inbox_prefixes")
	return false
}

// send is the only way out: to is an inbox.
func (s *Service) send(to string, r reply) {
	m := &nats.Msg{Subject: to, Data: r.body}
	if r.fault != nil {
		m.Header = nats.Header{micro.ErrorCodeHeader: {r.fault.Code}, micro.ErrorHeader: {r.fault.Message}}
		if r.fault.Code == codeUnavailable {
			m.Header.Set(api.RetryAfterHeader, strconv.Itoa(int(retryAfter.Seconds())))
		}
	}
	if err := s.conn.PublishMsg(m); err != nil {
		s.log.Warn().Err(err).Msg("answer not sent")
	}
}
