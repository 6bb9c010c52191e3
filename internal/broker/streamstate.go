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
		Msgs: info.State.Msgs, Created: info.Created, LastTime: info.State.LastTime, MaxAge: info.Config.MaxAge,
	}
}
