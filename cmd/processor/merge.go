package main

import (
	"context"
)

// mergeRest reads what was there when the sources were opened, in the order of the server's clock; at one
// time, in the order of the sources: an event before the summary that it led to.
func mergeRest(ctx context.Context, sources []*source, visit func(entry) error) error {
	heads := make([]*entry, len(sources))
	for {
		first := -1
		for i, s := range sources {
			if heads[i] == nil {
				e, ok, err := s.before(ctx)
				if err != nil {
					return err
				}
				if ok {
					heads[i] = &e
				}
			}
			if heads[i] != nil && (first < 0 || heads[i].time.Before(heads[first].time)) {
				first = i
			}
		}
		if first < 0 {
			return nil
		}
		if err := visit(*heads[first]); err != nil {
			return err
		}
		heads[first] = nil
	}
}

// follow visits what arrives from now on, in the order of its arrival, until ctx ends or reading fails.
func follow(ctx context.Context, sources []*source, visit func(entry) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	arrivals := make(chan entry)
	done := make(chan struct{}, len(sources))
	for _, s := range sources {
		go func() {
			cancel(s.forward(ctx, arrivals))
			done <- struct{}{}
		}()
	}
	err := visitAll(ctx, arrivals, visit)
	cancel(err)
	for range sources {
		<-done
	}
	return err
}

func visitAll(ctx context.Context, arrivals <-chan entry, visit func(entry) error) error {
	for {
		select {
		case e := <-arrivals:
			if err := visit(e); err != nil {
				return err
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// forward reads until it fails.
func (s *source) forward(ctx context.Context, to chan<- entry) error {
	for {
		e, err := s.next(ctx)
		if err != nil {
			return err
		}
		select {
		case to <- e:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
