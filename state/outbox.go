package state

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"precis/events"
)

// Own is the end of a partition's own chain in SUMMARIES: that of its claims and configurations, whose thread_id is null.
type Own struct {
	Seq      uint64 `json:"seq"` // in SUMMARIES
	ChainSeq uint64 `json:"chain_seq"`
	Chain    string `json:"chain"`
}

// Link is the end as that of a thread's chain.
func (o Own) Link() Link { return Link{ChainSeq: o.ChainSeq, Chain: o.Chain} }

// Unsealed is the data of a config.applied without its place in the chain, in RFC 8785 form. A configuration gets its place
// when it is published: a claim may come before it.
func Unsealed(data []byte) ([]byte, error) {
	members := map[string]jsontext.Value{}
	if err := json.Unmarshal(data, &members); err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	delete(members, "chain_seq")
	delete(members, "chain")
	out, err := json.Marshal(members)
	if err == nil {
		err = (*jsontext.Value)(&out).Canonicalize()
	}
	return out, err
}

// OwnSuffix ends the id of a config.applied to which Sealed adds the record's chain_seq.
const OwnSuffix = "/"

// Sealed is an outbox row as it is published behind the end of the partition's own chain, and the end that it makes. Only a
// config.applied is sealed so late; any other row is returned as it is.
func (o *Outgoing) Sealed(end Own) (*Outgoing, Own, error) {
	if o.Type != events.ConfigApplied {
		return o, end, nil
	}
	members := map[string]jsontext.Value{}
	if err := json.Unmarshal(o.Data, &members); err != nil {
		return nil, end, fmt.Errorf("read outbox row %s: %w", o.ID, err)
	}
	n := strconv.FormatUint(end.ChainSeq+1, 10)
	members["chain_seq"] = jsontext.Value(n)
	data, chain, err := events.Seal(end.Chain, members)
	if err != nil {
		return nil, end, fmt.Errorf("read outbox row %s: %w", o.ID, err)
	}
	row := *o
	row.Data = data
	if strings.HasSuffix(o.ID, OwnSuffix) {
		row.ID += n
	}
	return &row, Own{ChainSeq: end.ChainSeq + 1, Chain: chain}, nil
}

// Send adds a row to the outbox: it leaves the process when the open batch is durable.
func (p *Partition) Send(o *Outgoing) {
	p.meta.NextOutgoing++
	o.Number = p.meta.NextOutgoing
	p.set(p.key(kindOutbox).number(o.Number), encodeOutgoing(o))
	p.outgoing = append(p.outgoing, o)
}

// Delivered removes a row that the server has stored at a sequence of its stream. 0: it is in no stream, or not any more.
func (p *Partition) Delivered(o *Outgoing, seq uint64) {
	p.remove(p.key(kindOutbox).number(o.Number))
	if o.Guarded {
		p.place(o.Type, o.Thread, o.ChainSeq, seq)
	}
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
		return true, nil
	})
	return rows, err
}
