package broker

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// StreamState is what a stored position has to be held against.
type StreamState struct {
	First   uint64 // first sequence held; Last+1 in an emptied stream
	Last    uint64 // last sequence given out, also when its message is gone
	Msgs    uint64
	Created time.Time
	// LastTime is when Last was stored, also when its message is gone.
	LastTime time.Time
	// MaxAge is how long the stream keeps a message; 0 keeps all.
	MaxAge time.Duration
}

// Holes is how many messages between the first and the last the server knows to be gone.
func (s StreamState) Holes() uint64 {
	if s.First == 0 || s.Last < s.First { // nothing was ever stored, or everything is gone
		return 0
	}
	return s.Last - s.First + 1 - s.Msgs
}

// StateOf asks the stream's leader for the stream's state now. Where a stream has
// no leader any replica may answer, also one that lags: that is ErrNoLeader.
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

// StateIn is the state that a server's answer holds.
func StateIn(info *jetstream.StreamInfo) StreamState {
	return StreamState{
		First: info.State.FirstSeq, Last: info.State.LastSeq,
		Msgs: info.State.Msgs, Created: info.Created, LastTime: info.State.LastTime, MaxAge: info.Config.MaxAge,
	}
}
