package audit

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"precis/events"
	"precis/internal/broker"
	"precis/state"
)

// configs holds the config.applied records by partition, in chain order.
type configs map[int][]applied

// applied is what an audit needs from a config.applied before it reads anything else.
type applied struct {
	at      time.Time
	events  time.Duration // retention of EVENTS; 0 keeps all
	content [32]byte      // digest of what all partitions share
	seq     uint64        // its chain_seq
	stored  uint64        // its sequence in SUMMARIES
	loss    *events.AcceptedLoss
}

// Applied keeps the configurations on record, for runs that follow each other beside a processor: there are as many as partitions and
// starts. Nothing removes one, and a log that is rewritten ends the processor, so that they are read again only where there are more.
// The zero value is ready for use, also by several runs at once.
type Applied struct {
	mu     sync.Mutex
	counts map[string]uint64 // of the list, by subject; it may have later ones as well
	list   configs           // never changed
}

// read returns every config.applied.
func (a *Applied) read(ctx context.Context, log *broker.LogReader) (configs, error) {
	filters := []string{string(events.ConfigApplied) + ".*"}
	a.mu.Lock()
	defer a.mu.Unlock()
	counts, err := log.Counts(ctx, filters)
	if err != nil || a.list != nil && maps.Equal(a.counts, counts) {
		return a.list, err
	}
	list := configs{}
	err = log.ScanSubjects(ctx, 1, filters, func(m broker.Stored) error {
		list.add(m.Data, m.Seq)
		return nil
	}, nil)
	if err != nil {
		return nil, err
	}
	a.counts, a.list = counts, list
	return list, nil
}

// readConfigs returns every config.applied, including those that a store has decided and the server has not confirmed.
func readConfigs(ctx context.Context, kept *Applied, log *broker.LogReader, decided [][]*state.Outgoing) (configs, error) {
	list, err := cmp.Or(kept, &Applied{}).read(ctx, log)
	if err != nil {
		return nil, fmt.Errorf("read configurations on record: %w", err)
	}
	list = maps.Clone(list)
	for partition := range list {
		list[partition] = slices.Clip(list[partition]) // what is added is not added for others
	}
	for _, row := range slices.Concat(decided...) {
		if row.Type == events.ConfigApplied {
			list.add(row.Data, ^uint64(0))
		}
	}
	return list, nil
}

// add takes a record. One that does not decode becomes a finding when it is adopted.
func (c configs) add(data []byte, stored uint64) {
	var rec events.Config
	if json.Unmarshal(data, &rec) != nil {
		return
	}
	if keep, err := time.ParseDuration(cmp.Or(rec.Retention.Events, "0s")); err == nil {
		a, partition := applied{at: rec.AppliedAt, events: keep, seq: rec.ChainSeq, stored: stored, loss: rec.AcceptedLoss}, rec.Partition
		rec.Head, rec.AcceptedLoss = events.Head{}, nil // these differ between partitions
		if content, err := json.Marshal(&rec, json.Deterministic(true)); err == nil {
			a.content, _ = canonicalDigest(content)
		}
		c[partition] = append(c[partition], a)
	}
}

// void reports whether a record at a sequence of SUMMARIES rests on events whose loss was accepted after it.
func (c configs) void(seq uint64, head events.Head) bool {
	for _, a := range c[head.Partition] {
		if a.loss != nil && seq < a.stored && head.EffectiveSeq > a.loss.EventsSeq {
			return true
		}
	}
	return false
}

// voidRejection reports the same of a rejection at a sequence of REJECTED.
func (c configs) voidRejection(partition int, event, seq uint64) bool {
	for _, a := range c[partition] {
		if a.loss != nil && seq <= a.loss.RejectedSeq && event > a.loss.EventsSeq {
			return true
		}
	}
	return false
}

// lossAfter reports whether a loss was accepted after a record of REJECTED.
func (c configs) lossAfter(partition int, seq uint64) bool {
	return slices.ContainsFunc(c[partition], func(a applied) bool { return a.loss != nil && seq <= a.loss.RejectedSeq })
}

// losses are the accepted losses on record, once for each partition that records them.
func (c configs) losses() (list []applied) {
	for _, id := range slices.Sorted(maps.Keys(c)) {
		list = append(list, slices.DeleteFunc(slices.Clone(c[id]), func(a applied) bool { return a.loss == nil })...)
	}
	return list
}

// apart calls found with every record that differs from those that most partitions wrote at the same time: a processor
// reads its configuration once and applies it to every partition.
func (c configs) apart(found func(partition int, a applied)) {
	said := map[int64]map[[32]byte]int{}
	for _, list := range c {
		for _, a := range list {
			at := a.at.UnixNano()
			if said[at] == nil {
				said[at] = map[[32]byte]int{}
			}
			said[at][a.content]++
		}
	}
	for _, id := range slices.Sorted(maps.Keys(c)) {
		for _, a := range c[id] {
			same := said[a.at.UnixNano()]
			most := slices.Max(slices.Collect(maps.Values(same)))
			if same[a.content] < most || len(same) > 1 && most == 1 {
				found(id, a)
			}
		}
	}
}

// cutoff is the time after which no retention on record has removed an event; zero if there was none. All partitions
// apply the same retention, so a record in one partition does not excuse a removal that another one does not.
func (c configs) cutoff(now time.Time) (cutoff time.Time) {
	for i, id := range slices.Sorted(maps.Keys(c)) {
		var own time.Time
		for n, a := range c[id] {
			end := now
			if n+1 < len(c[id]) {
				end = c[id][n+1].at
			}
			if at := end.Add(grace - a.events); a.events > 0 && at.After(own) {
				own = at
			}
		}
		if i == 0 || own.Before(cutoff) {
			cutoff = own
		}
	}
	return cutoff
}
