package state

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"precis/internal/thread"
)

// What a fork begins with comes from another partition, whose goroutine alone knows its threads at the fork's place in the log. That
// partition writes it into the batch of that place; the fork's partition reads it there once it is durable, and copies it into the batch
// with the fork. It is removed when that is durable too.

// Handed names what was handed over to a fork.
type Handed struct {
	Seq uint64 // EVENTS sequence of its thread.forked
	To  int    // the partition of the fork
}

func (v View) handedKey(h Handed, kind byte) key {
	k := binary.BigEndian.AppendUint16(v.key(kindHanded).number(h.Seq), uint16(h.To))
	return append(k, kind)
}

// handedPrefix is how many bytes of a key are before its row's kind.
const handedPrefix = 3 + 8 + 2

// HandOver writes what a fork begins with to the open batch.
func (p *Partition) HandOver(h Handed, b *thread.Branch) {
	c := writing(nil)
	branchRow(&c, b)
	p.set(p.handedKey(h, kindMeta), c.b)
	if b.Reason != "" {
		return
	}
	p.set(p.handedKey(h, kindHeader).rest(b.Header.Thread), encodeThread(nil, &b.Header, b.Compaction))
	for _, m := range b.Messages {
		p.row = encodeMessage(p.row[:0], m)
		p.set(p.handedKey(h, kindMessage).rest(m.ID), p.row)
	}
	for _, r := range b.Revisions {
		c := writing(nil)
		c.uints(&r.Seq)
		p.set(p.handedKey(h, kindRevision).part(r.MessageID).number(r.Number), c.b)
	}
	for _, sum := range b.Summaries {
		p.set(p.handedKey(h, kindSummary).rest(sum.ID), encodeSummary(sum))
	}
	for _, slot := range b.Slots {
		p.set(p.handedKey(h, kindSlot).rest(slot.Name), encodeJSON(slot))
	}
	for id, ledger := range b.Ledgers {
		p.set(p.handedKey(h, kindLedger).rest(id), ledger)
	}
	if b.Seen != nil {
		p.set(p.handedKey(h, kindSeen), b.Seen)
	}
}

func branchRow(c *codec, b *thread.Branch) {
	texts(c, &b.Reason)
	c.uints(&b.ParentSeq, &b.SeenTo)
}

// Handed reads what another partition has handed over to a fork of this one, which must be committed there.
func (p *Partition) Handed(from int, seq uint64) (*thread.Branch, error) {
	return p.store.View(from).branch(Handed{seq, int(p.id)})
}

// Hands reports whether what a fork begins with is there for it.
func (v View) Hands(h Handed) (bool, error) { return v.has(v.handedKey(h, kindMeta)) }

func (v View) branch(h Handed) (*thread.Branch, error) {
	prefix := v.handedKey(h, 0)[:handedPrefix]
	b, found := &thread.Branch{Ledgers: map[string][]byte{}}, false
	err := v.scan(prefix, prefix, func(k, row []byte) (bool, error) {
		found = found || k[handedPrefix] == kindMeta
		return true, readBranch(b, k[handedPrefix], k[handedPrefix+1:], row)
	})
	if err == nil && !found {
		err = fmt.Errorf("%w: partition %d has handed over nothing for the fork at event %d", ErrDamaged, v.id, h.Seq)
	}
	return b, err
}

// readBranch reads a row of what was handed over.
func readBranch(b *thread.Branch, kind byte, name, row []byte) (err error) {
	switch kind {
	case kindMeta:
		c := reading(row)
		branchRow(&c, b)
		return c.end("fork", "")
	case kindHeader:
		h, k, err := decodeThread(string(name), row)
		if err == nil {
			b.Header, b.Compaction = *h, k
		}
		return err
	case kindMessage:
		var m *thread.Message
		m, err = decodeMessage(string(name), row)
		b.Messages = append(b.Messages, m)
	case kindRevision:
		var r thread.MessageRevision
		r, err = revisionIn(name, row)
		b.Revisions = append(b.Revisions, r)
	case kindSummary:
		var sum *thread.Summary
		sum, err = decodeSummary(row)
		b.Summaries = append(b.Summaries, sum)
	case kindSlot:
		slot := &thread.Slot{}
		err = decodeJSON(slot, "slot", string(name))(row)
		b.Slots = append(b.Slots, slot)
	case kindLedger:
		b.Ledgers[string(name)] = bytes.Clone(row)
	case kindSeen:
		b.Seen = bytes.Clone(row)
	default:
		err = fmt.Errorf("%w: a row of kind %q was handed over", ErrDamaged, kind)
	}
	return err
}

