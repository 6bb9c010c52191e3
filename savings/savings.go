package savings

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"

	"precis/internal/audit"
	"precis/internal/savings"
	"precis/internal/secrets"
	"precis/state"
	"precis/summarize/pricing"
)

// What a report says.
type (
	Report = audit.Savings
	Group  = savings.Group
	Sums   = savings.Sums
)

// What a report can group by.
const (
	ByThread = savings.ByThread
	ByAgent  = savings.ByAgent
	ByModel  = savings.ByModel
	ByPolicy = savings.ByPolicy
	ByDay    = savings.ByDay // of the answer, in UTC
)

// NoCache has turns priced as if providers cached nothing.
const NoCache = -1

// Options say what is counted and how it is priced.
type Options struct {
	// By is what the report groups by. Default ByThread.
	By string
	// Thread, Agent and Policy limit it to one thread, to the threads that an agent started, to turns under a policy.
	Thread, Agent, Policy string
	// From and To limit it to turns at or between times.
	From, To time.Time
	// Model prices the turns of threads whose messages name none.
	Model string
	// CacheFor is how long a provider's cache holds a prompt. Default 5 minutes; NoCache: not at all.
	CacheFor time.Duration
	// Prices are list prices. Default: the built-in table.
	Prices *pricing.Table
}

// Compute folds the log of a server and reports what summaries saved. The connection needs the rights of an auditor.
func Compute(ctx context.Context, nc *nats.Conn, o Options) (_ *Report, err error) {
	o.By = cmp.Or(o.By, ByThread)
	if !slices.Contains([]string{ByThread, ByAgent, ByModel, ByPolicy, ByDay}, o.By) {
		return nil, fmt.Errorf("compute savings: by %q: give thread, agent, model, policy or day", o.By)
	}
	if o.Prices == nil {
		o.Prices = pricing.Builtin()
	}
	if _, known := o.Prices.Lookup(time.Now(), o.Model); o.Model != "" && !known {
		return nil, fmt.Errorf("compute savings: no price is known for the model %q", o.Model)
	}
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, fmt.Errorf("compute savings: %w", err)
	}
	masker, err := secrets.Load()
	if err != nil {
		return nil, fmt.Errorf("compute savings: %w", err)
	}
	dir, err := os.MkdirTemp("", "precis-savings-")
	if err != nil {
		return nil, fmt.Errorf("compute savings: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	scratch, err := state.Open(dir, state.Options{Scratch: true, Logger: zerolog.Nop()})
	if err != nil {
		return nil, fmt.Errorf("compute savings: %w", err)
	}
	defer func() { err = errors.Join(err, scratch.Close()) }()
	report, err := audit.Save(ctx, audit.Options{
		JetStream: js, Scratch: scratch, Mask: masker.Mask, Workers: runtime.GOMAXPROCS(0), Now: time.Now, Logger: zerolog.Nop(),
		Filter:  audit.Filter{Thread: o.Thread, Agent: o.Agent, Policy: o.Policy, From: o.From, To: o.To},
		Savings: &savings.Options{Model: o.Model, CacheFor: max(0, cmp.Or(o.CacheFor, savings.DefaultCacheFor)), Prices: o.Prices},
	}, o.By)
	if err != nil {
		return nil, fmt.Errorf("compute savings: %w", err)
	}
	return report, nil
}
