package prompt

import "slices"

// sources collects what each message of a prompt is made of, while a format writes them.
type sources struct {
	apart    bool // the format has system messages apart, and joins what one role says in a row
	count    func(string) int
	messages []Source
	system   Source

	unit  *unit // that is written now
	own   int   // index of the last message that it says itself; -1: none yet
	rest  int   // of its tokens, what is not in results and tails
	named map[naming]bool
}

// naming is that a message of a prompt names one of the thread.
type naming struct {
	at int
	id string
}

// systemSource is where system messages stand that are apart.
const systemSource = -1

// at is the source of the message at an index.
func (s *sources) at(i int) *Source {
	for len(s.messages) <= i {
		s.messages = append(s.messages, Source{MessageIDs: []string{}, SummaryIDs: []string{}})
	}
	return &s.messages[i]
}

// compaction notes the compaction behind the size messages so far.
func (s *sources) compaction(d draft, size int) {
	at := &s.system
	if !s.apart || !isSystem(d.role) {
		at = s.at(size - 1)
	}
	at.Tokens += compactionCost(d.summary, s.count)
	if d.summarized() {
		at.SummaryIDs = append(at.SummaryIDs, d.id)
	}
}

// begin begins a unit, whose parts the format notes as it writes them. Of system messages apart nothing more is noted.
func (s *sources) begin(u *unit) {
	if s.apart && isSystem(u.speaker()) {
		if u.message != nil {
			s.name(systemSource, u.message.MessageID)
		}
		s.system.Tokens += u.cost
		s.unit = nil
		return
	}
	s.unit, s.own, s.rest = u, -1, u.cost
}

// said notes that the unit's own message, or calls made up for its results, stand in the message at an index.
func (s *sources) said(at int) {
	if s.unit != nil {
		s.own = at
		s.at(at) // which may have no message of its own
		if s.unit.message != nil {
			s.name(at, s.unit.message.MessageID)
		}
	}
}

// result notes that the result of a call of the unit stands in the message at an index.
func (s *sources) result(n, at int) {
	c, to := &s.unit.calls[n], s.at(at)
	cost := resultCost(c, s.count)
	s.rest -= cost
	to.Tokens += cost
	if c.result == nil {
		return
	}
	s.name(at, c.result.MessageID)
	if s.unit.standsAsSummary(c) && !slices.Contains(to.SummaryIDs, c.result.Summary.ID) {
		to.SummaryIDs = append(to.SummaryIDs, c.result.Summary.ID)
	}
}

// tail notes that what a message says beside its results stands in the message at an index.
func (s *sources) tail(t *tail, at int) {
	s.rest -= t.cost()
	s.at(at).Tokens += t.cost()
	s.name(at, t.message.MessageID)
}

// end ends a unit, with size messages written so far: the rest of its tokens is what it says itself.
func (s *sources) end(size int) {
	if s.unit == nil {
		return
	}
	if s.own < 0 {
		s.own = max(size-1, 0)
	}
	s.at(s.own).Tokens += s.rest
	s.unit = nil
}

// remove leaves out messages, which the format does not write after all: their tokens, which the prompt counts, go to the one before
// them, or else to the one behind.
func (s *sources) remove(gone []bool) {
	rest := 0
	for i := range slices.Backward(s.messages) {
		if s.messages[i].Tokens += rest; gone[i] {
			rest = s.messages[i].Tokens
			continue
		}
		rest = 0
	}
	n := 0
	s.messages = slices.DeleteFunc(s.messages, func(Source) bool { n++; return gone[n-1] })
	if len(s.messages) > 0 {
		s.messages[0].Tokens += rest
	}
}

// name names a message of the thread, once, in the source of the message at an index, or in systemSource.
func (s *sources) name(at int, id string) {
	if s.named[naming{at, id}] {
		return
	}
	if s.named == nil {
		s.named = map[naming]bool{}
	}
	s.named[naming{at, id}] = true
	to := &s.system
	if at != systemSource {
		to = s.at(at)
	}
	to.MessageIDs = append(to.MessageIDs, id)
}

// parts are the tokens of a prompt of total tokens by what takes them.
func (d draft) parts(total int, count func(string) int) (p Parts) {
	p.Compaction = compactionCost(d.summary, count)
	p.Frame = total - p.Compaction
	for i := range d.units {
		u := &d.units[i]
		if u.dropped {
			continue
		}
		p.Frame -= u.cost
		if isSystem(u.role) {
			p.System += u.cost
			continue
		}
		p.Messages += u.cost
		for n := range u.calls {
			cost := resultCost(&u.calls[n], count)
			p.Messages -= cost
			if u.calls[n].summarized() {
				p.Summaries += cost
			} else {
				p.Outputs += cost
			}
		}
	}
	return p
}
