// Package broker contains everything that precis knows about NATS: the embedded server
// or a connection to an external one, the three streams, reading and publishing.
//
// # Types
//
//   - Broker: a connection, and the embedded nats-server behind it if there is one.
//   - Provision: creates the streams of the contract, and refuses existing ones that would lose events.
//   - Subscriber: a Watermill Subscriber with order in lanes and deferred durability.
//   - Lanes: the interface through which the Subscriber reads and advances positions.
//   - Publisher: PublishBatch for many messages in flight; PublishAtomic where they are stored together or
//     one sync for many matters.
//   - LogReader: single messages by sequence or subject, and fast scans.
//
// # Order and durability
//
// A lane is one totally ordered sequence: a partition of EVENTS, or the strays
// (events published to literal wildcard subjects, which the server stores without
// the partition transform). One goroutine owns a lane and alternates between its
// messages, the processor's own work (Lanes.Turns) and Lanes.Flush. The lane hands out
// its next message when the previous one is acked, across all four topics, and
// never while a handler runs: there is no ack timeout. In a burst, consecutive messages of
// one topic may come as one hand (SubscriberConfig.HandMessages). An
// ack means applied. Durable means covered by a Flush; the server gets no
// acks, since the position in the store is the only truth, and the stream
// keeps messages after they are read.
//
// A batch ends when it is full, and in a pause: at once if the stream held
// no more, so that a single event is not delayed; after BatchWait
// otherwise. Flush never runs while a message is in flight, and Close does not
// cancel its context.
//
// A Subscriber guarantees, given Lanes that keep what Flush covers:
// every message after a lane's position is handed out until it is acked once, in
// stream order, across nacks, lost consumers, lost connections, server restarts
// and closes. Messages that were acked but not flushed when the process died are
// handed out again. A stream that is deleted, recreated or rolled back while consumed
// ends consuming (ErrStreamLost); so do a Flush error and, at Close, a handler
// that does not return (ErrHandlerStuck): nothing is flushed then.
//
// The position of an idle lane follows the stream every 10,000 messages, so that
// a restart does not reread what the other lanes have passed. Flush's last may
// therefore be ahead of the lane's last own message.
//
// # Reading
//
// One unfiltered consumer reads for all lanes (see feed for the measurements behind
// that). It is a pull consumer without acks that is recreated after the last message
// whenever one is missing. nats.go's OrderedConsumer does the same, but
// can't bound its memory for large messages, and waits out its timeouts when
// Close should return (see puller).
//
// The server places the consumer on any of a stream's replicas. A lagging replica has nothing to
// deliver and nothing pending, and delivers the rest later. So an end (of the
// log as it was at the start, of a scan) is reached when a delivered sequence
// reaches it, or when the stream's leader confirms that it holds nothing more for the
// reader up to there (see ending). In between the reader waits; if a replica does
// not deliver within a heartbeat what the leader holds, the reader recreates
// the consumer. It asks the leader at most once per rest, and never while
// messages flow. LogReader returns ErrGone only if the leader does.
//
// Memory: at most 2,048 messages and 4 MiB, or one larger message, in flight from the
// server; PrefetchBytes of bodies (or one larger body) in the queues of all lanes
// together; and one hand in flight per lane, up to 64 KiB and one message.
//
// # Watermill's suite
//
// The Subscriber passes pubsub/tests with these features:
//
//   - GuaranteedOrder, Persistent: yes.
//   - NewSubscriberReceivesOldMessages: yes if the lanes start at 0; a second run,
//     with positions shared between subscribers, tests the opposite.
//   - RestartServiceCommand: yes; the suite restarts a real server under it.
//   - ConsumerGroups: no. A group is the set of subscribers that share positions; there is
//     only one, the processor that owns the partition.
//   - ExactlyOnceDelivery: no. After a crash, messages that were not flushed are handed out again.
//     Committing the position together with the state makes it effectively
//     once, which is up to the store, not the transport.
//   - ContextPreserved: no. A context does not travel through a server.
//   - RequireSingleInstance: not needed.
//
// A message's UUID is its Watermill-UUID header, else its Nats-Msg-Id, else its stream sequence. It is for logs:
// two agents may use the same id. Metadata holds the first value of each header; DeliveryOf has them all.
//
// # Limits
//
//   - A blocked lane (a handler that hangs, a message nacked forever, a
//     topic without a subscriber) blocks the others once its queue is full.
//   - Lanes are fixed while a Subscriber runs.
//   - A Router whose context ends returns without closing its subscribers: call
//     Subscriber.Close afterwards, before closing the store.
//   - The server checks an expected last sequence before its duplicate window: a
//     retry after a lost acknowledgement fails with ErrWrongLastSequence, and
//     LogReader.Last shows whether the first copy was stored.
//   - nats.go drops headers that don't parse.
package broker
