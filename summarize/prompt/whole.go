package prompt

import (
	"cmp"
	"slices"
)

// Outputs that a policy keeps whole take the place that is left: each begins as its summary, and fit makes room for what
// the newest ones would take whole, up to half of what max_tokens leaves beside what must stay and the newest turn. So an output of any size
// costs a prompt at most half of the messages before it.

// spare puts a result's spare summary in its place, until there is room for the result.
func (c *call) spare() {
	if c.result == nil || c.result.Spare == nil {
		return
	}
	short := *c.result
	short.Summary = short.Spare
	c.whole, c.result = c.result, &short
}

// kept is what the outputs that were kept whole when the message at i was the newest took beyond their summaries. It goes
// by the assistant's turns, and not by what is kept now, so that what had to go for an output then is gone in every later
// prompt as well. A thread keeps mostWhole outputs at most.
func (f *fitter) kept(i int) int {
	const mostWhole = 64
	var more []int
	for n := len(f.outputs) - 1; n >= 0 && len(more) < mostWhole && f.steps[i]-f.steps[f.outputs[n]] < f.turns; n-- {
		u := &f.units[f.outputs[n]]
		for _, c := range u.calls {
			if c.result != nil && c.result.Summary != nil && !c.cut && !u.dropped {
				more = append(more, max(c.result.Tokens-f.count(visible(c.shown)), 0))
			}
		}
	}
	return within(more, max(f.most-f.floor-f.costAt(f.user)-f.costAt(f.assistant), 0)/2)
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

// keepWhole shows the outputs to be kept whole, as far as there is room; the largest give way first. It returns what the
// prompt takes then, and the messages that give way.
func keepWhole(units []unit, total, limit int, count func(string) int) (int, []string) {
	type output struct {
		*call
		u    *unit
		more int
	}
	var list []output
	for i := range units {
		for n := range units[i].calls {
			if c := &units[i].calls[n]; c.whole != nil && !c.cut && !units[i].dropped {
				text := shown(c.whole, nil)
				list = append(list, output{c, &units[i], count(visible(text)) - count(visible(c.shown))})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b output) int { return cmp.Compare(a.more, b.more) })
	var shortened []string
	for _, o := range list {
		if limit > 0 && total+o.more > limit && o.more > 0 {
			shortened = append(shortened, o.whole.MessageID)
			continue
		}
		o.result, o.shown = o.whole, shown(o.whole, nil)
		total, o.u.cost = total+o.more, o.u.cost+o.more
	}
	return total, shortened
}
