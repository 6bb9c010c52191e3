package fold

import (
	"fmt"
	"time"

	"precis/events"
)

// Configure puts a configuration in force from the partition's position on and, unless it is in force already, records it with
// the time from which it applies. It may replace a newer program's: nothing after it is folded under that one. While records are
// being adopted the configuration on record stands and done is false: call it again after the recovery.
func (f *Fold) Configure(c *Config, since time.Time) (done bool, err error) {
	if f.part.Meta().Staged > 0 {
		return false, nil
	}
	rec, err := c.record()
	if err != nil {
		return false, err
	}
	newer := f.config.Newer
	if newer == nil && rec.Fingerprint == f.fingerprint && rec.ProgramVersion == f.config.ProgramVersion {
		return true, nil
	}
	if newer != nil {
		f.logger.Warn().Err(newer).Str("program", f.config.ProgramVersion).Msg("a newer program's configuration is replaced by this program's")
	}
	st, err := f.part.LoadThread("")
	if err != nil {
		return false, err
	}
	position := f.part.Meta().Position
	f.begin(events.ByConfiguration)
	id := events.PositionEventID(events.ConfigApplied, f.part.ID(), position)
	if st.Header.ChainSeq > 0 && st.Header.EventSeq == position {
		// Two configurations at one position are two records: the second must not be dropped as a duplicate of the first.
		id = fmt.Sprintf("%s/%d", id, st.Header.ChainSeq+1)
	}
	rec.AppliedAt = since.UTC()
	data := f.seal(st, rec, position, nil)
	st.Noted(*rec.Common())
	st.Header.EventSeq = position
	f.send(st, rec, "", id, data, since)
	f.part.Save(st)
	f.flush()
	f.part.SaveConfig(data)
	// Later decisions of turns are made under this configuration: a rebuild must adopt it first.
	f.applied = max(f.applied, position)
	return true, f.replace(data)
}
