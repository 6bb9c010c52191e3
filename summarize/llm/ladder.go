package llm

import (
	"context"
	"fmt"
	"maps"
	"slices"
)

// Ladder runs jobs. It is safe for concurrent use, and starts no goroutine of its own.
type Ladder struct {
	options   Options
	endpoints map[string]*endpoint
}

// New makes a ladder over the providers. Errors wrap ErrProvider and name the one that can't be.
func New(o Options) (*Ladder, error) {
	o = o.WithDefaults()
	l := &Ladder{options: o, endpoints: map[string]*endpoint{}}
	for _, name := range slices.Sorted(maps.Keys(o.Providers)) {
		e, err := newEndpoint(name, o.Providers[name], o)
		if err != nil {
			l.Close()
			return nil, fmt.Errorf("provider %s: %w", name, err)
		}
		l.endpoints[name] = e
	}
	return l, nil
}

// Close lets go of idle connections. No job may be running.
func (l *Ladder) Close() {
	for _, e := range l.endpoints {
		e.provider.Close()
	}
}

// Run does a job. It blocks until there is an Outcome, which is at the latest when the context ends.
func (l *Ladder) Run(ctx context.Context, job Job) Outcome {
	r := newRun(l.options, job)
	for _, e := range l.rungs(job.Providers) {
		text, err := r.summarize(ctx, e)
		if err == nil {
			return r.adopted(e, text)
		}
		r.discard()
		if ctx.Err() != nil {
			return r.interrupted(ctx.Err())
		}
		if r.stopped != nil {
			return r.interrupted(r.stopped)
		}
		r.fell(e, err)
	}
	return r.withoutModel()
}

func (l *Ladder) rungs(names []string) []*endpoint {
	var out []*endpoint
	for _, name := range names {
		if e, ok := l.endpoints[name]; ok && !slices.Contains(out, e) {
			out = append(out, e)
		}
	}
	return out
}

// PriceTable names the prices that calls are costed by.
func (l *Ladder) PriceTable() string { return l.options.Prices.Name() }

// Mask takes secrets out of a text, as it is done with all that a job makes.
func (l *Ladder) Mask(text string) string { return l.options.Mask(text) }
