package fold

import (
	"fmt"
	"time"

	"precis/events"
)

// Configure puts a configuration in force from the partition's position on, and records it where it is
// not the one in force already, with the time since when it is to be. It may take the place of a newer program's:
// nothing behind it is folded under that one any more. While records are being adopted the configuration on record stands, and
// done is false: the caller comes again when the recovery is over.
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
		f.logger.Warn().Err(newer).Str("program", f.config.ProgramVersion).Msg("this program's own configuration is in force from here on")
	}
	st, err := f.part.LoadThread("")
	if err != nil {
		return false, err
	}
	position := f.part.Meta().Position
	f.out = f.out[:0] // of a step that failed
	id := events.PositionEventID(events.ConfigApplied, f.part.ID(), position)
	if st.Header.ChainSeq > 0 && st.Header.EventSeq == position {
		// Two configurations at one position are two records: the second may not be taken for a
		// duplicate of the first.
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
	// What turns decide from now on is decided under this configuration: a rebuild has to meet it first.
	f.applied = max(f.applied, position)
	return true, f.replace(data)
}
