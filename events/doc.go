// Package events is the protocol between agents and the processor: the types of every event, their NATS subjects,
// their CloudEvents envelope, and a client that publishes and follows them.
//
// The parts:
//
//   - [Message], [Edit] and [Event] are what agents publish; [Summary], [Started], [Failed], [Invalidated],
//     [UsageRecord], [Config] and [Rejected] are what the processor publishes.
//   - [Token] and [ThreadOf] map any thread id of 1 to 256 bytes to one subject token and back;
//     [Subject] and [ParseSubject] do the same for whole subjects.
//   - [Decode] turns a NATS message in any of the three envelope forms into an [Event], or returns a
//     [RejectError] with the reason. It is a pure function of the message and the limits.
//   - [DigestOf] decides whether two contents are equal; [Seal] and [VerifyChain] make a thread's records
//     tamper-evident; [Encode] returns the envelope headers of the processor's events.
//   - [FileReader] and [FileWriter] read and write event files, one event per line.
//   - [Publisher] publishes for an agent and keeps accepted events while the server is away, [Subscription] follows
//     the records durably, and a [Gate] blocks a session while a summary of its thread is in progress.
//
// Invariants: a decoded event shares no memory with its NATS message; text in a decoded event is valid UTF-8; a
// digest does not depend on the layout of the JSON; Decode, digests and records don't read the clock.
//
// Limits: JSON follows RFC 7493 (valid UTF-8, no duplicate names) and nests at most 10,000 levels deep; anything
// else is CodeInvalidJSON. A thread id that is not valid UTF-8 has a token, but its events are rejected, since no
// JSON record could name it.
package events
