package broker

import (
	"maps"
	"sync"
	"sync/atomic"
	"time"
)

// Backlog is what consuming has read from the stream and not applied yet, by lane. Any goroutine may look at it. The zero value is ready.
type Backlog struct {
	through atomic.Uint64 // all up to here has been distributed

	mu    sync.Mutex
	lanes map[string]*waiting
}

// waiting is one lane's part.
type waiting struct {
	messages atomic.Int64
	oldest   atomic.Int64 // when the stream stored what the lane works on, in Unix nanoseconds; 0: it works on nothing
}

// LaneBacklog is one lane's part of a Backlog.
type LaneBacklog struct {
	Messages int64     // a message that two lanes are given counts for both
	Oldest   time.Time // when the stream stored the message that is being applied; zero where there is none
}

// Look returns the lanes' parts, and the stream's sequence up to which all messages have been read.
func (b *Backlog) Look() (lanes map[string]LaneBacklog, through uint64) {
	through = b.through.Load()
	b.mu.Lock()
	known := maps.Clone(b.lanes)
	b.mu.Unlock()
	lanes = make(map[string]LaneBacklog, len(known))
	for name, w := range known {
		l := LaneBacklog{Messages: w.messages.Load()}
		if at := w.oldest.Load(); at != 0 {
			l.Oldest = time.Unix(0, at)
		}
		lanes[name] = l
	}
	return lanes, through
}

// lane begins a lane without a backlog: what an earlier run left is read again.
func (b *Backlog) lane(name string) *waiting {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.lanes == nil {
		b.lanes = map[string]*waiting{}
	}
	w := &waiting{}
	b.lanes[name] = w
	return w
}
