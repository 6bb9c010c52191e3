package llm

import (
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"precis/summarize/pricing"
)

// with gives the providers with one of them changed.
func with(name string, change func(*ProviderConfig)) map[string]ProviderConfig {
	all := bothProviders()
	c := all[name]
	change(&c)
	all[name] = c
	return all
}

// Five failures in a row open the breaker: jobs go on without the provider at once, until one call is let
// through after the delay, and closes it.
func TestCircuitBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := fails(500, "api_error", "", "down")
		s := newServer(map[string][]act{OpenAI: {down, down, down, down, down, says("back")}})
		l := serve(t, s, Options{})
		for i, want := range []struct {
			reason string
			calls  int
		}{
			{"openai: server_error (3 calls)", 3},
			{"openai: circuit_open (2 calls)", 2}, // it opens in the middle of this one
			{"openai: circuit_open", 0},
		} {
			o := l.Run(t.Context(), testJob(OpenAI))
			if o.FallbackReason != want.reason || len(o.Calls) != want.calls || o.Text != "by rules" {
				t.Fatalf("job %d: %q with %d calls (%s)", i, o.Text, len(o.Calls), o.FallbackReason)
			}
		}
		time.Sleep(30 * time.Second) //nolint:forbidigo // the bubble's clock
		for range 2 {
			if o := l.Run(t.Context(), testJob(OpenAI)); o.Text != "back" {
				t.Fatalf("after the delay: %q (%s)", o.Text, o.FallbackReason)
			}
		}
	})
}

// Requests that can't be answered say nothing against the provider.
func TestBadRequestsDontOpenTheBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := serve(t, newServer(map[string][]act{OpenAI: {fails(400, "invalid_request_error", "", "no")}}), Options{})
		for range 10 {
			if o := l.Run(t.Context(), testJob(OpenAI)); o.FallbackReason != "openai: bad_request" {
				t.Fatalf("%s", o.FallbackReason)
			}
		}
	})
}

// gauge answers after a second, and notes how many requests it ever had at once.
type gauge struct{ now, most atomic.Int64 }

func (g *gauge) act(w http.ResponseWriter, r *http.Request) {
	n := g.now.Add(1)
	for m := g.most.Load(); n > m && !g.most.CompareAndSwap(m, n); m = g.most.Load() {
	}
	time.Sleep(time.Second) //nolint:forbidigo // the bubble's clock
	g.now.Add(-1)
	says("summary")(w, r)
}

func TestMaxConcurrency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g gauge
		l := serve(t, newServer(map[string][]act{OpenAI: {g.act}}), Options{Providers: with(OpenAI, func(c *ProviderConfig) { c.MaxConcurrency = 3 })})
		start := time.Now()
		for _, o := range runAll(t, l, 10) {
			if o.Text != "summary" {
				t.Errorf("%q (%s)", o.Text, o.FallbackReason)
			}
		}
		if g.most.Load() != 3 || time.Since(start) != 4*time.Second {
			t.Fatalf("%d at once, %s in all", g.most.Load(), time.Since(start))
		}
	})
}

func runAll(t *testing.T, l *Ladder, n int) []Outcome {
	out := make([]Outcome, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { out[i] = l.Run(t.Context(), testJob(OpenAI)) })
	}
	wg.Wait()
	return out
}

// Ten requests a minute: evenly spread, and whoever would wait longer than the queue's limit goes on.
func TestRequestsPerMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(map[string][]act{OpenAI: {says("summary")}})
		l := serve(t, s, Options{
			MaxQueue:  20 * time.Second,
			Providers: with(OpenAI, func(c *ProviderConfig) { c.RequestsPerMinute, c.MaxConcurrency = 10, 100 }),
		})
		reasons := map[string]int{}
		for _, o := range runAll(t, l, 10) {
			reasons[o.FallbackReason]++
		}
		if reasons[""] != 4 || reasons["openai: requests_per_minute"] != 6 {
			t.Fatalf("%v", reasons)
		}
		for i := 1; i < len(s.requests); i++ {
			if gap := s.requests[i].at.Sub(s.requests[i-1].at); gap != 6*time.Second {
				t.Errorf("request %d came after %s", i, gap)
			}
		}
	})
}

// A job is estimated at 700 tokens in and 704 out at most: 280 + 1,127 micro-dollars. It costs 420.
func TestDailyBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ledger := &Spending{}
		ledger.Add(OpenAI, "2000-01-01", 5000-1407-420) // from before a restart
		s := newServer(map[string][]act{OpenAI: {says("summary")}})
		l := serve(t, s, Options{Ledger: ledger, Providers: with(OpenAI, func(c *ProviderConfig) { c.BudgetMicroUSDPerDay = 5000 })})
		for i, want := range []string{"", "", "openai: budget_exhausted", "openai: budget_exhausted"} {
			o := l.Run(t.Context(), testJob(OpenAI))
			if o.FallbackReason != want {
				t.Fatalf("job %d: %q", i, o.FallbackReason)
			}
		}
		if got := ledger.Spent(OpenAI, "2000-01-01"); got != 5000-1407+420 {
			t.Fatalf("spent %d", got)
		}
		time.Sleep(24 * time.Hour) //nolint:forbidigo // the bubble's clock
		if o := l.Run(t.Context(), testJob(OpenAI)); o.Text != "summary" || o.Calls[0].Day != "2000-01-02" {
			t.Fatalf("the next day: %q %v", o.Text, o.Calls)
		}
	})
}

