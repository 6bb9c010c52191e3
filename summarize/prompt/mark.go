package prompt

import (
	"fmt"

	"precis/events"
)

// truncated marks a content that is gone: how many of the assistant's turns came between it and the
// event that made it go.
func truncated(messages []Message, from, until uint64) string {
	steps := 0
	for _, m := range messages {
		if m.Role == events.RoleAssistant && m.Ordinal > from && m.Ordinal <= until {
			steps++
		}
	}
	return stepsAgo(steps)
}

func stepsAgo(n int) string {
	if n <= 1 {
		return "[truncated - 1 step ago]"
	}
	return fmt.Sprintf("[truncated - %d steps ago]", n)
}
