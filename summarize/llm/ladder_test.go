package llm

import (
	"context"
	"encoding/json"
	"math"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"precis/events"
)

// A line that a call's record must read: outcome, why, input/cached/output tokens, source, cost.
type line struct {
	provider, outcome, why string
	in, cached, out        int64
	source                 string
	cost                   int64
}

// What a good answer costs, by provider: 800×0.40+200×0.10+50×1.60 and 800×1+200×0.10+50×5 micro-dollars.
var goodCost = map[string]int64{OpenAI: 420, Anthropic: 1070}

func good(provider, outcome, why string) line {
	return line{provider, outcome, why, 1000, 200, 50, FromProvider, goodCost[provider]}
}

func free(provider, why string) line {
	return line{provider: provider, outcome: CallFailed, why: why}
}

// lost is a call whose answer may have been billed: the estimate counts what was sent (as 700 tokens here).
func lost(provider, why string) line {
	cost := map[string]int64{OpenAI: 280, Anthropic: 700}[provider]
	return line{provider: provider, outcome: CallUnknown, why: why, in: 700, source: FromEstimate, cost: cost}
}

var source = strings.Repeat("a line of the source that says little\n", 100)

func testJob(providers ...string) Job {
	return Job{
		Kind: events.KindToolResult, Category: "command_output", ToolName: "Bash", Content: source,
		MaxChars: 800, MaxInputChars: 50000, Providers: providers,
		Tokens:   func(string) int { return 350 }, // the system prompt and the user's message: 700
		Rules:    func(string) string { return "by rules" },
		Truncate: func(string) string { return "by truncation" },
	}
}

