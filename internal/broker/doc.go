// Package broker is everything precis knows about NATS: a server in this process
// or a connection to another one, the three streams, reading and publishing.
//
// # Types
//
//   - Broker: a connection, and the embedded nats-server behind it if there is one.
//   - Provision: makes the streams of the contract, and refuses those that would lose events.
//   - Subscriber: a Watermill Subscriber with order in lanes and deferred durability.
//   - Lanes: what the Subscriber asks of whoever keeps the positions.
//   - Publisher: a Watermill Publisher on top of PublishBatch; PublishAtomic where
//     one sync for many messages matters.
//   - LogReader: single messages by sequence or subject, and fast scans.
//
// # Order and durability
//
// A lane is one totally ordered sequence: a partition of EVENTS, or the strays
// (events published to literal wildcard subjects, which the server stores past
// the partition transform). One goroutine owns a lane and takes turns between its
// messages, the processor's own work (Lanes.Turns) and Lanes.Flush. The next
// message is handed out when the one before it was acked, whichever of the three
// topics it is on, and never while a handler runs: there is no ack timeout. An
// ack means applied. Durable is what a Flush has covered; the server is told
// nothing, since the position in the store is the only truth, and the stream
// keeps what was read.
//
// A batch ends when it is full, and in a pause: at once where the stream held
// nothing more, so that a single event waits for nothing; after BatchWait where
// it did. Flush never runs under a message in flight, and its context is not
// cancelled by Close.
//
// What a Subscriber guarantees, given Lanes that keep what Flush was called for:
// every message behind a lane's position is handed out until it is acked once, in
// the stream's order, through nacks, lost consumers, lost connections, restarts of
// the server and closes. What was acked but not flushed when the process died is
// handed out again. A stream that was deleted, made anew or rolled back under us
// ends consuming (ErrStreamLost); so do a Flush error and, at Close, a handler
// that does not return (ErrHandlerStuck): nothing is flushed then.
//
// The position of an idle lane follows the stream every 10,000 messages, so that
// a restart does not read again what the other lanes have passed. Flush's last may
// therefore lie behind the lane's last own message.
//
// # Reading
//
// One unfiltered consumer reads for all lanes (see feed for the figures that say
// why), as a pull consumer without acks that is made anew behind the last message
// whenever anything is missing. nats.go's OrderedConsumer does the same, but
// can't bound its memory for large messages, and waits out its timeouts where
// Close should return (see puller).
//
// The consumer lives on any of a stream's replicas. One that lags has nothing to
// deliver and nothing pending, and what it lacks comes later. So an end (of the
// log as it was at the start, of a scan) is reached when a delivered sequence
// reaches it, or when the stream's leader confirms that it holds nothing for the
// reader up to there (see ending). In between the reader waits; a replica that
// does not deliver within a heartbeat what the leader holds is given up for a
// consumer made anew. A leader is asked at most once a rest, and never while
// messages flow. LogReader answers ErrGone only where the leader does.
//
// Memory: at most 2,048 messages and 4 MiB, or one larger message, on their way from the
// server; PrefetchBytes of bodies (or one larger) in the queues of all lanes
// together; and one message in flight in each lane.
//
// # Watermill's suite
//
// Subscriber and Publisher pass pubsub/tests with these features:
//
//   - GuaranteedOrder, Persistent: yes.
//   - NewSubscriberReceivesOldMessages: yes where the lanes start at 0; tested in a
//     second run, with positions shared between subscribers, as not.
//   - RestartServiceCommand: yes; the suite restarts a real server under it.
//   - ConsumerGroups: no. A group is whoever shares positions; there is one, the
//     processor that owns the partition.
//   - ExactlyOnceDelivery: no. A crash hands out again what was not flushed.
//     What makes it effectively once is the position in the same commit as the
//     state, which is the store's, not the transport's.
//   - ContextPreserved: no. A context does not travel through a server.
//   - RequireSingleInstance: not needed.
//
// A message's UUID is its Nats-Msg-Id where there is one (Watermill-UUID goes
// before it), else its stream sequence. It is for logs: two agents may use one id.
// Metadata holds the first value of each header; DeliveryOf has them all.
//
// # Limits
//
//   - A lane that stands still (a handler that hangs, a message nacked for ever, a
//     topic that nobody subscribed) holds up the others when its queue is full.
//   - Lanes are fixed while a Subscriber runs.
//   - A Router whose context ends returns without closing its subscribers: call
//     Subscriber.Close afterwards, before closing the store.
//   - The server checks an expected last sequence before its duplicate window: a
//     retry after a lost acknowledgement fails with ErrWrongLastSequence, and
//     LogReader.Last tells whether its first copy is there.
//   - Headers that don't parse are delivered by nats.go as none.
package broker
