package processor

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"precis/internal/broker"
	"precis/internal/config"
	"precis/internal/fold"
)

// Reload puts another configuration in force while the processor runs: policies, limits, prompts, prices and
// providers. Keys that can't change at run time keep their values, and are logged. An unusable configuration changes
// nothing.
func (p *Processor) Reload(ctx context.Context, c *config.Config) error {
	fixed := p.keepFixed(c)
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

// keepFixed returns c with the current values of the keys that can't change while a processor runs.
func (p *Processor) keepFixed(c *config.Config) *config.Config {
	now, next := p.config.Load(), *c
	var named []string
	for _, f := range []struct {
		key       string
		was, want any
		keep      func()
	}{
		{"nats", now.NATS, c.NATS, func() { next.NATS = now.NATS }},
		{"data_dir", now.DataDir, c.DataDir, func() { next.DataDir = now.DataDir }},
		{"http", now.HTTP, c.HTTP, func() { next.HTTP = now.HTTP }},
		{"api", now.API, c.API, func() { next.API = now.API }},
		{"ui", now.UI, c.UI, func() { next.UI = now.UI }},
		{"gateway", now.Gateway, c.Gateway, func() { next.Gateway = now.Gateway }},
		{"partitions", now.Partitions, c.Partitions, func() { next.Partitions = now.Partitions }},
		{"cluster", now.Cluster, c.Cluster, func() { next.Cluster = now.Cluster }},
		{"retention", now.Retention, c.Retention, func() { next.Retention = now.Retention }},
	} {
		if !reflect.DeepEqual(f.was, f.want) {
			named = append(named, f.key)
			f.keep()
		}
	}
	if len(named) > 0 {
		p.log.Warn().Str("keys", strings.Join(named, ", ")).Msg("these keys change with a restart alone, and stay as they are")
	}
	return &next
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
		outcome := "done"
		if err != nil {
			outcome = "refused"
			p.log.Error().Err(err).Msg("configuration not reloaded, the old one stays in force")
		}
		p.metrics.reloads.WithLabelValues(outcome).Inc()
	}
}
