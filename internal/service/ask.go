package service

import (
	"context"
	"strconv"
	"time"

	"precis/api"
	"precis/events"
)

// maxAsked bounds an answer that does not go over NATS, in bytes.
const maxAsked = 64 << 20

// Asked is a request that did not come over NATS.
type Asked struct {
	Subject string // one of package api's
	ID      string // of the thread or the summary; empty with api.ThreadsList
	Body    []byte
	Client  string // who asks: waiting requests are bounded by client
	// Threads is what the ids of threads begin with that the answer to api.ThreadContext may name as running; empty: any. An answer that
	// another processor makes may name others.
	Threads string
}

// Ask answers a request like one that comes over NATS, among them: with the same slots, bounds and figures. Only the answer may be
// larger than the server's max_payload.
func (s *Service) Ask(ctx context.Context, q Asked) ([]byte, *Fault) {
	var e *endpoint
	for _, known := range s.endpoints {
		if known.prefix == q.Subject {
			e = known
		}
	}
	var token string
	var err error
	if q.Subject != api.ThreadsList {
		token, err = events.Token(q.ID)
	}
	if err != nil && q.Subject == api.SummaryGet {
		return nil, fault(codeBadRequest, "summary id must be 1 to %d bytes", events.MaxIDBytes)
	}
	if e == nil || err != nil {
		return nil, fault(codeBadRequest, "%s: %v", q.Subject, err)
	}
	ctx, cancel := s.bound(ctx)
	defer cancel()
	r := &request{subject: q.Subject + token, token: token, body: q.Body, client: q.Client, threads: q.Threads, slots: s.slots, max: maxAsked, partition: -1}
	if _, place := s.placeOf(e, r); place == Elsewhere {
		return s.shared.Forward(ctx, r.subject, q.Body)
	}
	if err := r.work(ctx); err != nil {
		return nil, asFault(err)
	}
	answered := make(chan reply, 1)
	begun := s.begin(func() {
		defer r.rest()
		start := time.Now()
		reply := s.answer(ctx, r, e)
		if !reply.silent {
			e.count(time.Since(start), reply.fault)
		}
		answered <- reply
	})
	if !begun {
		r.rest()
		return nil, fault(codeUnavailable, "shutting down; retry soon")
	}
	answer := <-answered
	if answer.silent {
		return s.shared.Forward(ctx, r.subject, q.Body)
	}
	return answer.body, answer.fault
}

// Status is the code as a number, which is also that of HTTP.
func (f *Fault) Status() int {
	n, err := strconv.Atoi(f.Code)
	if err != nil {
		panic("the codes of faults are broken: " + f.Code)
	}
	return n
}
