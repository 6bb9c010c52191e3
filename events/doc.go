// Package events is what agents and the processor say to each other: the types of every event, the
// subjects they travel on, their CloudEvents envelope, and a client to publish and to follow them.
//
// The parts:
//
//   - [Message], [Edit] and [Event] are what agents publish; [Summary], [Started], [Failed], [Invalidated],
//     [UsageRecord], [Config] and [Rejected] are what the processor publishes.
//   - [Token] and [ThreadOf] map any thread id of 1 to 256 bytes to one subject token and back;
//     [Subject] and [ParseSubject] do the same for whole subjects.
//   - [Decode] makes an [Event] of a NATS message in any of the three envelope forms, or says with a
//     [RejectError] why it can't be accepted. It is a pure function of the message and the limits.
//   - [DigestOf] is what makes two contents the same; [Seal] and [VerifyChain] make a thread's records
//     tamper-evident; [Encode] writes the envelope of what the processor publishes.
//   - [FileReader] and [FileWriter] read and write event files: one event a line.
//   - [Publisher] publishes for an agent and loses nothing it accepted while the server is away, [Subscription]
//     follows the records durably, and a [Gate] holds a session while a summary of its thread is in the making.
//
// Invariants: a decoded event shares no memory with the NATS message it came from; text in a decoded event is
// valid UTF-8; a digest never depends on how JSON was laid out; Decode, digests and records read no clock.
//
// Limits: JSON is read as RFC 7493 has it (valid UTF-8, no duplicate names) and at most 10,000 levels deep;
// what goes beyond is CodeInvalidJSON. A thread id that is not valid UTF-8 has a token, but no event can be
// accepted for it, since no JSON record could name it.
package events
