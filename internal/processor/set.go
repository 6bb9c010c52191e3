package processor

import (
	"cmp"
	"slices"

	"precis/internal/broker"
)

// set is the partitions that a processor runs. It is replaced as a whole, so that a reader sees one state of it.
type set struct {
	list   []*partition // in the order of their numbers
	byLane map[string]*partition
	byID   map[int]*partition
}

func newSet(list []*partition) *set {
	s := &set{list: slices.Clone(list), byLane: make(map[string]*partition, len(list)), byID: make(map[int]*partition, len(list))}
	slices.SortFunc(s.list, func(a, b *partition) int { return cmp.Compare(a.id, b.id) })
	for _, part := range s.list {
		s.byLane[part.lane], s.byID[part.id] = part, part
	}
	return s
}

// parts lists the partitions that the processor runs.
func (p *Processor) parts() []*partition { return p.running.Load().list }

// part returns a partition; nil if the processor does not run it.
func (p *Processor) part(id int) *partition { return p.running.Load().byID[id] }

// strays is the number of the last partition, which has what the partition transform did not match.
func (p *Processor) strays() int { return p.opts.Config.Partitions }

// total is how many partitions the log has, the strays' included.
func (p *Processor) total() int { return p.strays() + 1 }

// all lists the numbers of all partitions.
func (p *Processor) all() []int {
	ids := make([]int, p.total())
	for i := range ids {
		ids[i] = i
	}
	return ids
}

// laneOf returns the lane of a partition.
func (p *Processor) laneOf(id int) broker.Lane {
	if id == p.strays() {
		return broker.StrayLane()
	}
	return broker.PartitionLane(id)
}
