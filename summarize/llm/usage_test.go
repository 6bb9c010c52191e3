package llm

import (
	"strings"
	"testing"
	"testing/synctest"

	"precis/summarize/pricing"
)

// Usage that a provider reports is what is recorded, also where the answer has no choice or the counts are fractions;
// such an answer is not asked for again.
func TestReportedUsageIsRecorded(t *testing.T) {
	for name, c := range map[string]struct {
		kind, answer, outcome string
		want                  Usage
	}{
		"no choices": {OpenAI, `{"model":"m","choices":[],"usage":{"prompt_tokens":1000,"completion_tokens":3,"total_tokens":1003}}`, CallRefused,
			Usage{InputTokens: 1000, OutputTokens: 3, Source: FromProvider}},
		"fractions": {OpenAI, `{"model":"m","choices":[{"message":{"content":"summary"},"finish_reason":"stop"}],
			"usage":{"prompt_tokens":1000.25,"completion_tokens":3.0,"total_tokens":1003.25,"prompt_tokens_details":{"cached_tokens":7.5}}}`, CallUsed,
			Usage{InputTokens: 1001, OutputTokens: 3, CachedInputTokens: 8, Source: FromProvider}},
		"fractions of Anthropic": {Anthropic, `{"id":"m","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"summary"}],"stop_reason":"end_turn",
			"usage":{"input_tokens":800.5,"cache_read_input_tokens":150,"cache_creation_input_tokens":50,"output_tokens":2.5}}`, CallUsed,
			Usage{InputTokens: 1001, OutputTokens: 3, CachedInputTokens: 150, CacheWriteTokens: 50, Source: FromProvider}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer(map[string][]act{c.kind: {raw("application/json", c.answer)}})
				l := serve(t, s, Options{Prices: pricing.Builtin()})
				o := l.Run(t.Context(), testJob(c.kind))
				if len(o.Calls) != 1 || o.Calls[0].Outcome != c.outcome || o.Calls[0].Usage != c.want || !o.Calls[0].Billed {
					t.Fatalf("calls %+v, want one %s with %+v", o.Calls, c.outcome, c.want)
				}
				usage, _ := o.Calls[0].Record("prices")
				if usage.CacheCreationInputTokens != c.want.CacheWriteTokens || o.Usage().CacheCreationInputTokens != c.want.CacheWriteTokens {
					t.Errorf("record %+v, sum %+v", usage, o.Usage())
				}
			})
		})
	}
}

// Only fractions are changed: any other answer reaches the SDK byte for byte.
func TestWholeUsageLeavesOthers(t *testing.T) {
	for _, answer := range []string{
		``, `null`, `[1.5]`, `{"usage":null,"x":1.5}`, `{"usage":{"prompt_tokens":12},"x":1.50}`,
		`{"usage":{"prompt_tokens":1e300}}`, `{"usage":{"prompt_tokens":"12.5"}}`, `{"usage":{"prompt_tokens":12.5}`,
	} {
		if got := string(wholeUsage([]byte(answer))); got != answer {
			t.Errorf("%s became %s", answer, got)
		}
	}
	if got := string(wholeUsage([]byte(`{"id":"a","usage":{"prompt_tokens":12.5}}`))); !strings.Contains(got, `"prompt_tokens":13`) || !strings.Contains(got, `"id":"a"`) {
		t.Error(got)
	}
}
