package llm

import (
	"strings"
	"testing"
	"testing/synctest"

	"precis/events"
)

// What a model says of a conversation holds no code and names no file that the conversation does not, from either provider,
// whole and in parts.
func TestAccountsOfConversations(t *testing.T) {
	const talk = "[user m1]\n  The till in shop/till.go loses sales, never touch shop/receipt.go.\n[assistant m2]\n  I take a lock in `openTill`.\n"
	for _, c := range []struct{ name, said, want, reason string }{
		{"as asked", "Goal: Lose no sale.\nDecisions and dead ends:\n- `openTill` takes a lock", "Goal: Lose no sale.\nDecisions and dead ends:\n- `openTill` takes a lock", ""},
		{"all in a fence", "```text\nGoal: Lose no sale.\n```", "Goal: Lose no sale.", ""},
		{"code", "Goal: Lose no sale.\n```go\nfunc openTill() {\n```\nState:\n- func openTill() {\n- half done", "Goal: Lose no sale.\nState:\n- half done", ""},
		{"a file that no event names", "State:\n- shop/till.go is done\n- shop/drawer.go:12 is next", "State:\n- shop/till.go is done", ""},
		{"nothing but code", "```go\nfunc openTill() {}\n```\n```\nx\n```", "", "empty"},
	} {
		for _, provider := range []string{OpenAI, Anthropic} {
			for _, parts := range []bool{false, true} {
				t.Run(c.name+" "+provider, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						s := newServer(map[string][]act{provider: {says(c.said)}})
						l := serve(t, s, Options{})
						job := testJob(provider)
						job.Kind, job.Category, job.Content = promptCompaction, "", strings.Repeat(talk, 40)
						if parts {
							job.MaxInputChars = 3000
						}
						o := l.Run(t.Context(), job)
						if c.reason != "" {
							if o.Method != events.MethodRules || !strings.HasPrefix(o.FallbackReason, provider+": "+c.reason) {
								t.Fatalf("by %s: %s", o.Method, o.FallbackReason)
							}
						} else if o.Text != c.want {
							t.Fatalf("%q by %s (%s)", o.Text, o.Method, o.FallbackReason)
						}
						if body := s.requests[0].body; !strings.Contains(body, "Decisions and dead ends: ") || !strings.Contains(body, "BEGIN DATA") {
							t.Errorf("asked %s", body)
						}
					})
				})
			}
		}
	}
}
