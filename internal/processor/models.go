package processor

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"

	"precis/internal/config"
	"precis/internal/fold"
	"precis/internal/jobs"
	"precis/internal/secrets"
	"precis/internal/tracing"
	"precis/summarize/llm"
)

// models sets up the ladder, with earlier spending, and the mask that everything published goes through.
func (p *Processor) models() error {
	masker, err := secrets.Load()
	if err != nil {
		return fmt.Errorf("load rules for secrets: %w", err)
	}
	p.masker.Store(masker)
	if err := p.know(p.opts.Config); err != nil {
		return err
	}
	if p.spending, err = p.spent(); err != nil {
		return err
	}
	runner, err := p.newRunner(p.opts.Config)
	if err != nil {
		return err
	}
	p.runners.use(runner)
	return nil
}

// know masks a configuration's secrets by their values from here on, along with those of earlier configurations.
func (p *Processor) know(c *config.Config) error {
	values, err := c.Secrets()
	if err != nil {
		return err
	}
	p.masker.Store(p.masker.Load().With(values...))
	return nil
}

// mask removes secrets from a text.
func (p *Processor) mask(text string) string { return p.masker.Load().Mask(text) }

// newRunner makes the ladder of a configuration. Spending carries over from one configuration to the next.
func (p *Processor) newRunner(c *config.Config) (*jobs.Runner, error) {
	prices, err := c.Pricing.Table()
	if err != nil {
		return nil, err
	}
	ladder, err := llm.New(llm.Options{
		Providers: p.ladderProviders(c), Prices: prices, Ledger: p.spending, Mask: p.mask, Now: p.opts.Now,
	})
	if err != nil {
		return nil, fmt.Errorf("set up providers: %w", err)
	}
	return &jobs.Runner{Ladder: ladder, Log: p.events, Summaries: p.summaries, Called: p.called}, nil
}

// called logs a call that failed: a record of it has only the code, which does not tell a wrong model from a wrong URL. What
// the provider says besides may repeat the request, so that only the debug level has it.
func (p *Processor) called(ctx context.Context, made llm.Made) {
	if made.Err == nil || ctx.Err() != nil {
		return
	}
	line := tracing.Log(ctx, p.log.Warn()).Str("provider", made.Provider).Str("model", made.Requested).Str("host", made.Host).Int("attempt", made.Attempt).Str("code", made.Why)
	if e, ok := errors.AsType[*llm.Error](made.Err); ok {
		line.Int("status", e.Status).Str("said", p.mask(e.Said))
	}
	line.Msg("call of a model failed")
	p.log.Debug().Err(errors.New(p.mask(made.Err.Error()))).Str("provider", made.Provider).Msg("what the provider says")
}

// spent restores the daily cost of each provider.
func (p *Processor) spent() (*llm.Spending, error) {
	spending := &llm.Spending{}
	for id := range p.opts.Config.Partitions {
		if err := p.store.View(id).Spent(spending.Add); err != nil {
			return nil, err
		}
	}
	return spending, nil
}

// ladderProviders are the configured providers that can be called. One without its key is skipped; a policy that needs
// it was refused when the configuration was read.
func (p *Processor) ladderProviders(c *config.Config) map[string]llm.ProviderConfig {
	providers := map[string]llm.ProviderConfig{}
	for name, with := range c.Providers {
		if with.APIKey == "" && with.APIKeyEnv != "" {
			continue
		}
		providers[name] = llm.ProviderConfig{
			Kind: with.Kind, BaseURL: with.BaseURL, Model: with.Model, APIKey: with.APIKey,
			Timeout: with.Timeout, MaxConcurrency: with.MaxConcurrency, MaxAttempts: with.MaxAttempts,
			RequestsPerMinute:    int(p.portion(int64(with.RequestsPerMinute))),
			BudgetMicroUSDPerDay: p.portion(int64(math.Round(with.BudgetUSDPerDay * 1e6))),
		}
	}
	return providers
}

// foldProviders is what config.applied says of the providers.
func foldProviders(c *config.Config) map[string]fold.Provider {
	providers := map[string]fold.Provider{}
	for name, p := range c.Providers {
		providers[name] = fold.Provider{Kind: p.Kind, Model: p.Model}
	}
	return providers
}

// runners provides the runner of the configuration in force. The runner of an earlier one is closed when no job uses
// it any more.
type runners struct {
	mu   sync.Mutex
	last *lent
	open int // those not closed yet
}

// lent is a runner and the number of its users.
type lent struct {
	*jobs.Runner
	users   int
	retired bool // replaced, or the processor ends
}

// use gives new jobs a runner; jobs under way keep theirs.
func (r *runners) use(next *jobs.Runner) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.retire()
	r.last = &lent{Runner: next}
	r.open++
}

// take returns the current runner; done releases it.
func (r *runners) take() (runner *jobs.Runner, done func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := r.last
	l.users++
	return l.Runner, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		l.users--
		r.release(l)
	}
}

// close retires the last runner; no job starts after that.
func (r *runners) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.retire()
}

func (r *runners) retire() {
	if r.last == nil || r.last.retired {
		return
	}
	r.last.retired = true
	r.release(r.last)
}

func (r *runners) release(l *lent) {
	if l.retired && l.users == 0 {
		l.Ladder.Close()
		r.open--
	}
}
