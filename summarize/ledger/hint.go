package ledger

import "precis/events"

// hint describes the messages that stay verbatim after a summary.
type hint struct {
	words map[string]bool // all identifiers
	said  map[string]bool // those in the assistant's messages: its current work
}

func hintOf(kept []Message) hint {
	h := hint{words: map[string]bool{}, said: map[string]bool{}}
	for _, m := range kept {
		add := func(w string) {
			h.words[w] = true
			if m.Role == events.RoleAssistant {
				h.said[w] = true
			}
		}
		eachWord(m.Content.Text(), add)
		for _, call := range m.ToolCalls {
			parseArguments(call.Arguments).strings(func(_, s string) { eachWord(s, add) })
		}
	}
	return h
}
