// Package frame takes off what agents' programs put around what a command printed: labels and tags, the command itself, the directory, how it
// ended. None of it is a line of the output; what it states of the exit code is.
package frame
