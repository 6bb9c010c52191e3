package prompt

import (
	"runtime"
	"slices"

	"precis/events"
)

// fitter holds a prompt to its limit, message by message as they came: see doc.go, "Prefix".
type fitter struct {
	units []unit
	count func(string) int
	most  int // that the prompt may have
	limit int // most, less the room for outputs that are kept whole
	turns int // of the assistant for which outputs are kept whole
	total int // of what is not given up so far
	floor int // of this, what stays whatever happens

	user, assistant int // indexes of the newest so far; -1
	steps           []int
	outputs         []int // indexes of units with outputs that have a summary
	first           int   // of those that can still be given up
}

// fit gives up what has to go, and returns what the prompt takes then. It may still be over the limit.
func fit(units []unit, base, limit, turns int, count func(string) int) int {
	f := &fitter{units: units, count: count, most: limit, limit: limit, turns: turns, total: base, floor: base, user: -1, assistant: -1}
	steps := 0
	for i := range units {
		if i%Stride == 0 {
			runtime.Gosched()
		}
		u := &units[i]
		if u.role == events.RoleAssistant {
			steps++
		}
		f.steps = append(f.steps, steps)
		if u.dropped {
			continue // gone from the log
		}
		u.cost = costOf(u, count)
		f.total += u.cost
		f.note(i)
		if limit > 0 {
			f.limit = limit - f.kept(i)
		}
		if limit > 0 && f.total > f.limit {
			f.makeRoom(i)
		}
	}
	return f.total
}

// note keeps track of the newest messages, which stay longest.
func (f *fitter) note(i int) {
	u := &f.units[i]
	if u.fixed {
		f.floor += u.cost
	}
	if slices.ContainsFunc(u.calls, func(c call) bool { return c.result != nil && c.result.Summary != nil }) {
		f.outputs = append(f.outputs, i)
	}
	if len(u.beside()) > 0 {
		f.user = i
	}
	switch u.role {
	case events.RoleUser:
		f.user = i
	case events.RoleAssistant:
		f.assistant = i
	}
}

// makeRoom gives up what stands up to i until a quarter of what can be removed is free.
func (f *fitter) makeRoom(i int) {
	floor := f.floor + f.costAt(f.user)
	goal := max(floor, f.limit-max(f.limit-floor, 0)/4)
	older := func(j int) bool { return j != f.assistant }
	f.each(i, goal, older, f.shorten)
	f.each(i, goal, f.together(i, older), f.drop)
	// The newest turn makes no room for outputs that its summaries stand in for.
	anyone := func(int) bool { return true }
	f.each(i, f.most, anyone, f.shorten)
	f.each(i, f.most, f.together(i, anyone), f.drop)
}

// together has reasoning go only with what it led to.
func (f *fitter) together(i int, may func(j int) bool) func(j int) bool {
	return func(j int) bool {
		k := f.led(j)
		return may(j) && (k < 0 || k <= i && may(k) && k != f.user && !f.units[k].fixed)
	}
}

// led is the unit that the reasoning in one led to; -1 where it holds something else, or nothing follows.
func (f *fitter) led(j int) int {
	if j+1 == len(f.units) || f.units[j+1].role != events.RoleAssistant || f.units[j+1].message == nil {
		return -1
	}
	if m := f.units[j].message; m == nil || !m.shown() || !m.OnlyReasons() {
		return -1
	}
	return j + 1
}

// costAt is what the newest message of a role takes, if it does not stay anyway.
func (f *fitter) costAt(newest int) int {
	if newest < 0 || f.units[newest].fixed || f.units[newest].dropped {
		return 0
	}
	return f.units[newest].cost
}

// each does with the units up to i, oldest first, until the goal is reached.
func (f *fitter) each(i, goal int, may func(j int) bool, do func(j, now int)) {
	for f.first < i && (f.units[f.first].fixed || f.units[f.first].dropped) {
		f.first++
	}
	for j := f.first; j <= i && f.total > goal; j++ {
		u := &f.units[j]
		if !u.fixed && !u.dropped && j != f.user && may(j) {
			do(j, i)
		}
	}
}

// shorten puts marks in the place of a unit's outputs.
func (f *fitter) shorten(j, now int) {
	u := &f.units[j]
	mark := stepsAgo(f.steps[now] - f.steps[j])
	size := f.count(mark)
	for n := range u.calls {
		c := &u.calls[n]
		if saved := c.size(f.count) - size; saved > 0 && c.result != nil && !c.cut {
			c.shown, c.cut = mark, true
			u.cost, f.total = u.cost-saved, f.total-saved
		}
	}
}

func (f *fitter) drop(j, now int) {
	f.units[j].dropped = true
	f.total -= f.units[j].cost
	if k := f.led(j); k >= 0 && k <= now && !f.units[k].dropped && !f.units[k].fixed {
		f.drop(k, now)
	}
}
