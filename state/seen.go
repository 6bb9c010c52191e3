package state

// Seen is the identifiers of a thread's messages up to an ordinal, as SaveSeen wrote them; nil where
// there are none.
func (v View) Seen(name string) (upTo uint64, data []byte, err error) {
	_, err = v.get(v.key(kindSeen).rest(name), func(b []byte) error {
		d := decoder{b: b}
		upTo, data = d.u(), d.bytes()
		return d.end("seen identifiers", name)
	})
	return upTo, data, err
}

// SaveSeen writes the identifiers of a thread's messages up to an ordinal to the open batch.
func (p *Partition) SaveSeen(name string, upTo uint64, data []byte) {
	var e encoder
	e.u(upTo)
	e.bytes(data)
	p.set(p.key(kindSeen).rest(name), e.b)
}
