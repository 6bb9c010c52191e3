//go:build unix

package umask

import "syscall"

// Private keeps what the program writes to its own user: stores and exports hold what agents said. Pebble and the embedded
// server choose their files' modes themselves.
func Private() { syscall.Umask(0o077) }
