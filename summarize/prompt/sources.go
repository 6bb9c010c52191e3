package prompt

// sources collects what each message of a prompt is made of, while a format writes them.
type sources struct {
	apart    bool // the format has system messages apart, and joins what one role says in a row
	count    func(string) int
	messages []Source
	system   Source
}

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

// unit notes a unit that was written between two sizes. Its results stand at its end: one each, or joined in one message
// of the user.
func (s *sources) unit(u *unit, before, after int) {
	if s.apart && isSystem(u.speaker()) {
		s.system.add(u)
		s.system.Tokens += u.cost
		return
	}
	rest := u.cost
	for i, c := range u.calls {
		at := after - len(u.calls) + i
		if s.apart {
			at = after - 1
		}
		cost := resultCost(&u.calls[i], s.count)
		rest -= cost
		to := s.at(at)
		to.Tokens += cost
		if c.result == nil {
			continue
		}
		to.MessageIDs = append(to.MessageIDs, c.result.MessageID)
		if c.result.Summary != nil && !c.cut {
			to.SummaryIDs = append(to.SummaryIDs, c.result.Summary.ID)
		}
	}
	first, last := before, after-1-len(u.calls)
	if s.apart {
		last = after - 1
		if len(u.calls) > 0 {
			last--
		}
		first = last
	}
	for i := first; i <= last; i++ {
		s.at(i).add(u)
	}
	s.at(max(last, first)).Tokens += rest
}

// add notes the unit's own message.
func (s *Source) add(u *unit) {
	if u.message != nil && (len(s.MessageIDs) == 0 || s.MessageIDs[len(s.MessageIDs)-1] != u.message.MessageID) {
		s.MessageIDs = append(s.MessageIDs, u.message.MessageID)
	}
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
			if c := &u.calls[n]; c.result != nil && c.result.Summary != nil && !c.cut {
				p.Summaries += cost
			} else {
				p.Outputs += cost
			}
		}
	}
	return p
}

// resultCost is what a call's result takes of its unit's cost.
func resultCost(c *call, count func(string) int) int {
	return messageFrame + callFrame + count(visible(c.shown))
}
