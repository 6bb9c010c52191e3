package prompt

import "precis/events"

// callKey is a call: the index of its message, and which of its calls.
type callKey struct{ message, call int }

// pairs says which result belongs to which call, by index.
type pairs struct {
	caller []int           // of each message: the message whose call it is the result of, or -1
	result map[callKey]int // of each call: its result, or -1
}

// pairUp gives each call the first result with its id that is not another's, and a call whose result
// came first that one.
func pairUp(messages []Message) pairs {
	p := pairs{caller: make([]int, len(messages)), result: map[callKey]int{}}
	waiting, early := map[string][]callKey{}, map[string][]int{}
	for i, m := range messages {
		p.caller[i] = -1
		for n, c := range m.ToolCalls {
			k := callKey{i, n}
			p.result[k] = -1
			if rs := early[c.ID]; len(rs) > 0 {
				p.result[k], p.caller[rs[0]], early[c.ID] = rs[0], i, rs[1:]
				continue
			}
			waiting[c.ID] = append(waiting[c.ID], k)
		}
		if m.Role != events.RoleTool || m.ToolCallID == "" {
			continue
		}
		if ks := waiting[m.ToolCallID]; len(ks) > 0 {
			p.result[ks[0]], p.caller[i], waiting[m.ToolCallID] = i, ks[0].message, ks[1:]
			continue
		}
		early[m.ToolCallID] = append(early[m.ToolCallID], i)
	}
	return p
}
