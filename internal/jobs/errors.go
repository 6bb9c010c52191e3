package jobs

import (
	"errors"

	"precis/events"
	"precis/internal/fold"
	"precis/state"
	"precis/summarize/llm"
	"precis/summarize/tokens"
)

// ErrInterrupted: the job was not done, and calls may have been made for it.
var ErrInterrupted = errors.New("job interrupted")

// Transient says whether a job that could not be done may be done later: not where the log no longer holds
// its source, or a row or a setting is broken.
func Transient(err error) bool {
	if _, rejected := errors.AsType[*events.RejectError](err); rejected {
		return false
	}
	for _, permanent := range []error{fold.ErrGone, state.ErrDamaged, tokens.ErrUnknown, llm.ErrPrompt} {
		if errors.Is(err, permanent) {
			return false
		}
	}
	return true
}
