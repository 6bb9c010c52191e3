package state

// Send adds a row to the outbox: it leaves the process when the open batch is durable.
func (p *Partition) Send(o *Outgoing) {
	p.meta.NextOutgoing++
	o.Number = p.meta.NextOutgoing
	p.set(p.key(kindOutbox).number(o.Number), encodeOutgoing(o))
	p.outgoing = append(p.outgoing, o)
}

// Delivered removes a row that the server has confirmed. seq is its sequence in SUMMARIES for a
// guarded row: the thread's next record goes behind it.
func (p *Partition) Delivered(o *Outgoing, seq uint64) error {
	p.remove(p.key(kindOutbox).number(o.Number))
	if !o.Guarded {
		return nil
	}
	return p.SawRecord(o.Thread, seq)
}

// SawRecord notes the thread's last sequence in SUMMARIES.
func (p *Partition) SawRecord(name string, seq uint64) error {
	st, err := p.LoadThread(name)
	if err != nil {
		return err
	}
	st.Header.SummariesSeq = max(st.Header.SummariesSeq, seq)
	p.Save(st)
	return nil
}

// Outbox returns the rows that wait to be confirmed, in order.
func (v View) Outbox() ([]*Outgoing, error) {
	prefix := v.key(kindOutbox)
	var rows []*Outgoing
	err := v.scan(prefix, prefix, func(k, b []byte) (bool, error) {
		o, err := decodeOutgoing(lastNumber(k), b)
		if err != nil {
			return false, err
		}
		rows = append(rows, o)
		return true, v.after(o)
	})
	return rows, err
}

func (v View) after(o *Outgoing) error {
	if !o.Guarded {
		return nil
	}
	h, err := v.Header(o.Thread)
	if err == nil && h != nil {
		o.After = h.SummariesSeq
	}
	return err
}
