// Package contents reads the contents of messages. They stay in the log, which is read by sequence; a small cache
// keeps recent ones, since the messages before a tool output influence its summary.
package contents
