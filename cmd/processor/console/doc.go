// Package console is what every command is given of the world: its streams and environment, one way to print
// results, notes and errors, one form for numbers, tables and plurals, and the exit status.
//
// Everything that goes to standard output or standard error passes through an App, which escapes what could act on a
// terminal, whatever its origin. An error ends a command with the status that Status finds for it; Wrong, Usage
// and Unreachable make errors that have one.
package console
