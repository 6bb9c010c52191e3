// Package history has the commands that read the log from its start: they verify, explain, add up or export it.
//
// Those that fold it do so into a scratch store, with the code that the processor runs (internal/audit). With --data they also
// open the store of a stopped processor, and the log of its embedded server.
package history
