package cut

import (
	"time"

	"precis/summarize"
)

// Facts is what a condition is held against: what a compaction could remove, and of how much.
type Facts struct {
	RemovableTokens   int64
	RemovableMessages int64
	LiveTokens        int64 // all that is in the prompt now, what can't be removed too
	LiveMessages      int64
	ContextWindow     int           // tokens; 0: a condition on its fraction never holds
	PromptTokens      int64         // what the prompt weighs at its provider; 0: unknown, or not to be measured by
	Idle              time.Duration // since the thread's last event
}

// Facts says what a compaction by policy c could do now. What the current summary weighs is not in
// LiveTokens; what the provider said of the prompt, and the time since the last event, are the caller's to set.
func (s *State) Facts(c summarize.Compaction) Facts {
	f := Facts{
		LiveTokens:    s.Seen.Tokens - s.Gone.Tokens,
		LiveMessages:  s.Seen.Messages - s.Gone.Messages,
		ContextWindow: c.ContextWindow,
	}
	if p, ok := s.Choose(c.Keep); ok {
		r := s.removable(p)
		f.RemovableTokens, f.RemovableMessages = r.Tokens, r.Messages
	}
	return f
}

// Changed is w when one item in it weighs after instead of before.
func (w weight) Changed(before, after Item) weight {
	return w.plus(after.weight()).minus(before.weight())
}