// ways are what the first provider does, and how it ends where the second is well.
var ways = []struct {
	name   string
	script []act
	reason string // empty: the first provider's text is adopted in the end
	calls  func(p string) []line
	waited time.Duration
}{
	{"answers", []act{says("summary")}, "", func(p string) []line { return []line{good(p, CallUsed, "")} }, 0},
	{"429 with seconds, then well", []act{fails(429, "rate_limit_error", "", "slow", "Retry-After", "7"), says("summary")}, "",
		func(p string) []line { return []line{free(p, "rate_limited"), good(p, CallUsed, "")} }, 7 * time.Second},
	{"429 with a date, then well", []act{later(429, 9), says("summary")}, "",
		func(p string) []line { return []line{free(p, "rate_limited"), good(p, CallUsed, "")} }, 9 * time.Second},
	{"429 with milliseconds, then well", []act{fails(429, "", "", "", "Retry-After-Ms", "2500", "Retry-After", "9"), says("summary")}, "",
		func(p string) []line { return []line{free(p, "rate_limited"), good(p, CallUsed, "")} }, 2500 * time.Millisecond},
	{"429 that asks for an hour", []act{fails(429, "rate_limit_error", "", "slow", "Retry-After", "3600")}, "rate_limited",
		func(p string) []line { return []line{free(p, "rate_limited")} }, 0},
	{"429 without end", []act{fails(429, "rate_limit_error", "", "slow")}, "rate_limited (3 calls)",
		func(p string) []line {
			return []line{free(p, "rate_limited"), free(p, "rate_limited"), free(p, "rate_limited")}
		}, 1500 * time.Millisecond},
	{"429 because the money is gone", []act{fails(429, "insufficient_quota", "insufficient_quota", "check your plan")}, "quota_exceeded",
		func(p string) []line { return []line{free(p, "quota_exceeded")} }, 0},
	{"500, then well", []act{fails(500, "api_error", "", "oops"), says("summary")}, "",
		func(p string) []line { return []line{free(p, "server_error"), good(p, CallUsed, "")} }, 500 * time.Millisecond},
	{"502 with a page of HTML", []act{func(w http.ResponseWriter, r *http.Request) { http.Error(w, "<html>bad gateway", 502) }, says("summary")}, "",
		func(p string) []line { return []line{free(p, "server_error"), good(p, CallUsed, "")} }, 500 * time.Millisecond},
	{"529 without end", []act{fails(529, "overloaded_error", "", "Overloaded")}, "overloaded (3 calls)",
		func(p string) []line {
			return []line{free(p, "overloaded"), free(p, "overloaded"), free(p, "overloaded")}
		}, 1500 * time.Millisecond},
	{"401", []act{fails(401, "authentication_error", "invalid_api_key", "no such key")}, "authentication",
		func(p string) []line { return []line{free(p, "authentication")} }, 0},
	{"400", []act{fails(400, "invalid_request_error", "", "no such model")}, "bad_request",
		func(p string) []line { return []line{free(p, "bad_request")} }, 0},
	{"a redirect to elsewhere", []act{func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://elsewhere.test"+r.URL.Path, 307)
	}, says("from elsewhere")}, "bad_request",
		func(p string) []line { return []line{free(p, "bad_request")} }, 0},
	{"no answer in time", []act{sleeps}, "timeout (3 calls)",
		func(p string) []line { return []line{lost(p, "timeout"), lost(p, "timeout"), lost(p, "timeout")} }, 91500 * time.Millisecond},
	{"the connection breaks in the middle, then well", []act{breaksOff, says("summary")}, "",
		func(p string) []line { return []line{lost(p, "connection"), good(p, CallUsed, "")} }, 500 * time.Millisecond},
	{"broken JSON, then well", []act{raw("application/json", `{"id": "x", "choices": [}`), says("summary")}, "",
		func(p string) []line { return []line{lost(p, "malformed_answer"), good(p, CallUsed, "")} }, 500 * time.Millisecond},
	{"HTML with status 200", []act{raw("text/html", "<html>log in to the hotel's network"), says("summary")}, "",
		func(p string) []line { return []line{lost(p, "malformed_answer"), good(p, CallUsed, "")} }, 500 * time.Millisecond},
	{"null, then well", []act{raw("application/json", "null"), says("summary")}, "",
		func(p string) []line { return []line{lost(p, "malformed_answer"), good(p, CallUsed, "")} }, 500 * time.Millisecond},
	{"an answer without end", []act{endless, says("summary")}, "",
		func(p string) []line { return []line{lost(p, "malformed_answer"), good(p, CallUsed, "")} }, 500 * time.Millisecond},
	{"cut off by length", []act{answers("half a summ", FinishLength)}, "cut_off",
		func(p string) []line { return []line{good(p, CallRefused, "cut_off")} }, 0},
	{"empty", []act{says("")}, "empty",
		func(p string) []line { return []line{good(p, CallRefused, "empty")} }, 0},
	{"blank", []act{says(" \n\t ")}, "empty",
		func(p string) []line { return []line{good(p, CallRefused, "empty")} }, 0},
	{"a refusal", []act{answers("I can't help with that", FinishRefusal)}, "refused_by_model",
		func(p string) []line { return []line{good(p, CallRefused, "refused_by_model")} }, 0},
	{"an end of another kind", []act{answers("calling a tool", FinishOther)}, "no_proper_end",
		func(p string) []line { return []line{good(p, CallRefused, "no_proper_end")} }, 0},
	{"longer than the budget", []act{says(strings.Repeat("long ", 200))}, "over_budget",
		func(p string) []line { return []line{good(p, CallRefused, "over_budget")} }, 0},
	{"longer than the source", []act{says(source + "and more")}, "not_shorter_than_source",
		func(p string) []line { return []line{good(p, CallRefused, "not_shorter_than_source")} }, 0},
}

func TestEveryMisbehaviourEndsOnTheRightRung(t *testing.T) {
	for _, pair := range [][2]string{{OpenAI, Anthropic}, {Anthropic, OpenAI}} {
		first, second := pair[0], pair[1]
		for _, way := range ways {
			t.Run(first+"/"+way.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := newServer(map[string][]act{first: way.script, second: {says("second")}})
					l := serve(t, s, Options{})
					start := time.Now()
					o := l.Run(t.Context(), testJob(first, second))

					want := Outcome{Text: "summary", Method: events.MethodLLM, Provider: first}
					calls := way.calls(first)
					if way.reason != "" {
						want = Outcome{Text: "second", Method: events.MethodLLM, Provider: second, FallbackReason: first + ": " + way.reason}
						calls = append(calls, good(second, CallUsed, ""))
					}
					sameOutcome(t, o, want)
					sameCalls(t, o, calls)
					if waited := time.Since(start); waited != way.waited {
						t.Errorf("waited %s, want %s", waited, way.waited)
					}
				})
			})
		}
	}
}

