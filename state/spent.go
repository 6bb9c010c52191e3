package state

import "fmt"

// Spend adds what a call cost to what its provider has cost on a day (2006-01-02, UTC).
func (p *Partition) Spend(provider, day string, microUSD int64) error {
	k := p.key(kindSpent).part(provider).rest(day)
	var sum int64
	_, err := p.get(k, func(b []byte) error {
		d := decoder{b: b}
		sum = d.i()
		return d.end("spending", provider)
	})
	if err != nil {
		return err
	}
	var e encoder
	e.i(sum + microUSD)
	p.set(k, e.b)
	return nil
}

// Spent calls each with what every provider has cost on every day, in micro-dollars.
func (v View) Spent(each func(provider, day string, microUSD int64)) error {
	prefix := v.key(kindSpent)
	return v.scan(prefix, prefix, func(k, b []byte) (bool, error) {
		provider, day, ok := cutPart(k[len(prefix):])
		if !ok {
			return false, fmt.Errorf("%w: key of spending", ErrDamaged)
		}
		d := decoder{b: b}
		microUSD := d.i()
		if err := d.end("spending", provider); err != nil {
			return false, err
		}
		each(provider, string(day), microUSD)
		return true, nil
	})
}
