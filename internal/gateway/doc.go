// Package gateway stands between an agent and its provider: it passes requests and answers on, and publishes what they say as events.
//
// A request to an operation that the gateway reads (OpenAI's chat completions and Responses, Anthropic's messages) is copied while it
// passes, and so is its answer. When the exchange has ended, one worker reads both copies ([conversation], [answer]), recognizes the thread
// and publishes the messages that the thread does not have yet. Everything else is only passed on.
//
// Messages are published in their provider's own shape; package events reads it. Nothing here maps one shape to another.
//
// Invariants:
//
//   - In mode observe no byte of a request's or answer's body changes, nor any of its end-to-end headers but Precis-*, which are the
//     gateway's. An answer that breaks off breaks off.
//   - In mode compact a request changes in one member, the list of messages, and only where the prompt accounts for each message of the
//     request (spliced). What stands whole in it is what the client sent.
//   - What precis answers itself (compaction), the provider does not see; a block that it made comes back as a text (restored).
//   - In mode observe no request waits for precis or NATS: the copies are bounded, the queue and the publisher's buffer too, and what they have no room
//     for is dropped and counted.
//   - The memory of copies is used again (memory). Who reads a copy's bytes holds it: its exchange until they are published, the body that a transport
//     reads, the worker that stores a request's messages. What is kept for longer is a copy of its own.
//   - A message's id follows from the conversation alone (identify). A request that is sent again publishes duplicates, and a later
//     request of the conversation publishes what was dropped.
//   - Headers are not kept, but for the names of threads, sessions and agents.
//
// Limits: a conversation's instructions are published as they were first seen. Only exchanges that the provider accepted are published.
// A message that the client changes between two requests stays as it was first seen if it contains calls or results, and is another
// one otherwise.
package gateway
