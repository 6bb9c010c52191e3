// Package handlers says what each event of the log does, in the order in which it does it: tool_result.go, thread_message.go,
// message_edited.go, thread_forked.go. Each has its Watermill handler, which the router calls, and its walk through one step of the fold. Live
// processing, catching up in bulk, recovery and audits take the same walks.
//
// A handler's ack means applied, not durable; the lane that handed the message over makes it durable
// with its batch. An event that can't be accepted is no error here: the fold puts its rejection in the
// outbox, with everything else that leaves the process. What fails is retried; what goes on failing is
// nacked, and the lane hands the same message over again, since none behind it may pass.
package handlers
