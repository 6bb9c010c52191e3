package service

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// places answers for one partition as its cluster says, one look after the other.
type places struct {
	Shared
	next   []Place
	silent bool
}

func (p *places) Place(int) Place {
	now := p.next[0]
	if len(p.next) > 1 {
		p.next = p.next[1:]
	}
	return now
}

func (p *places) Silent(int, time.Time) bool { return p.silent }

// A request is left to another processor only if that one had the partition when the request came: each processor receives a request once.
func TestArrive(t *testing.T) {
	for name, c := range map[string]struct {
		waited bool
		places []Place
		want   error
	}{
		"here":             {places: []Place{Here}},
		"another's":        {places: []Place{Elsewhere}, want: errSilent},
		"it comes":         {places: []Place{Moving, Moving, Here}},
		"it goes":          {places: []Place{Moving, Elsewhere}, want: errMoved},
		"it was another's": {waited: true, places: []Place{Here}},
		"the next owner planned is a dead one too": {waited: true, places: []Place{Elsewhere}, want: errMoved},
	} {
		t.Run(name, func(t *testing.T) {
			s := &Service{shared: &places{next: c.places}}
			if err := s.arrive(t.Context(), &request{waited: c.waited, slots: make(chan struct{}, 1)}, 1); !errors.Is(err, c.want) {
				t.Errorf("%v, want %v", err, c.want)
			}
		})
	}
}

// A request that another processor has to answer is given up as soon as that one is known to live, and never left without any answer because that
// one's silence lasts.
func TestOutlives(t *testing.T) {
	for name, c := range map[string]struct {
		places places
		want   error
		code   string
	}{
		"it lives":            {places: places{next: []Place{Elsewhere}}, want: errSilent},
		"it is dead":          {places: places{next: []Place{Elsewhere, Elsewhere, Moving}, silent: true}},
		"its silence lasts":   {places: places{next: []Place{Elsewhere}, silent: true}, code: codeUnavailable},
		"it has it no more":   {places: places{next: []Place{Moving}}},
		"this one has it now": {places: places{next: []Place{Here}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &Service{shared: &c.places}
			err := s.outlives(context.Background(), 1, time.Now())
			var f *Fault
			if c.code != "" && (!errors.As(err, &f) || f.Code != c.code) || c.code == "" && !errors.Is(err, c.want) {
				t.Errorf("%v", err)
			}
			if s.kept.Load() != 0 {
				t.Error("it is still counted as kept")
			}
		})
	}
}

// What was read of a partition that this processor no longer has is no answer; why there is none stays as it is.
func TestStill(t *testing.T) {
	s := &Service{shared: &places{next: []Place{Moving}}}
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"an answer":   {nil, "has moved"},
		"not found":   {fault(codeNotFound, "no thread"), "has moved"},
		"unavailable": {fault(codeUnavailable, "moves from one processor to another"), "moves from"},
	} {
		e := &endpoint{answer: func(context.Context, *request) (any, error) { return struct{}{}, c.err }}
		if got := s.answer(t.Context(), &request{partition: 1, max: 100}, e); got.fault == nil || got.fault.Code != codeUnavailable || !strings.Contains(got.fault.Message, c.want) {
			t.Errorf("%s: %+v", name, got.fault)
		}
	}
}
