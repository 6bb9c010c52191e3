package state

import "github.com/cockroachdb/pebble/v2"

// Snapshot reads one state of a partition, whatever is committed meanwhile.
type Snapshot struct {
	View
	snapshot *pebble.Snapshot
}

// Snapshot takes the state that is committed now. The caller closes it.
func (s *Store) Snapshot(partition int) *Snapshot {
	snap := s.db.NewSnapshot()
	return &Snapshot{View: View{r: snap, id: uint16(partition)}, snapshot: snap}
}

// Close gives the snapshot up; a store can't be closed before.
func (s *Snapshot) Close() error { return s.snapshot.Close() }
