package broker

import "context"

// Lane is one totally ordered sequence of a stream: a partition, or the strays.
type Lane struct {
	Name    string
	Filters []string // subjects as stored
}

// Lanes is the far side of the Subscriber: it knows what is durable.
//
// For one lane all methods but List are called from that lane's goroutine, one
// after the other; different lanes call at the same time.
type Lanes interface {
	// List is asked once, when consuming starts. Names are unique.
	List() []Lane
	// Position is the last stream sequence that is durable in the lane, and the mark that Flush had with it; delivery
	// starts behind it. 0: from the start.
	Position(lane string) (last uint64, by Mark, err error)
	// Flush ends a batch: all that was acked (and all that turns did) since the last
	// Flush is to become durable, in order and whole, together with last: the stream
	// sequence up to which the lane is complete, and thus its next Position. That is the lane's last acked message,
	// except in a lane that has been idle while 10,000 messages of others passed:
	// there it is further on, and nothing may have been acked. by is the mark of the last message of any lane up to
	// there: it tells whether a stream is still the one that last is a sequence of. Never called while
	// a message is in flight. An error is fatal: nothing more is delivered in any
	// lane.
	Flush(ctx context.Context, lane string, last uint64, by Mark) error
	// Turns yields work to run in the lane's goroutine between two messages. It
	// is asked once per lane; nil means none. A Flush follows at the next pause.
	Turns(lane string) <-chan func()
	// Reached is called once per lane, when everything is flushed that the stream
	// held for it when consuming started: up to last, whose mark is by.
	Reached(lane string, last uint64, by Mark)
}
