package audit

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"precis/events"
	"precis/internal/broker"
	"precis/internal/recovery"
	"precis/state"
)

// configs are the config.applied on record, by partition, in the order of their chains.
type configs map[int][]applied

// applied is what an audit needs of a config.applied before it reads anything else.
type applied struct {
	at     time.Time
	events time.Duration // retention of EVENTS; 0 keeps all
}

// readConfigs reads every config.applied, which are few, also those that a store has decided and the server has not
// confirmed.
func readConfigs(ctx context.Context, log recovery.Scanner, decided []*state.Outgoing) (configs, error) {
	list := configs{}
	err := log.Scan(ctx, 1, []string{string(events.ConfigApplied) + ".*"}, func(m broker.Stored) error {
		list.add(m.Data)
		return nil
	}, nil)
	if err != nil {
		return nil, fmt.Errorf("read configurations on record: %w", err)
	}
	for _, row := range decided {
		if row.Type == events.ConfigApplied {
			list.add(row.Data)
		}
	}
	return list, nil
}

// add takes a record. What does not decode is a finding when it is adopted.
func (c configs) add(data []byte) {
	var rec events.Config
	if json.Unmarshal(data, &rec) != nil {
		return
	}
	if keep, err := time.ParseDuration(rec.Retention.Events); err == nil {
		c[rec.Partition] = append(c[rec.Partition], applied{at: rec.AppliedAt, events: keep})
	}
}

// cutoff is the time behind which no retention on record has removed an event; zero where there was none. All
// partitions apply the same retention: a record in one of them excuses nothing that another does not.
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
