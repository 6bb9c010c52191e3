package state

// Send adds a row to the outbox: it leaves the process when the open batch is durable.
func (p *Partition) Send(o *Outgoing) {
	p.meta.NextOutgoing++
	o.Number = p.meta.NextOutgoing
	p.set(p.key(kindOutbox).number(o.Number), encodeOutgoing(o))
	p.outgoing = append(p.outgoing, o)
}

// Delivered removes a row that the server has confirmed.
func (p *Partition) Delivered(o *Outgoing) { p.remove(p.key(kindOutbox).number(o.Number)) }

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
		return true, nil
	})
	return rows, err
}
