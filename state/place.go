package state

import "precis/events"

// The text of a summary leaves its row when the summary is replaced, and stays in SUMMARIES. Where it stands there is not known when it
// is decided: its row of the outbox, which has the text, becomes the row of its place when the server has stored it. A record that a recovery
// reads has its place from the beginning. So each summary of the partition's own threads has one of the two rows at any time.

// place notes the SUMMARIES sequence of a record. 0: it is not there.
func (p *Partition) place(typ events.Type, name string, chainSeq, seq uint64) {
	if typ != events.SummaryCreated {
		return
	}
	c := writing(nil)
	c.uints(&seq)
	p.set(p.placeKey(name, chainSeq), c.b)
}

func (v View) placeKey(name string, chainSeq uint64) key {
	return v.key(kindPlace).part(name).number(chainSeq)
}

// Placed returns the SUMMARIES sequence of a summary.created by its place in its thread's chain; 0 if none is known: it waits in
// the outbox, or has never been stored.
func (v View) Placed(name string, chainSeq uint64) (seq uint64, err error) {
	seq, _, err = v.placed(name, chainSeq)
	return seq, err
}

// placed also reports whether there is a row: one of 0 says that the record is in no stream.
func (v View) placed(name string, chainSeq uint64) (seq uint64, found bool, err error) {
	found, err = v.get(v.placeKey(name, chainSeq), readPlace(name, &seq))
	return seq, found, err
}

func readPlace(name string, seq *uint64) func([]byte) error {
	return func(b []byte) error {
		c := reading(b)
		c.uints(seq)
		return c.end("place of a record of thread", name)
	}
}

// Recorded returns where a summary.created is that one of the partition's threads has made: its SUMMARIES sequence, or its data while it
// waits in the outbox. Neither: it is not in SUMMARIES. Only a record that waits is looked for in the outbox: the others have a row of
// their place, also where that is nowhere.
func (v View) Recorded(name string, chainSeq uint64) (seq uint64, data []byte, err error) {
	seq, found, err := v.placed(name, chainSeq)
	if found || err != nil {
		return seq, nil, err
	}
	rows, err := v.Outbox()
	for _, o := range rows {
		if o.Type == events.SummaryCreated && o.Thread == name && o.ChainSeq == chainSeq {
			return 0, o.Data, nil
		}
	}
	if err == nil { // a batch may have moved it from there meanwhile
		seq, err = v.Placed(name, chainSeq)
	}
	return seq, nil, err
}
