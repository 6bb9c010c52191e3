package service

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
)

// answerer answers one request; token is the subject's last token.
type answerer func(ctx context.Context, token string, body []byte) (any, error)

// reply is an answer's body, or why there is none.
type reply struct {
	body  []byte
	fault *Fault
}

// handler answers each request in a goroutine of its own: one that waits for its own writes must not hold
// up the rest. What is quick is sent before the handler returns, since micro counts errors and time only
// until then, and nobody may touch its request later; what takes longer is sent past it.
func (s *Service) handler(running context.Context, answer answerer) micro.Handler {
	return micro.HandlerFunc(func(req micro.Request) {
		select {
		case s.slots <- struct{}{}:
		case <-running.Done():
			return
		}
		quick, late, wait := make(chan reply), make(chan struct{}), grace
		if len(s.slots) > 1 {
			wait = graceAmong // where one takes long, others wait behind this one: they must not add up
		}
		s.wg.Go(func() {
			defer func() { <-s.slots }()
			ctx, cancel := context.WithTimeout(running, requestTimeout)
			defer cancel()
			r := s.answer(ctx, req.Subject(), req.Data(), answer)
			select {
			case quick <- r:
			case <-late:
				s.sendLate(req.Reply(), r)
			}
		})
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case r := <-quick:
			s.send(req, r)
		case <-timer.C:
			close(late)
		}
	})
}

func (s *Service) answer(ctx context.Context, subject string, body []byte, answer answerer) reply {
	out, err := answer(ctx, subject[strings.LastIndexByte(subject, '.')+1:], body)
	if err == nil {
		body, err = s.encode(out)
	}
	if err == nil {
		return reply{body: body}
	}
	fault := asFault(err)
	if fault.Code == codeInternal {
		s.log.Error().Err(err).Str("subject", subject).Msg("request failed")
	}
	return reply{fault: fault}
}

func (s *Service) encode(out any) ([]byte, error) {
	body, err := json.Marshal(out, json.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("encode answer: %w", err)
	}
	if len(body) > s.max {
		return nil, fault(codeTooLarge, "the answer has %d bytes, the server allows %d: ask for part of it", len(body), s.max)
	}
	return body, nil
}

func (s *Service) send(req micro.Request, r reply) {
	if r.fault != nil {
		s.unsent(req.Error(r.fault.Code, r.fault.Message, nil))
		return
	}
	s.unsent(req.Respond(r.body))
}

func (s *Service) sendLate(to string, r reply) {
	m := &nats.Msg{Subject: to, Data: r.body}
	if r.fault != nil {
		m.Header = nats.Header{micro.ErrorCodeHeader: {r.fault.Code}, micro.ErrorHeader: {r.fault.Message}}
	}
	s.unsent(s.conn.PublishMsg(m))
}

func (s *Service) unsent(err error) {
	if err != nil {
		s.log.Warn().Err(err).Msg("answer not sent")
	}
}
