package prompt

import "precis/events"

// What opens a prompt in the user's name, where a provider asks for it: where something was left out before it, and
// where nothing was.
const (
	unseen   = "[earlier messages are not shown]"
	noneSeen = "[no earlier messages]"
)

// openingCost is the most that an opening takes; 0 in a format that has none.
func openingCost(r Request) int {
	if r.Format == FormatMessages {
		return 0
	}
	return messageFrame + max(r.Count(unseen), r.Count(noneSeen))
}

// opener is what the prompt begins with so that a provider takes it; empty where it takes the prompt as it is. No
// provider takes an empty list, which is all that is left where everything waits or had to go. Where system
// messages stand apart, the user has to begin.
func (d draft) opener(format string) string {
	if format == FormatMessages {
		return ""
	}
	apart := systemApart(format)
	first, hidden := d.first(apart)
	switch {
	case first == events.RoleUser || first != "" && !apart:
		return ""
	case hidden:
		return unseen
	}
	return noneSeen
}

// first is the role of the first message, system messages left out where they stand apart; empty where there is none.
// hidden says that something was left out before it.
func (d draft) first(apart bool) (role string, hidden bool) {
	for i, opening := 0, d.opening(); i <= len(d.units); i++ {
		if i == opening && d.summary != "" && !(apart && isSystem(d.role)) {
			return d.role, hidden
		}
		if i == len(d.units) {
			break
		}
		u := d.units[i]
		switch {
		case u.dropped:
			hidden = true
		case !apart || !isSystem(u.speaker()):
			return u.speaker(), hidden
		}
	}
	return "", hidden
}