// The same, where no model is left: rules serve, or the job fails where the policy says so.
func TestWithoutAnyModel(t *testing.T) {
	for _, way := range ways {
		if way.reason == "" {
			continue
		}
		t.Run(way.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := serve(t, newServer(map[string][]act{OpenAI: way.script}), Options{})
				o := l.Run(t.Context(), testJob(OpenAI))
				sameOutcome(t, o, Outcome{Text: "by rules", Method: events.MethodRules, FallbackReason: "openai: " + way.reason})
				sameCalls(t, o, way.calls(OpenAI))
			})
		})
	}
}

func TestLowerRungs(t *testing.T) {
	nothing := func(string) string { return "" }
	tooLong := func(c string) string { return c }
	for _, c := range []struct {
		name  string
		job   func(*Job)
		want  Outcome
		code  string
		empty bool
	}{
		{"rules", func(*Job) {}, Outcome{Text: "by rules", Method: events.MethodRules, FallbackReason: "openai: empty"}, "", false},
		{"truncation where rules give nothing", func(j *Job) { j.Rules = nothing },
			Outcome{Text: "by truncation", Method: events.MethodTruncation, FallbackReason: "openai: empty; rules: no room"}, "", false},
		{"truncation where rules give too much", func(j *Job) { j.Rules = tooLong },
			Outcome{Text: "by truncation", Method: events.MethodTruncation, FallbackReason: "openai: empty; rules: no room"}, "", false},
		{"nothing at all", func(j *Job) { j.Rules, j.Truncate = nil, tooLong }, Outcome{}, "no_room", false},
		{"the policy says fail", func(j *Job) { j.FailWithoutModel = true }, Outcome{}, "empty", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := serve(t, newServer(map[string][]act{OpenAI: {says("")}}), Options{})
				job := testJob(OpenAI)
				c.job(&job)
				o := l.Run(t.Context(), job)
				sameOutcome(t, o, c.want)
				sameCalls(t, o, []line{good(OpenAI, CallRefused, "empty")})
				if code := failureCode(o); code != c.code {
					t.Errorf("failure %q, want %q", code, c.code)
				}
			})
		})
	}
}

func TestNoProvider(t *testing.T) {
	l := serve(t, newServer(nil), Options{})
	o := l.Run(t.Context(), testJob("nobody"))
	sameOutcome(t, o, Outcome{Text: "by rules", Method: events.MethodRules, FallbackReason: "no provider"})
}

// A context that ends in the middle of a call ends the job with what was paid so far, on no other rung.
func TestTheCallerEndsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := serve(t, newServer(map[string][]act{OpenAI: {sleeps}, Anthropic: {says("second")}}), Options{})
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		o := l.Run(ctx, testJob(OpenAI, Anthropic))
		if o.Err == nil || o.Text != "" || o.Failure != nil {
			t.Fatalf("outcome %+v", o)
		}
		sameCalls(t, o, []line{lost(OpenAI, "timeout")})
	})
}

func sameOutcome(t *testing.T, got, want Outcome) {
	t.Helper()
	if got.Text != want.Text || got.Method != want.Method || got.Provider != want.Provider || got.FallbackReason != want.FallbackReason {
		t.Errorf("got  %q by %q %q (%s)\nwant %q by %q %q (%s)",
			got.Text, got.Method, got.Provider, got.FallbackReason, want.Text, want.Method, want.Provider, want.FallbackReason)
	}
	if want.Provider != "" && got.Model != bothProviders()[want.Provider].Model {
		t.Errorf("model %q", got.Model)
	}
}

