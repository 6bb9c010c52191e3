package broker

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// StreamState is the state that a stored position is checked against.
type StreamState struct {
	First   uint64 // first sequence held; Last+1 in an emptied stream
	Last    uint64 // last sequence assigned, even if its message is gone
	Msgs    uint64
	Created time.Time
	// LastTime is when Last was stored, even if its message is gone.
	LastTime time.Time
	Replicas int
	// MaxAge is how long the stream keeps a message; 0: no limit.
	MaxAge time.Duration
}

// Holes is the number of messages between first and last that the server knows to be gone.
func (s StreamState) Holes() uint64 {
	if s.First == 0 || s.Last < s.First { // nothing was ever stored, or everything is gone
		return 0
	}
	return s.Last - s.First + 1 - s.Msgs
}

// StateOf returns the current state from the stream's leader. If a stream has
// no leader, any replica may answer, even a lagging one: that is ErrNoLeader.
func StateOf(ctx context.Context, js jetstream.JetStream, stream string) (StreamState, error) {
	s, err := js.Stream(ctx, stream)
	if err != nil {
		return StreamState{}, fmt.Errorf("read state of stream %s: %w", stream, err)
	}
	info := s.CachedInfo()
	if info.Cluster != nil && info.Cluster.Leader == "" {
		return StreamState{}, fmt.Errorf("read state of stream %s: %w", stream, ErrNoLeader)
	}
	return StateIn(info), nil
}

// StateIn returns the state in a server's answer.
func StateIn(info *jetstream.StreamInfo) StreamState {
	return StreamState{
		First: info.State.FirstSeq, Last: info.State.LastSeq,
		Msgs: info.State.Msgs, Created: info.Created, LastTime: info.State.LastTime, MaxAge: info.Config.MaxAge, Replicas: info.Config.Replicas,
	}
}

// Missing are sequences between a stream's first and last that it does not return: they were deleted, or the server
// can't read them. A running server silently skips a message that is damaged in its files (2.15); at startup it counts
// such a message as deleted, and lost.
type Missing struct {
	Stream   string
	From, To uint64
}

// Messages returns their number.
func (m Missing) Messages() uint64 { return m.To - m.From + 1 }

func (m Missing) String() string {
	if m.From == m.To {
		return fmt.Sprintf("%s %d", m.Stream, m.From)
	}
	return fmt.Sprintf("%s %d to %d", m.Stream, m.From, m.To)
}

// unbroken detects missing messages in a stream that is read completely and in order.
type unbroken struct {
	stream string
	next   uint64
	tell   func(Missing) // nil: don't report
}

// saw records a message: anything before it has been seen, or will not come.
func (u *unbroken) saw(seq uint64) {
	u.upTo(seq - 1)
	u.next = max(u.next, seq+1)
}

// upTo records that nothing more comes up to last.
func (u *unbroken) upTo(last uint64) {
	if last < u.next {
		return
	}
	if u.tell != nil {
		u.tell(Missing{Stream: u.stream, From: u.next, To: last})
	}
	u.next = last + 1
}
