package service

import (
	"context"
	"errors"
	"time"

	"precis/internal/thread"
)

// Place says which processor answers for a partition.
type Place int

// Where several processors share the partitions, each receives every request over NATS, and its partition's owner alone answers: a
// request takes one hop from any client.
const (
	Here      Place = iota
	Elsewhere       // another processor
	Moving          // this one has it no longer or not yet: it waits, and asks the next owner if that is another one
)

// Shared is what a service needs where several processors share the partitions.
type Shared interface {
	// Place says who answers for a partition now.
	Place(partition int) Place
	// Silent reports whether the owner of a partition, which is another processor, has given no sign of life since a time, and this one may be the
	// next to have the partition.
	Silent(partition int, since time.Time) bool
	// Summary looks for a summary that none of this processor's partitions has. Here: there is none, and this processor
	// says so. Elsewhere: another one answers. An error: nothing can be said now.
	Summary(ctx context.Context, id string) (Place, error)
	// Children returns the children that threads have in the partitions of other processors.
	Children(ctx context.Context, parents []string) ([]Relative, error)
	// Forward asks the processor that answers for a subject.
	Forward(ctx context.Context, subject string, body []byte) ([]byte, *Fault)
}

// Relative is a child of a thread, as the processor of its partition says.
type Relative struct {
	Header    *thread.Header `json:"header"`
	Partition int            `json:"partition"`
	Running   bool           `json:"running"`
}

const (
	// movingTimeout is how long a request waits for a partition that moves, and movingLook how often it looks.
	movingTimeout = 3 * time.Second
	movingLook    = 10 * time.Millisecond
	// silentLook is how often a request that another processor has to answer looks whether that one is alive, mostKept how many do so.
	silentLook, mostKept = 50 * time.Millisecond, 4096
)

// errSilent is the error of a request that another processor answers. errMoved is that of a request for a partition that has moved to
// another processor while the request waited here: that processor may have been silent, since it did not have the partition yet.
var (
	errSilent = errors.New("another processor answers")
	errMoved  = errors.New("the partition has moved to another processor")
)

func (s *Service) place(partition int) Place {
	if s.shared == nil {
		return Here
	}
	return s.shared.Place(partition)
}

// outlives keeps a request that another processor has to answer until that one has shown that it was alive when the request came, errSilent, or
// the partition is not its any more: the next owner answers what a dead one has not. Where neither can be said, it is a fault, which a client may get from
// several processors: as long as the cluster's bucket can't be written, none knows of another, and of several answers a client takes the first.
func (s *Service) outlives(ctx context.Context, partition int, came time.Time) error {
	if s.kept.Add(1); s.kept.Load() > mostKept {
		s.kept.Add(-1)
		return errSilent
	}
	defer s.kept.Add(-1)
	until, every := time.NewTimer(movingTimeout), time.NewTicker(silentLook)
	defer until.Stop()
	defer every.Stop()
	for s.place(partition) == Elsewhere {
		if !s.shared.Silent(partition, came) {
			return errSilent
		}
		select {
		case <-every.C:
		case <-until.C:
			return fault(codeUnavailable, "the processor that has partition %d gives no sign of life; retry in a second", partition)
		case <-ctx.Done():
			return errSilent
		}
	}
	return nil
}

// arrive returns when this processor answers for a partition. The request gives its slot back while it waits.
func (s *Service) arrive(ctx context.Context, r *request, partition int) error {
	r.partition = partition
	place := s.place(partition)
	if place == Here {
		return nil
	}
	r.rest()
	waited := r.waited || place == Moving
	until, every := time.NewTimer(movingTimeout), time.NewTicker(movingLook)
	defer until.Stop()
	defer every.Stop()
	for ; place == Moving; place = s.place(partition) {
		select {
		case <-every.C:
		case <-until.C:
			return fault(codeUnavailable, "partition %d moves from one processor to another; retry in a second", partition)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if place == Here {
		return r.work(ctx)
	}
	if waited {
		return errMoved
	}
	return errSilent
}

// still reports whether what a request has read was this processor's to answer: the partition may have moved meanwhile, or the lease ended.
func (s *Service) still(r *request) error {
	if r.partition < 0 || s.place(r.partition) == Here {
		return nil
	}
	return fault(codeUnavailable, "partition %d has moved to another processor, or this one's lease has ended; retry in a second", r.partition)
}

// ChildrenHere returns the children that threads have in some partitions, once what was read is durable.
func (s *Service) ChildrenHere(ctx context.Context, parents []string, mine func(partition int) bool) (list []Relative, err error) {
	k := s.kin()
	k.others = nil
	where := k.where
	k.where = func(parent string) (in []int) {
		for _, partition := range where(parent) {
			if mine(partition) {
				in = append(in, partition)
			}
		}
		return in
	}
	found, err := k.children(ctx, parents...)
	if err != nil {
		return nil, err
	}
	for _, c := range found {
		running, err := k.running(c)
		if err != nil {
			return nil, err
		}
		list = append(list, Relative{c.header, c.partition, running})
	}
	return list, k.durable(ctx, s)
}

// HasSummary reports whether a partition has a summary.
func (s *Service) HasSummary(partition int, id string) (bool, error) {
	_, found, err := s.backend.View(partition).SummaryThread(id)
	return found, err
}