// sameCalls holds every call's record against a line, and the sums against the calls.
func sameCalls(t *testing.T, o Outcome, want []line) {
	t.Helper()
	var got []line
	var in, cost int64
	for i, c := range o.Calls {
		if c.Attempt != i+1 {
			t.Errorf("call %d is attempt %d", i+1, c.Attempt)
		}
		if c.Billed != (c.Outcome != CallFailed || c.Usage.known()) {
			t.Errorf("call %d (%s): billed %t", i+1, c.Outcome, c.Billed)
		}
		price := int64(-1)
		if c.Cost != nil {
			price = *c.Cost
		}
		got = append(got, line{c.Provider, c.Outcome, c.Why, c.Usage.InputTokens, c.Usage.CachedInputTokens, c.Usage.OutputTokens, c.Usage.Source, price})
		in, cost = in+c.Usage.InputTokens, cost+price
	}
	if len(got) != len(want) {
		t.Fatalf("%d calls, want %d:\n%v", len(got), len(want), got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("call %d\ngot  %v\nwant %v", i+1, got[i], want[i])
		}
	}
	if sum := o.Usage(); sum.InputTokens != in || sum.Attempts != len(want) {
		t.Errorf("usage %+v, want %d input tokens in %d calls", sum, in, len(want))
	}
	if sum := o.Cost().AmountMicroUSD; sum == nil || *sum != cost {
		t.Errorf("cost %v, want %d", sum, cost)
	}
}

func failureCode(o Outcome) string {
	if o.Failure == nil {
		return ""
	}
	return o.Failure.Code
}

// Counts that can't be are no counts: an estimate stands in their place, so that nothing that sums or prices them
// goes wrong. What is counted as a part of the input is never more than the input.
func TestUsageThatCantBe(t *testing.T) {
	estimated := events.Usage{InputTokens: 700, OutputTokens: 350, Attempts: 1, Source: events.OrNull(FromEstimate)}
	for _, c := range []struct {
		kind  string
		usage object
		want  events.Usage
	}{
		{OpenAI, object{"prompt_tokens": -1, "completion_tokens": 2}, estimated},
		{OpenAI, object{"prompt_tokens": 5, "completion_tokens": -1}, estimated},
		{OpenAI, object{"prompt_tokens": int64(1)<<53 + 1, "completion_tokens": 2}, estimated},
		{OpenAI, object{"prompt_tokens": 5, "completion_tokens": 2, "prompt_tokens_details": object{"cached_tokens": -5}}, estimated},
		{OpenAI, object{"prompt_tokens": 10, "completion_tokens": 2, "prompt_tokens_details": object{"cached_tokens": 50}},
			events.Usage{InputTokens: 10, OutputTokens: 2, CachedInputTokens: 10, Attempts: 1, Source: events.OrNull(FromProvider)}},
		{Anthropic, object{"input_tokens": -1, "output_tokens": 2}, estimated},
		{Anthropic, object{"input_tokens": 1e308, "output_tokens": 2}, estimated},
		{Anthropic, object{"input_tokens": 5, "output_tokens": 2, "cache_creation_input_tokens": -50}, estimated},
		{Anthropic, object{"input_tokens": int64(1) << 62, "cache_read_input_tokens": int64(1) << 62, "output_tokens": 2}, estimated},
		{Anthropic, object{"input_tokens": int64(math.MaxInt64), "cache_read_input_tokens": int64(math.MaxInt64), "cache_creation_input_tokens": 10}, estimated},
	} {
		synctest.Test(t, func(t *testing.T) {
			answer := func(w http.ResponseWriter, r *http.Request) {
				body := answerFor(c.kind, "summary", FinishStop)
				body["usage"] = c.usage
				w.Header().Set("Content-Type", "application/json")
				_ = json.NewEncoder(w).Encode(body)
			}
			l := serve(t, newServer(map[string][]act{c.kind: {answer}}), Options{})
			o := l.Run(t.Context(), testJob(c.kind))
			if got := o.Usage(); o.Text != "summary" || got != c.want {
				t.Errorf("%s %v: %q, %+v, want %+v", c.kind, c.usage, o.Text, got, c.want)
			}
		})
	}
}
