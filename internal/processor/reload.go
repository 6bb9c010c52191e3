package processor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	"precis/internal/broker"
	"precis/internal/config"
	"precis/internal/fold"
)

// Reload puts another configuration in force while the processor runs: policies, limits, prompts, prices and
// providers. Keys that can't change at run time keep their values, and are logged. An unusable configuration changes
// nothing.
func (p *Processor) Reload(ctx context.Context, c *config.Config) error {
	fixed, waiting := p.keepFixed(c)
	next, err := FoldConfig(fixed, p.opts.Version)
	if err != nil {
		return fmt.Errorf("reload configuration: %w", err)
	}
	log, err := broker.StateOf(ctx, p.broker.JetStream(), broker.StreamEvents)
	if err != nil {
		return fmt.Errorf("reload configuration: %w", err)
	}
	next.Retention = log.MaxAge // the stream's current setting
	if err := p.know(fixed); err != nil {
		return fmt.Errorf("reload configuration: %w", err)
	}
	runner, err := p.newRunner(fixed)
	if err != nil {
		return fmt.Errorf("reload configuration: %w", err)
	}
	p.runners.use(runner)
	p.config.Store(fixed)
	p.waiting.Store(&waiting)
	p.folds.Store(next)
	p.threads.Forget() // other policies may serve them
	since := p.opts.Now()
	for _, part := range p.parts() {
		if err := part.call(ctx, func() error { return part.reconfigure(next, since) }); err != nil {
			return fmt.Errorf("reload configuration in partition %d: %w", part.id, err)
		}
	}
	p.log.Info().Int("policies", len(fixed.Policies)).Msg("configuration reloaded")
	return nil
}

// reconfigure puts a configuration in force after the last event, or once a recovery is over.
func (p *partition) reconfigure(c *fold.Config, since time.Time) error {
	p.config, p.since, p.configured = c, since, false
	return p.configure(p.last)
}

// fixedKeys are the keys, with all below them, that can't change while a processor runs.
var fixedKeys = []string{"nats", "data_dir", "http", "api", "ui", "gateway", "partitions", "cluster", "retention", "parking"}

// keepFixed returns c with the current values of the keys that can't change while a processor runs, and which keys differ.
func (p *Processor) keepFixed(c *config.Config) (fixed *config.Config, waiting []string) {
	fixed, waiting = c.Keeping(p.config.Load(), fixedKeys)
	if len(waiting) > 0 {
		p.log.Warn().Str("keys", strings.Join(waiting, ", ")).Msg("these keys change with a restart alone, and stay as they are")
	}
	return fixed, waiting
}

// refusal is why a reload was refused, and when.
type refusal struct {
	at   time.Time
	text string
}

// mostRefusal is how many characters are kept of why a configuration was refused, and mostProbed how many a probe shows: a file may have
// thousands of errors.
const mostRefusal, mostProbed = 4000, 300

// refusal is why the last reload was refused, and when; empty: it was not.
func (p *Processor) refusal() (text string, at time.Time) {
	if last := p.misread.Load(); last != nil {
		return last.text, last.at
	}
	return "", time.Time{}
}

// onOneLine makes a text one line of n characters at most, which a terminal shows as they are.
func onOneLine(text string, n int) string {
	return shortened(strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, strings.Join(strings.Fields(text), " ")), n)
}

// shortened cuts a text to n characters.
func shortened(text string, n int) string {
	if r := []rune(text); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return text
}

// noteReload notes how a reload went, for probes, metrics and pages.
func (p *Processor) noteReload(err error) {
	outcome := "done"
	if err != nil {
		outcome = "refused"
		p.log.Error().Err(err).Msg("configuration not reloaded, the old one stays in force")
		p.misread.Store(&refusal{at: p.opts.Now(), text: shortened(p.mask(err.Error()), mostRefusal)})
		p.metrics.badReload.Set(1)
	} else {
		p.misread.Store(nil)
		p.metrics.badReload.Set(0)
	}
	p.metrics.reloads.WithLabelValues(outcome).Inc() // last: who waits for it sees the rest
}

// reloads reads the configuration again at every signal, until ctx ends. A refused one leaves the old one in force.
func (p *Processor) reloads(ctx context.Context) {
	for {
		select {
		case <-p.opts.Reload:
		case <-ctx.Done():
			return
		}
		c, err := p.opts.Load()
		if err == nil {
			err = p.Reload(ctx, c)
		}
		err = errors.Join(err, p.reloadAPI()) // a token that is to go goes, whatever else is wrong
		p.noteReload(err)
	}
}
