// Package handlers joins the Watermill router to the fold: one handler a topic.
//
// A handler's ack means applied, not durable; the lane that handed the message over makes it durable
// with its batch. An event that can't be accepted is no error here: the fold puts its rejection in the
// outbox, with everything else that leaves the process. What fails is retried; what goes on failing is
// nacked, and the lane hands the same message over again, since none behind it may pass.
package handlers
