package state

import (
	"fmt"

	"github.com/cockroachdb/pebble/v2"
)

// Drop removes all rows of a partition, which nothing may have open: the log has what they are made from.
func (s *Store) Drop(partition int) error {
	from := key{byte(partition >> 8), byte(partition)}
	if err := s.db.DeleteRange(from, from.end(), pebble.Sync); err != nil {
		return fmt.Errorf("drop partition %d: %w", partition, err)
	}
	return nil
}
