package processor

import (
	"context"
	"fmt"
	"time"
)

// In a cluster a processor whose disk is nearly full leaves its partitions to others while it can still hand them over: a store that can't
// write ends the process (state), and one that is started again and again would take partitions each time, and lose them.

// leastRoom is what a store needs for its log, a flush and a compaction while partitions are handed over; of a small disk a quarter.
const leastRoom = 64 << 20

// roomEvery is how often a start looks whether there is room.
const roomEvery = time.Second

// room says whether the data directory's disk has room to have partitions.
type room struct {
	disk  func() (free, total int64, ok bool)
	short bool
}

// check returns why there is no room. Once there is none, it takes twice as much to have it again.
func (r *room) check() error {
	free, total, ok := r.disk()
	if !ok {
		return nil
	}
	least := min(leastRoom, total/4)
	if r.short {
		least *= 2
	}
	if r.short = free < least; r.short {
		return fmt.Errorf("the disk of the data directory has %d bytes left, %d are needed", free, least)
	}
	return nil
}

// awaitRoom waits, in a cluster, until the store can be opened.
func (p *Processor) awaitRoom(ctx context.Context) error {
	if p.opts.Config.Cluster.Name == "" {
		return nil
	}
	every := time.NewTicker(roomEvery)
	defer every.Stop()
	for told := false; ; told = true {
		err := p.room.check()
		if err == nil {
			return nil
		}
		if !told {
			p.log.Error().Err(err).Msg("not started: partitions are left to other processors until there is room")
		}
		select {
		case <-every.C:
		case <-ctx.Done():
			return fmt.Errorf("wait for room: %w", err)
		}
	}
}

// aside is why this processor has no partitions for now.
func (p *Processor) aside() error {
	if p.shares.member == nil || len(p.parts()) > 0 {
		return nil
	}
	return p.shares.member.View().Aside
}
