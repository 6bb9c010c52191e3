package fold

import (
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"precis/events"
	"precis/state"
)

// Configure puts a configuration in force from the partition's position on and, unless it is in force already, records it with
// the time from which it applies. It may replace a newer program's: nothing after it is folded under that one. While records are
// being adopted the configuration on record stands and done is false: call it again after the recovery.
func (f *Fold) Configure(c *Config, since time.Time) (done bool, err error) {
	if f.part.Meta().Staged > 0 {
		return false, nil
	}
	rec, err := c.applied()
	if err != nil {
		return false, err
	}
	newer := f.config.Newer
	if newer == nil && rec.Fingerprint == f.fingerprint && rec.ProgramVersion == f.config.ProgramVersion {
		return true, nil
	}
	if newer != nil {
		f.Logger.Warn().Err(newer).Str("program", f.config.ProgramVersion).Msg("a newer program's configuration is replaced by this program's")
	}
	st, err := f.part.LoadThread("")
	if err != nil {
		return false, err
	}
	position := f.part.Meta().Position
	f.begin(events.ByConfiguration)
	id := events.PositionEventID(events.ConfigApplied, f.part.ID(), position)
	if f.fingerprint != "" && st.Header.EventSeq == position {
		// Two configurations at one position are two records: the second must not be dropped as a duplicate of the first.
		id += state.OwnSuffix
	}
	rec.AppliedAt = since.UTC()
	rec.Head = events.Head{Partition: f.part.ID(), EventSeq: position, EffectiveSeq: max(position, f.applied), Step: events.Step{Cause: f.cause, Index: 1}}
	data, err := unsealed(rec)
	if err != nil {
		return false, err
	}
	st.Header.EventSeq, f.prev = position, ""
	f.send(st, rec, "", events.ConfigApplied, id, data, since)
	f.part.Save(st)
	f.flush()
	f.part.SaveConfig(data)
	// Later decisions of turns are made under this configuration: a rebuild must adopt it first.
	f.applied = max(f.applied, position)
	return true, f.replace(data)
}

// unsealed is the data of a configuration that gets its place in the partition's own chain when it is published.
func unsealed(rec *events.Config) ([]byte, error) {
	data, err := json.Marshal(rec, json.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("record configuration: %w", err)
	}
	return state.Unsealed(data)
}
