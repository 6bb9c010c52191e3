// Package rest is the service over HTTP: the same requests and replies (package api), answered by the same code (package service),
// and beside them publishing and a thread's records as server-sent events.
//
// A request passes, in this order: the guard against browsers, the route, the token ([Tokens]), its role and threads, its rate, and
// the limits on bodies. Errors are RFC 9457 problems.
//
// Invariants: nothing is read from or published to a thread that the token does not cover, also by a fork or a parent's name; no body is
// read before the token is known; an answer to a publication names sequences that the server has confirmed, or says that it does not know.
//
// Limits: events are held in memory until the server has stored them; if it stays away, the client is told so after ten seconds, and the
// events may still be stored later. precis counts an event that comes twice once.
package rest
