package prompt

import (
	"cmp"
	"slices"
)

// Outputs that a policy keeps whole take the place that is left: each begins as its summary, and fit makes room for what
// the newest ones would take whole, up to half of what max_tokens leaves beside what must stay and the newest turn. So an output of any size
// costs a prompt at most half of the messages before it.

// spare puts the spare summaries of results in their places, until there is room for the results. A message with several has
// one for all of them, and for what it says besides.
func (u *unit) spare() {
	short := map[*Message]*Message{}
	for n := range u.calls {
		c := &u.calls[n]
		if c.result == nil || c.result.Spare == nil {
			continue
		}
		if short[c.result] == nil {
			m := *c.result
			m.Summary = m.Spare
			short[c.result] = &m
		}
		c.other, c.result = c.result, short[c.result]
		c.shown = c.stands(nil)
	}
	for n := range u.tails {
		u.tails[n].spared = short[u.tails[n].message] != nil
	}
}

// kept is what the outputs that were kept whole when the message at i was the newest took beyond their summaries. It goes
// by the assistant's turns, and not by what is kept now, so that what had to go for an output then is gone in every later
// prompt as well. A thread keeps mostWhole outputs at most.
func (f *fitter) kept(i int) int {
	const mostWhole = 64
	var more []int
	for n := len(f.outputs) - 1; n >= 0 && len(more) < mostWhole && f.steps[i]-f.steps[f.outputs[n]] < f.turns; n-- {
		u := &f.units[f.outputs[n]]
		if u.dropped {
			continue
		}
		short := f.short(u)
		for k := range u.calls {
			if c := &u.calls[k]; c.summarized() {
				more = append(more, max(c.result.Tokens-short[c.result], 0))
			}
		}
	}
	stays := f.floor + f.costAt(f.user)
	if f.assistant != f.user { // the results' tail makes one both
		stays += f.costAt(f.assistant)
	}
	return within(more, max(f.most-stays, 0)/2)
}

// short is what stands in a unit for each message that is summarized there.
func (f *fitter) short(u *unit) map[*Message]int {
	tokens := map[*Message]int{}
	for n := range u.calls {
		if c := &u.calls[n]; c.result != nil && c.result.Summary != nil {
			tokens[c.result] += f.count(visible(c.shown))
		}
	}
	return tokens
}

// within is the sum of what fits into room, when the largest give way first.
func within(sizes []int, room int) (sum int) {
	slices.Sort(sizes)
	for _, n := range sizes {
		if sum+n > room {
			break
		}
		sum += n
	}
	return sum
}

// output is a message of results to be kept whole, of which the spare summary stands so far.
type output struct {
	whole *Message
	unit  *unit
	calls []*call
	tails []*tail
}

// keptOutputs are those of units that stand, and none that had to go in part.
func keptOutputs(units []unit) (list []output) {
	for i := range units {
		u := &units[i]
		if u.dropped {
			continue
		}
		of := map[*Message]int{}
		for n := range u.calls {
			c := &u.calls[n]
			if c.other == nil {
				continue
			}
			at, ok := of[c.other]
			if !ok {
				at, of[c.other] = len(list), len(list)
				list = append(list, output{whole: c.other, unit: u})
			}
			list[at].calls = append(list[at].calls, c)
		}
		for n := range u.tails {
			if at, ok := of[u.tails[n].message]; ok {
				list[at].tails = append(list[at].tails, &u.tails[n])
			}
		}
	}
	return slices.DeleteFunc(list, func(o output) bool {
		return slices.ContainsFunc(o.calls, func(c *call) bool { return c.cut })
	})
}

// turn puts the output in the place of its summary, or the summary in that of the output, and returns what it takes more.
func (o output) turn(count func(string) int) (more int) {
	for _, c := range o.calls {
		more -= c.size(count)
		c.other, c.result = c.result, c.other
		c.shown = c.stands(nil)
		more += c.size(count)
	}
	for _, t := range o.tails {
		if t.spared = !t.spared; t.spared {
			more -= t.cost()
		} else {
			more += t.cost()
		}
	}
	return more
}

// keepWhole shows the outputs to be kept whole, as far as there is room; the largest give way first. It returns what the
// prompt takes then, and the messages that give way.
func keepWhole(units []unit, total, limit int, count func(string) int) (int, []string) {
	type sized struct {
		output
		more int
	}
	var list []sized
	for _, o := range keptOutputs(units) {
		next := sized{o, o.turn(count)}
		o.turn(count)
		list = append(list, next)
	}
	slices.SortStableFunc(list, func(a, b sized) int { return cmp.Compare(a.more, b.more) })
	var shortened []string
	for _, o := range list {
		if limit > 0 && total+o.more > limit && o.more > 0 {
			shortened = append(shortened, o.whole.MessageID)
			continue
		}
		o.turn(count)
		total, o.unit.cost = total+o.more, o.unit.cost+o.more
	}
	return total, shortened
}
