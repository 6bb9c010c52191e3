// Package service answers requests over NATS: the micro service `precis` of the contract.
//
// Every answer is read from what is committed, and waits until that is on the disk, so that nobody is told
// what a crash could take back.
// Errors are micro errors: 400 the request, 404 not known, 413 the answer is larger than the server
// allows a message, 503 not caught up.
package service
