package jobs

import (
	"errors"

	"precis/events"
	"precis/internal/content"
	"precis/state"
	"precis/summarize/llm"
	"precis/summarize/tokens"
)

// ErrInterrupted is a job that was not done, although calls may have been made for it.
var ErrInterrupted = errors.New("job interrupted")

// Transient reports whether a retry of a failed job may succeed: not if the log no longer holds its source, or a row
// or a setting is invalid.
func Transient(err error) bool {
	if _, rejected := errors.AsType[*events.RejectError](err); rejected {
		return false
	}
	for _, permanent := range []error{content.ErrGone, state.ErrDamaged, tokens.ErrUnknown, llm.ErrPrompt} {
		if errors.Is(err, permanent) {
			return false
		}
	}
	return true
}
