package llm

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
)

// A call is reported when it has its place, behind the calls before it as they turned out.
func TestBegin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(map[string][]act{OpenAI: {fails(500, "api_error", "", "down"), says("summary")}})
		l := serve(t, s, Options{})
		job := testJob(OpenAI)
		var begun [][]Call
		job.Begin = func(_ context.Context, calls []Call) error {
			if len(s.requests) != len(begun) {
				t.Errorf("call %d is reported after %d requests", len(begun)+1, len(s.requests))
			}
			begun = append(begun, calls)
			return nil
		}
		if o := l.Run(t.Context(), job); o.Text != "summary" {
			t.Fatalf("%q (%s)", o.Text, o.FallbackReason)
		}
		if len(begun) != 2 || len(begun[1]) != 2 || begun[1][0].Outcome != CallFailed || begun[1][0].Billed {
			t.Fatalf("reported %+v", begun)
		}
		for i, calls := range begun {
			last := calls[i]
			if last.Attempt != i+1 || last.Outcome != CallUnknown || !last.Billed || last.Cost == nil ||
				last.Usage != (Usage{InputTokens: 700, Source: FromEstimate}) || *last.Cost != 280 {
				t.Errorf("call %d is reported as %+v", i+1, last)
			}
		}
	})
}

// Jobs that wait for a place have begun nothing.
func TestBeginWaitsForAPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		hangs := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
		l := serve(t, newServer(map[string][]act{OpenAI: {hangs}}), Options{Providers: with(OpenAI, func(c *ProviderConfig) { c.MaxConcurrency = 1 })})
		begun, ended := 0, make(chan Outcome)
		for range 10 {
			job := testJob(OpenAI)
			job.Begin = func(context.Context, []Call) error { begun++; return nil }
			go func() { ended <- l.Run(ctx, job) }()
		}
		synctest.Wait()
		if begun != 1 {
			t.Errorf("%d calls are begun, there is one place", begun)
		}
		stop()
		for range 10 {
			<-ended
		}
	})
}

// A call that may not begin is not made, costs nothing, and ends its job there.
func TestBeginRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(map[string][]act{OpenAI: {says("part")}})
		budget := int64(10_000)
		l := serve(t, s, Options{Providers: with(OpenAI, func(c *ProviderConfig) { c.BudgetMicroUSDPerDay = budget })})
		refused := errors.New("overtaken")
		job := testJob(OpenAI, Anthropic)
		job.MaxInputChars = len(source) / 2
		job.Begin = func(_ context.Context, calls []Call) error {
			if len(calls) < 2 {
				return nil
			}
			return refused
		}
		o := l.Run(t.Context(), job)
		if !errors.Is(o.Err, refused) || o.Text != "" || o.Failure != nil || len(s.requests) != 1 {
			t.Errorf("%d requests, %+v", len(s.requests), o)
		}
		if got := outcomes(o.Calls); !slices.Equal(got, []string{CallFailed}) {
			t.Errorf("calls %v", got)
		}
		if held := l.endpoints[OpenAI].purse.held; len(held) != 0 {
			t.Errorf("the budget still holds %v", held)
		}
	})
}

func outcomes(calls []Call) (list []string) {
	for _, c := range calls {
		list = append(list, c.Outcome)
	}
	return list
}
