//go:build unix

package main

import "syscall"

// private keeps what the program writes to its own user: stores and exports hold what agents said. Pebble and the embedded
// server choose their files' modes themselves.
func private() { syscall.Umask(0o077) }
