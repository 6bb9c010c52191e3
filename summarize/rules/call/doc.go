// Package call reads the arguments of a tool call: its path, pattern, address or command, under the names that agents use, and which
// lines of which files a shell command shows.
package call