// Calls in flight hold what they may cost: many at once don't pass the budget together.
func TestBudgetHoldsForCallsInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g gauge
		l := serve(t, newServer(map[string][]act{OpenAI: {g.act}}), Options{Providers: with(OpenAI, func(c *ProviderConfig) {
			c.BudgetMicroUSDPerDay, c.MaxConcurrency = 3*1407, 100
		})})
		adopted := 0
		for _, o := range runAll(t, l, 20) {
			if o.Text == "summary" {
				adopted++
			}
		}
		if adopted != 3 {
			t.Fatalf("%d calls within a budget for 3", adopted)
		}
	})
}

func TestPricesOfTheUnknown(t *testing.T) {
	noUsage := func(kind string) act {
		return func(w http.ResponseWriter, r *http.Request) {
			raw("application/json", `{"model":"","choices":[{"message":{"content":"summary"},"finish_reason":"stop"}]}`)(w, r)
		}
	}
	free, err := pricing.Builtin().With([]byte("prices: [{model: llama3, input: 0, output: 0}]"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		prices *pricing.Table
		budget int64
		reason string
		cost   *int64
	}{
		{"an unknown model costs null", nil, 0, "", nil},
		{"own prices make it free", free, 0, "", new(int64)},
		{"a budget without a price can't be kept", nil, 1000, "openai: budget_without_price", new(int64)},
		{"a free model is within any budget", free, 1, "", new(int64)},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer(map[string][]act{OpenAI: {noUsage(OpenAI)}})
				l := serve(t, s, Options{Prices: c.prices, Providers: with(OpenAI, func(p *ProviderConfig) { p.Model, p.BudgetMicroUSDPerDay = "llama3", c.budget })})
				o := l.Run(t.Context(), testJob(OpenAI))
				cost := o.Cost().AmountMicroUSD
				if o.FallbackReason != c.reason || (cost == nil) != (c.cost == nil) || (cost != nil && *cost != *c.cost) {
					t.Fatalf("%q, cost %v", o.FallbackReason, cost)
				}
				if c.reason == "" && (o.Calls[0].Usage != Usage{InputTokens: 700, OutputTokens: 350, Source: FromEstimate}) {
					t.Fatalf("usage %+v", o.Calls[0].Usage)
				}
			})
		})
	}
}

// TestPricedModelIsNamed: a call is of the model whose price it has, so that its cost can be told from its record.
func TestPricedModelIsNamed(t *testing.T) {
	prices, err := pricing.Builtin().With([]byte("prices: [{model: ours, input: 2, output: 2}, {model: theirs, input: 9, output: 9}]"))
	if err != nil {
		t.Fatal(err)
	}
	answer := `{"model":"theirs","choices":[{"message":{"content":"summary"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1000,"completion_tokens":1,"total_tokens":1001}}`
	for asked, want := range map[string]struct {
		model string
		cost  int64
	}{"ours": {"ours", 2002}, "alias": {"theirs", 9009}} {
		synctest.Test(t, func(t *testing.T) {
			s := newServer(map[string][]act{OpenAI: {raw("application/json", answer)}})
			l := serve(t, s, Options{Prices: prices, Providers: with(OpenAI, func(p *ProviderConfig) { p.Model = asked })})
			call := l.Run(t.Context(), testJob(OpenAI)).Calls[0]
			if call.Model != want.model || call.Cost == nil || *call.Cost != want.cost {
				t.Errorf("asked for %s: %+v", asked, call)
			}
		})
	}
}

func TestBackoff(t *testing.T) {
	b := Backoff{}.withDefaults()
	for _, c := range []struct {
		attempt int
		asked   time.Duration
		random  float64
		want    time.Duration
	}{
		{1, 0, 0, 250 * time.Millisecond}, {1, 0, 1, 500 * time.Millisecond}, {2, 0, 1, time.Second}, {3, 0, 0, time.Second},
		{9, 0, 1, 20 * time.Second}, {1000, 0, 1, 20 * time.Second}, {1, 7 * time.Second, 0, 7 * time.Second}, {9, time.Second, 0, 10 * time.Second},
	} {
		if got := b.delay(c.attempt, c.asked, c.random); got != c.want {
			t.Errorf("after attempt %d, asked for %s, random %g: %s, want %s", c.attempt, c.asked, c.random, got, c.want)
		}
	}
}

func TestNewRefusesWhatCantBe(t *testing.T) {
	for name, c := range map[string]ProviderConfig{
		"no model":  {Kind: OpenAI},
		"no kind":   {Model: "m"},
		"other":     {Kind: "gemini", Model: "m"},
		"no scheme": {Kind: OpenAI, Model: "m", BaseURL: "localhost:11434"},
		"no URL":    {Kind: Anthropic, Model: "m", BaseURL: "http://[::1"},
	} {
		if _, err := New(Options{Providers: map[string]ProviderConfig{"main": c}}); err == nil || !strings.Contains(err.Error(), "provider main") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
