// Package clients has the clients in other languages, and the tests that run theirs against the program.
package clients
