package prompt

import "precis/events"

// callKey is a call: the index of its message, and which of its calls.
type callKey struct{ message, call int }

// resultKey is a result: the index of its message, and which of the calls that it answers.
type resultKey struct{ message, answer int }

// pairs says which result belongs to which call, by index.
type pairs struct {
	caller []int                 // of each message: the message with which it stands, since that makes the call of its first result; or -1
	result map[callKey]resultKey // of each call with a result
	paired map[resultKey]bool
	// answers are the messages that stand with one, in order.
	answers map[int][]int
}

// pairUp gives each call the first result with its id that is not another's, and a call whose result
// came first that one. The results of one message stay together: those of another message's calls are taken for
// results without a call, and so are those up to edge of calls behind it: their own are replaced.
func pairUp(messages []Message, edge uint64) pairs {
	p := pairs{caller: make([]int, len(messages)), result: map[callKey]resultKey{}, paired: map[resultKey]bool{}, answers: map[int][]int{}}
	waiting, early := map[string][]callKey{}, map[string][]resultKey{}
	for i := range messages {
		if i > 0 && messages[i-1].Ordinal <= edge && messages[i].Ordinal > edge {
			clear(early)
		}
		p.caller[i] = -1
		for n, c := range messages[i].calls {
			k := callKey{i, n}
			if r, ok := p.next(early, c.ID, i); ok {
				p.join(k, r)
				continue
			}
			waiting[c.ID] = append(waiting[c.ID], k)
		}
		if m := &messages[i]; m.Role != events.RoleTool && len(m.results) == 0 {
			continue
		}
		for n, id := range messages[i].answers {
			r := resultKey{i, n}
			if ks := waiting[id]; len(ks) > 0 && (p.caller[i] < 0 || p.caller[i] == ks[0].message) {
				waiting[id] = ks[1:]
				p.join(ks[0], r)
				continue
			}
			early[id] = append(early[id], r)
		}
	}
	return p
}

// next takes the first early result of a call of the message at an index, if it may stand with that.
func (p *pairs) next(early map[string][]resultKey, id string, at int) (resultKey, bool) {
	rs := early[id]
	if len(rs) == 0 || p.caller[rs[0].message] >= 0 && p.caller[rs[0].message] != at {
		return resultKey{}, false
	}
	early[id] = rs[1:]
	return rs[0], true
}

func (p *pairs) join(k callKey, r resultKey) {
	p.result[k], p.paired[r] = r, true
	if p.caller[r.message] < 0 {
		p.caller[r.message] = k.message
		p.answers[k.message] = append(p.answers[k.message], r.message)
	}
}
