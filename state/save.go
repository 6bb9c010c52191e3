package state

import (
	"precis/events"
	"precis/internal/thread"
)

// Save writes what a step changed in a thread to the open batch. It can't fail: everything that could
// has happened before, so a step is in the batch whole or not at all.
func (p *Partition) Save(st *thread.State) {
	name := st.Header.Thread
	p.presents(name, st.Parked)
	w := p.writes(name)
	*w.header = st.Header
	p.changed = true
	c := &st.Changes
	if c.Inherited != nil {
		p.inherit(w, name, c.Inherited)
	}
	if c.Child {
		p.set(p.key(kindChild).part(st.Header.Parent).rest(name), nil)
		p.store.kin.note(st.Header.Parent, p.id)
	}
	p.saveMessage(w, name, st.Message, c)
	p.saveWaiting(name, c)
	for id, ledger := range c.Ledgers {
		p.set(p.key(kindLedger).part(name).rest(id), ledger)
	}
	p.meta.Summaries += c.SummariesMade
	for _, sum := range c.SummaryPuts {
		p.saveSummary(name, sum)
	}
	for _, slot := range c.SlotPuts {
		p.set(p.key(kindSlot).part(name).rest(slot.Name), encodeJSON(slot))
	}
	p.saveJobs(name, c)
	if c.Compacted {
		if w.compaction != st.Compaction {
			p.spareCompaction(w.compaction)
		}
		w.compaction = st.Compaction
	}
}

func (p *Partition) saveMessage(w *written, name string, m *thread.Message, c *thread.Changes) {
	if c.MessagePut {
		p.putMessage(name, m)
	}
	if c.MessageNew {
		p.set(p.key(kindOrder).part(name).number(m.Ordinal), []byte(m.ID))
		p.addID(w, name, m.ID)
	}
	for _, r := range c.Revisions {
		c := writing(nil)
		c.uints(&r.Seq)
		p.set(p.key(kindRevision).part(name).part(m.ID).number(r.Number), c.b)
	}
	for _, m := range c.Rewound {
		p.putMessage(name, m)
		c := writing(nil)
		c.uints(&m.Seq)
		p.set(p.key(kindRevision).part(name).part(m.ID).number(m.Revision), c.b)
	}
	for _, edit := range c.EditKeys {
		p.set(p.key(kindEdit).part(name).part(editedMessage(m, c)).editKey(edit), nil)
	}
}

func (p *Partition) putMessage(name string, m *thread.Message) {
	k := p.key(kindMessage).part(name).rest(m.ID)
	p.row = encodeMessage(p.row[:0], m)
	p.set(k, p.row)
	p.puts.add(p.ids.key(k))
}

func (p *Partition) saveJobs(name string, c *thread.Changes) {
	for _, job := range c.JobPuts {
		p.set(p.key(kindJob).part(name).rest(job.ID()), encodeJSON(job))
		p.jobs = append(p.jobs, job)
	}
	for _, id := range c.JobEnds {
		p.remove(p.key(kindJob).part(name).rest(id))
	}
}

// editedMessage is the message that the step's edit is of; it may not have come yet.
func editedMessage(m *thread.Message, c *thread.Changes) string {
	if c.Hold != nil {
		return c.Hold.MessageID
	}
	return m.ID
}

func (p *Partition) saveWaiting(name string, c *thread.Changes) {
	if w := c.Hold; w != nil {
		p.set(p.key(kindWaiting).part(name).part(w.MessageID).number(w.Seq), encodeJSON(w))
		p.set(p.key(kindDeadline).part(name).number(w.Deadline).number(w.Seq), []byte(w.MessageID))
	}
	for _, w := range c.Release {
		p.remove(p.key(kindWaiting).part(name).part(w.MessageID).number(w.Seq))
		p.remove(p.key(kindDeadline).part(name).number(w.Deadline).number(w.Seq))
	}
	for _, w := range c.EditForget {
		p.remove(p.key(kindEdit).part(name).part(w.MessageID).editKey(w.Key))
	}
}

// saveSummary writes a summary with its index rows: only an active one is found by its sources.
func (p *Partition) saveSummary(name string, sum *thread.Summary) {
	p.set(p.key(kindSummary).part(name).rest(sum.ID), encodeSummary(sum))
	if !sum.Inherited {
		p.set(p.key(kindOwner).rest(sum.ID), []byte(name))
	}
	for _, id := range sum.Sources {
		p.saveSource(name, messageSource(id), sum)
	}
	for _, id := range sum.SourceSums {
		p.saveSource(name, summarySource(id), sum)
	}
	p.saveTimes(name, sum)
	if sum.Status == thread.Replaced && sum.Kind == events.KindCompaction {
		// What comes next is made from what has taken its place; it can be made again from its sources.
		p.remove(p.key(kindLedger).part(name).rest(sum.ID))
	}
}

func (p *Partition) saveSource(name, source string, sum *thread.Summary) {
	k := p.key(kindSource).part(name).part(source).rest(sum.ID)
	if sum.Status == thread.Active {
		p.set(k, nil)
		return
	}
	p.remove(k)
}

// SaveSeen writes the identifiers of a thread's messages up to an ordinal to the open batch.
func (p *Partition) SaveSeen(name string, upTo uint64, data []byte) {
	c := writing(nil)
	c.uints(&upTo)
	blobs(&c, &data)
	p.set(p.key(kindSeen).rest(name), c.b)
}

// Spend adds what a call cost to what its provider has cost on a day (2006-01-02, UTC).
func (p *Partition) Spend(provider, day string, microUSD int64) error {
	k := p.key(kindSpent).part(provider).rest(day)
	var sum int64
	_, err := p.get(k, func(b []byte) (err error) {
		sum, err = spentIn(provider, b)
		return err
	})
	if err != nil {
		return err
	}
	sum += microUSD
	c := writing(nil)
	c.ints(&sum)
	p.set(k, c.b)
	return nil
}

func spentIn(provider string, b []byte) (microUSD int64, err error) {
	c := reading(b)
	c.ints(&microUSD)
	return microUSD, c.end("spending", provider)
}

// SaveConfig writes the config.applied that is in force from here on.
func (p *Partition) SaveConfig(data []byte) { p.set(p.key(kindConfig), data) }
