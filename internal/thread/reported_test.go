package thread

import (
	"strings"
	"testing"

	"precis/events"
)

func TestReported(t *testing.T) {
	c := &Compaction{}
	if got := c.Reported.PromptTokens(500); got != 0 {
		t.Errorf("%d tokens at a provider that said nothing", got)
	}
	say := func(ordinal uint64, held int64, u *events.TokenUsage) {
		c.Report(&Message{Ordinal: ordinal}, u, "m", held)
		c.Cut.LastAt = ordinal
	}
	say(2, 100, &events.TokenUsage{InputTokens: 1000, OutputTokens: 10, CachedInputTokens: 400, CacheCreationInputTokens: 90})
	say(3, 110, &events.TokenUsage{InputTokens: 1000, OutputTokens: 10, CachedInputTokens: 400, CacheCreationInputTokens: 90}) // of the same call
	if r := c.Reported; r.Calls != 1 || r.At != 3 || r.Held != 100 {
		t.Errorf("a call whose usage stands on two messages: %+v", r)
	}
	c.Cut.LastAt = 4 // a message of the user
	say(5, 150, &events.TokenUsage{InputTokens: 1000, OutputTokens: 10, CachedInputTokens: 400, CacheCreationInputTokens: 90})
	say(6, 160, nil)
	say(7, 170, &events.TokenUsage{OutputTokens: 3}) // says nothing of the prompt
	want := Reported{
		At: 5, Model: "m", Held: 150, Calls: 2,
		Last:  events.TokenUsage{InputTokens: 1000, OutputTokens: 10, CachedInputTokens: 400, CacheCreationInputTokens: 90},
		Total: events.TokenUsage{InputTokens: 2000, OutputTokens: 20, CachedInputTokens: 800, CacheCreationInputTokens: 180},
	}
	if c.Reported != want {
		t.Errorf("%+v, want %+v", c.Reported, want)
	}
	c.Cut.LastAt = 8
	most := int64(1<<53 - 1)
	for i := range uint64(2000) { // a publisher's own figures
		c.Report(&Message{Ordinal: 9 + 2*i}, &events.TokenUsage{InputTokens: most, OutputTokens: most}, strings.Repeat("m", 1<<20), 150)
	}
	if r := c.Reported; r.Total.InputTokens != most || r.Total.OutputTokens != most || r.Model != "" {
		t.Errorf("the largest figures come to %+v, by a model with a name of %d bytes", r.Total, len(r.Model))
	}
	c.Reported = want
	for live, want := range map[int64]int64{150: 1000, 250: 1100, 60: 910, -5000: 1} {
		if got := c.Reported.PromptTokens(live); got != want {
			t.Errorf("with %d tokens live: %d, want %d", live, got, want)
		}
	}
}
