package rest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"precis/api"
	"precis/events"
)

const (
	// maxEvents bounds the events of one request.
	maxEvents = 1000
	// maxDrained bounds what is read of a body that is too large, so that its client reads the answer.
	maxDrained = 64 << 20
)

// body reads a request's body. release gives its memory back.
func (s *Server) body(w http.ResponseWriter, r *asking) (body []byte, release func(), err error) {
	if enc := r.Header.Get("Content-Encoding"); enc != "" && enc != "identity" {
		w.Header().Set("Accept-Encoding", "identity")
		return nil, nil, wrong(http.StatusUnsupportedMediaType, "send the body as it is, without Content-Encoding")
	}
	if r.ContentLength != 0 {
		if t, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || t != "application/json" {
			return nil, nil, wrong(http.StatusUnsupportedMediaType, "send JSON, with Content-Type: application/json")
		}
	}
	limit := int64(s.opts.BodyBytes)
	size := r.ContentLength
	if size < 0 {
		size = limit
	}
	tooLarge := wrong(http.StatusRequestEntityTooLarge, fmt.Sprintf("a body has at most %d bytes (api.body_bytes): send fewer events at a time", limit))
	if size > limit {
		_, _ = io.CopyN(io.Discard, r.Body, maxDrained)
		return nil, nil, tooLarge
	}
	if release = s.bodies.enter(r.who.name, int(size)); release == nil {
		return nil, nil, wrong(http.StatusServiceUnavailable, "too many bodies at once; retry soon")
	}
	body, err = io.ReadAll(io.LimitReader(r.Body, limit+1))
	switch {
	case err != nil:
		err = wrong(http.StatusRequestTimeout, "the body did not arrive whole")
	case int64(len(body)) > limit:
		_, _ = io.CopyN(io.Discard, r.Body, maxDrained)
		err = tooLarge
	default:
		return body, release, nil
	}
	release()
	return nil, nil, err
}

// publish stores one event, or a list of them, or says which can't be accepted: then it stores none.
func (s *Server) publish(w http.ResponseWriter, r *asking) error {
	body, release, err := s.body(w, r)
	if err != nil {
		return err
	}
	defer release()
	list, err := s.check(r, body)
	if err != nil {
		return err
	}
	reply, err := s.store(r.Context(), r.thread, list)
	if err != nil {
		return err
	}
	return s.respondJSON(w, reply)
}

// check reads the events of a body and holds them against what the processor accepts whatever came before.
func (s *Server) check(r *asking, body []byte) ([]events.FileEvent, error) {
	values, err := split(body)
	if err != nil {
		return nil, err
	}
	var list []events.FileEvent
	var refused []api.RefusedEvent
	for i, value := range values {
		e, err := s.checkOne(r, value)
		var reject *events.RejectError
		var whole *problem
		switch {
		case errors.As(err, &whole) && len(values) > 1:
			whole.Detail = fmt.Sprintf("event %d of the list: %s", i, whole.Detail)
			return nil, whole
		case errors.As(err, &reject):
			refused = append(refused, refusal(i, reject))
		case err != nil:
			return nil, err
		}
		list = append(list, e)
	}
	if len(refused) > 0 {
		p := wrong(http.StatusUnprocessableEntity, "these events can't be accepted, and none of the request is stored: mend them, or leave them out")
		p.Rejections = refused
		return nil, p
	}
	return list, nil
}

// split returns the events of a body.
func split(body []byte) ([]jsontext.Value, error) {
	kind := jsontext.Value(body).Kind()
	if kind == jsontext.KindBeginObject {
		return []jsontext.Value{body}, nil
	}
	var values []jsontext.Value
	if kind != jsontext.KindBeginArray || json.Unmarshal(body, &values, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) != nil {
		return nil, wrong(http.StatusBadRequest, "the body must be an event (a JSON object with a type), or a list of them")
	}
	if len(values) == 0 || len(values) > maxEvents {
		return nil, wrong(http.StatusBadRequest, fmt.Sprintf("a request has 1 to %d events, not %d", maxEvents, len(values)))
	}
	return values, nil
}

func (s *Server) checkOne(r *asking, value jsontext.Value) (e events.FileEvent, err error) {
	if e, err = events.ParseLine(value); err != nil {
		if errors.Is(err, events.ErrType) {
			err = &events.RejectError{Code: events.CodeSchema, Field: "type", Message: "must be thread.message, tool.result, message.edited or thread.forked"}
		}
		return e, err
	}
	if !e.Type.Incoming() {
		return e, &events.RejectError{Code: events.CodeSchema, Field: "type", Message: "is published by the processor alone"}
	}
	subject, err := events.Subject(e.Type, r.thread)
	if err != nil {
		return e, wrong(http.StatusBadRequest, err.Error())
	}
	decoded, reject := events.Decode(events.Raw{Subject: subject, Body: e.Data}, events.Limits{EventBytes: s.opts.EventBytes()})
	if reject != nil {
		return e, reject
	}
	// A fork reads its parent, and a parent's prompts name their children.
	for _, parent := range parents(&decoded) {
		if parent != "" && !r.who.covers(parent) {
			return e, outside(r.who, parent)
		}
	}
	return e, nil
}

func parents(e *events.Event) []string {
	switch {
	case e.Fork != nil:
		return []string{e.Fork.ParentThreadID}
	case e.Message != nil:
		return []string{e.Message.ParentThreadID}
	}
	return nil
}

// store publishes events and returns when the server has stored all of them.
func (s *Server) store(ctx context.Context, thread string, list []events.FileEvent) (api.EventsReply, error) {
	ctx, cancel := context.WithTimeout(ctx, s.opts.Wait)
	defer cancel()
	var receipts []*events.Receipt
	var failed error
	for _, e := range list {
		receipt, err := s.publisher.Publish(ctx, e.Type, thread, e.Data)
		if err != nil {
			failed = err
			break
		}
		receipts = append(receipts, receipt)
	}
	reply := api.EventsReply{EventSeqs: []uint64{}}
	for _, receipt := range receipts {
		seq, err := receipt.Wait(ctx)
		if err != nil {
			failed = err
			break
		}
		reply.EventSeqs, reply.EventSeq = append(reply.EventSeqs, seq), max(reply.EventSeq, seq)
	}
	if failed != nil {
		return reply, s.unstored(failed, len(reply.EventSeqs), len(list))
	}
	return reply, nil
}

// unstored says that events may not be stored.
func (s *Server) unstored(err error, stored, of int) *problem {
	s.opts.Logger.Warn().Err(err).Int("stored", stored).Int("of", of).Msg("events not confirmed")
	detail := fmt.Sprintf("%d of %d events are confirmed as stored; the others may be, or come to be: send the same request again, what is there counts once", stored, of)
	switch {
	case errors.Is(err, events.ErrTooLarge):
		return wrong(http.StatusRequestEntityTooLarge, fmt.Sprintf("event %d is larger than the server's max_payload; %s", stored, detail))
	case errors.Is(err, events.ErrRefused):
		return wrong(http.StatusServiceUnavailable, fmt.Sprintf("the server refuses event %d (is its store full?); %s", stored, detail))
	default:
		return wrong(http.StatusServiceUnavailable, detail)
	}
}

func refusal(index int, reject *events.RejectError) api.RefusedEvent {
	r := api.RefusedEvent{Index: index, Code: reject.Code, Message: reject.Message}
	if reject.Field != "" {
		r.Field = &reject.Field
	}
	return r
}
