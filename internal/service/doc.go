// Package service answers requests over NATS: the micro service `precis` of the contract.
//
// Every answer is read from committed state and waits until that state is on disk, so that no client sees
// what a crash could undo.
// Errors are micro errors: 400 the request, 404 not known, 413 the answer is larger than the server
// allows a message, 503 not caught up, or too many requests wait.
//
// A reply goes to an inbox or nowhere (Inboxes): it is published with the service's rights, and must not be a way for a
// client to write elsewhere. That holds for the micro protocol's own answers too, which is why it is spoken here.
//
// A request that waits for its min_event_seq holds no slot. How many wait is bounded by client, by thread and in all. A
// client that asks from an inbox of its own each time is known by its threads alone.
package service