// revisionIn reads the row of a revision; k is its key from the message's id on.
func revisionIn(k, row []byte) (r thread.MessageRevision, err error) {
	id, rest, ok := cutPart(k)
	if !ok || len(rest) != 8 {
		return r, fmt.Errorf("%w: key of a revision", ErrDamaged)
	}
	r.MessageID, r.Number = id, lastNumber(rest)
	c := reading(row)
	c.uints(&r.Seq)
	return r, c.end("revision", id)
}

// inherit writes what a fork begins with as rows of its own. Its header and its compaction are the step's.
func (p *Partition) inherit(w *written, name string, b *thread.Branch) {
	p.ids.lru.Remove(name) // they were those of a thread without messages
	w.ids = nil
	for _, m := range b.Messages {
		p.putMessage(name, m)
		p.set(p.key(kindOrder).part(name).number(m.Ordinal), []byte(m.ID))
	}
	for _, r := range b.Revisions {
		c := writing(nil)
		c.uints(&r.Seq)
		p.set(p.key(kindRevision).part(name).part(r.MessageID).number(r.Number), c.b)
	}
	p.meta.Summaries += uint64(len(b.Summaries))
	for _, sum := range b.Summaries {
		sum.Inherited = true
		p.saveSummary(name, sum)
	}
	for _, slot := range b.Slots {
		p.set(p.key(kindSlot).part(name).rest(slot.Name), encodeJSON(slot))
	}
	for id, ledger := range b.Ledgers {
		p.set(p.key(kindLedger).part(name).rest(id), ledger)
	}
	if b.Seen != nil {
		p.SaveSeen(name, b.SeenTo, b.Seen)
	}
}

// HandedOver lists what the partition has handed over to forks, in log order.
func (v View) HandedOver() (list []Handed, err error) {
	prefix := v.key(kindHanded)
	for from := prefix; from != nil; {
		next := key(nil)
		err := v.scan(prefix, from, func(k, _ []byte) (bool, error) {
			if len(k) < handedPrefix {
				return false, fmt.Errorf("%w: key of what was handed over", ErrDamaged)
			}
			list = append(list, Handed{Seq: binary.BigEndian.Uint64(k[3:]), To: int(binary.BigEndian.Uint16(k[11:]))})
			next = key(bytes.Clone(k[:handedPrefix])).end()
			return false, nil
		})
		if err != nil {
			return nil, err
		}
		from = next
	}
	return list, nil
}

// DropHanded removes what was handed over to a fork.
func (p *Partition) DropHanded(h Handed) error {
	prefix := p.handedKey(h, 0)[:handedPrefix]
	return p.committed().scan(prefix, prefix, func(k, _ []byte) (bool, error) {
		p.remove(bytes.Clone(k))
		return true, nil
	})
}

// Slots calls each with every slot of a thread, until it returns false.
func (v View) Slots(name string, each func(*thread.Slot) (bool, error)) error {
	prefix := v.key(kindSlot).part(name)
	return v.scan(prefix, prefix, func(k, b []byte) (bool, error) {
		slot := &thread.Slot{}
		if err := decodeJSON(slot, "slot", string(k[len(prefix):]))(b); err != nil {
			return false, err
		}
		return each(slot)
	})
}

// Revisions calls each with every revision of a thread's messages that has a row, until it returns false.
func (v View) Revisions(name string, each func(thread.MessageRevision) (bool, error)) error {
	prefix := v.key(kindRevision).part(name)
	return v.scan(prefix, prefix, func(k, b []byte) (bool, error) {
		r, err := revisionIn(k[len(prefix):], b)
		if err != nil {
			return false, err
		}
		return each(r)
	})
}

// Elsewhere is the header of another partition's thread, as far as it is committed; nil if there is none.
func (p *Partition) Elsewhere(partition int, name string) (*thread.Header, error) {
	return p.store.View(partition).Header(name)
}
