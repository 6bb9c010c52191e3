// Package content reads the texts of messages. They stay in the log, which is read by sequence; the store has their places and
// digests alone.
//
//   - Log reads events; Cache keeps recent ones in memory, Masked removes secrets before anything is cut.
//   - Current, Earlier and Between read messages as they are now, or as they were first published.
//   - Called completes a tool result from the call that asked for it.
//   - MessagesOf, LedgerOf and LedgerAgain read what a summary was made from.
//
// Invariants: what a reader returns depends only on the log and the rows it is given. An event that retention has removed is
// ErrGone or leaves its message without a text, never an error of its own kind.
package content
