package llm

import (
	"context"
	"errors"
	"time"

	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/bulkhead"
	"github.com/failsafe-go/failsafe-go/circuitbreaker"
	"github.com/failsafe-go/failsafe-go/ratelimiter"
	"github.com/failsafe-go/failsafe-go/retrypolicy"
)

// endpoint is a provider with all that limits its use. All jobs share it.
type endpoint struct {
	name     string
	config   ProviderConfig
	host     string // as traces state it
	provider Provider
	purse    *purse
	breaker  circuitbreaker.CircuitBreaker[Reply]
	executor failsafe.Executor[Reply]
}

func newEndpoint(name string, c ProviderConfig, o Options) (*endpoint, error) {
	c = c.WithDefaults()
	provider, err := NewProvider(c, o.Now)
	if err != nil {
		return nil, err
	}
	e := &endpoint{
		name: name, config: c, host: c.host(), provider: provider,
		purse: &purse{provider: name, limit: c.BudgetMicroUSDPerDay, ledger: o.Ledger},
		breaker: circuitbreaker.NewBuilder[Reply]().
			HandleIf(func(_ Reply, err error) bool { return unhealthy(err) }).
			WithFailureThreshold(uint(o.BreakerOpensAt)).
			WithSuccessThreshold(1). // one call tries it
			WithDelay(o.BreakerDelay).Build(),
	}
	e.executor = failsafe.With[Reply](e.policies(o)...)
	return e, nil
}

// forever is a wait that only the context ends.
const forever = 24 * 365 * time.Hour

// policies, from the outside in: an attempt waits for its turn by rate, then for a free place, and asks
// the breaker last, when the call would go out. Between attempts it holds neither place nor turn.
func (e *endpoint) policies(o Options) []failsafe.Policy[Reply] {
	ps := []failsafe.Policy[Reply]{retrypolicy.NewBuilder[Reply]().
		WithMaxAttempts(e.config.MaxAttempts).
		AbortIf(func(_ Reply, err error) bool { return !worthRetrying(err, o.MaxRetryAfter) }).
		WithDelayFunc(func(x failsafe.ExecutionAttempt[Reply]) time.Duration {
			return o.Backoff.delay(x.Attempts(), askedToWait(x.LastError()), o.Random())
		}).
		ReturnLastFailure().Build()}
	if n := e.config.RequestsPerMinute; n > 0 {
		ps = append(ps, ratelimiter.NewSmoothBuilder[Reply](uint(n), time.Minute).WithMaxWaitTime(o.MaxQueue).Build())
	}
	places := bulkhead.NewBuilder[Reply](uint(e.config.MaxConcurrency)).WithMaxWaitTime(forever).Build()
	return append(ps, places, e.breaker)
}

func worthRetrying(err error, patience time.Duration) bool {
	var e *Error
	return errors.As(err, &e) && e.transient() && e.RetryAfter <= patience
}

func askedToWait(err error) time.Duration {
	var e *Error
	if errors.As(err, &e) {
		return e.RetryAfter
	}
	return 0
}

// do makes attempts until one succeeds or there is no use in another.
func (e *endpoint) do(ctx context.Context, attempt func(context.Context) (Reply, error)) (Reply, error) {
	if e.breaker.IsOpen() && e.breaker.RemainingDelay() > 0 {
		return Reply{}, circuitbreaker.ErrOpen // without waiting for a turn first
	}
	return e.executor.WithContext(ctx).Get(func() (Reply, error) { return attempt(ctx) })
}

// reasonOf names in one word why a rung did not hold.
func reasonOf(err error) string {
	var e *Error
	var refused Refusal
	switch {
	case errors.As(err, &e):
		return string(e.Kind)
	case errors.As(err, &refused):
		return string(refused)
	case errors.Is(err, circuitbreaker.ErrOpen):
		return "circuit_open"
	case errors.Is(err, ratelimiter.ErrExceeded):
		return "requests_per_minute"
	case errors.Is(err, errBudget):
		return "budget_exhausted"
	case errors.Is(err, errNoPrice):
		return "budget_without_price"
	case errors.Is(err, errNotPossible):
		return "no_room"
	}
	return err.Error()
}
