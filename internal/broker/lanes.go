package broker

import "context"

// Lane is one totally ordered sequence of a stream: a partition, or the strays.
type Lane struct {
	Name    string
	Filters []string // subjects as stored
}

// Lanes is the Subscriber's view of the store, which knows what is durable.
//
// For one lane all methods but List are called from that lane's goroutine, one
// after the other; different lanes call concurrently.
type Lanes interface {
	// List is called once, when consuming starts. Names are unique.
	List() []Lane
	// Position is the last stream sequence that is durable in the lane, and the mark that Flush passed with it; delivery
	// starts after it. 0: from the start.
	Position(lane string) (last uint64, by Mark, err error)
	// Flush ends a batch: all messages acked and turns run since the last Flush must become durable, in order and
	// atomically, together with last: the stream sequence up to which the lane is complete, and thus its next
	// Position. That is the lane's last acked message, except in a lane that was idle while 10,000 messages of
	// others passed: there it is further on, possibly without any ack. by is the mark of the last message of any lane
	// up to there: it identifies the stream that last is a sequence of. Flush is never called while a message is in
	// flight. An error is fatal: no lane delivers any more.
	Flush(ctx context.Context, lane string, last uint64, by Mark) error
	// Turns yields work to run in the lane's goroutine between two messages. It
	// is called once per lane; nil means none. A Flush follows at the next pause.
	Turns(lane string) <-chan func()
	// Reached is called once per lane, when everything that the stream held for it when
	// consuming started is flushed: up to last, whose mark is by.
	Reached(lane string, last uint64, by Mark)
}
