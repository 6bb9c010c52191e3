package state

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2"
)

// Lost marks a partition whose store names rows of a parked thread that are lost: its rows are dropped before anything opens it again, and made from the
// log, or from a snapshot that does not name the same object. The mark is a row of the store, beside its format: a process that ends meanwhile does not forget it. It stands until the
// partition is where the log ends.
type Lost struct {
	Set    bool
	Object string   // that is lost; empty: the rows are dropped, and are being made again
	Gone   []string // objects for whose sake rows were dropped: no table that names one takes their place, as long as that is not back
}

// mostGone bounds Gone, with the latest ones: more would be lost than two snapshots name between them.
const mostGone = 1000

// markOf reads the row of a mark.
func markOf(value []byte) Lost {
	all := strings.Split(string(value), "\n")
	return Lost{Set: true, Object: all[0], Gone: all[1:]}
}

// dropped is the mark once the partition's rows are.
func (m Lost) dropped() Lost {
	gone := append(slices.Clone(m.Gone), m.Object)
	return Lost{Set: true, Gone: gone[max(0, len(gone)-mostGone):]}
}

func (m Lost) row() []byte { return []byte(strings.Join(append([]string{m.Object}, m.Gone...), "\n")) }

// kindLost is of the store's own rows; the partition's number follows.
const kindLost = 'L'

func lostKey(partition int) key { return newKey(formatPartition, kindLost).number(uint64(partition)) }

// Lost is the mark of a partition.
func (s *Store) Lost(partition int) (mark Lost, err error) {
	if !s.parks.Load() {
		return Lost{}, nil
	}
	value, closer, err := s.db.Get(lostKey(partition))
	if errors.Is(err, pebble.ErrNotFound) {
		return Lost{}, nil
	}
	if err != nil {
		return Lost{}, fmt.Errorf("read mark of partition %d: %w", partition, readError(err))
	}
	return markOf(value), closer.Close()
}

// MarkLost marks a partition, unless its rows are to be dropped already.
func (s *Store) MarkLost(partition int, object string) error {
	mark, err := s.Lost(partition)
	if err != nil || mark.Object != "" {
		return err
	}
	mark.Object = object
	if err := s.db.Set(lostKey(partition), mark.row(), s.durably()); err != nil {
		return fmt.Errorf("mark partition %d: %w", partition, err)
	}
	return nil
}

// ClearLost removes the mark of a partition whose rows are as good as any.
func (s *Store) ClearLost(partition int) error {
	if mark, err := s.Lost(partition); err != nil || !mark.Set {
		return err
	}
	if err := s.db.Delete(lostKey(partition), s.durably()); err != nil {
		return fmt.Errorf("remove mark of partition %d: %w", partition, err)
	}
	return nil
}
