// Package sessions reads the session files of agents as events, and writes those of Claude Code: what Claude Code, Codex and others keep on the machine that they run
// on, and conversations in the shapes of the providers' APIs.
//
// The parts:
//
//   - [Lines] maps a file line by line, so that a file can be followed while it is written ("processor watch").
//   - [Open] reads a whole file, gzip included, and finds out its format where none is given ("processor publish --format").
//   - [Unmapped] names what a file has that no event stands for, by kind, with a count and the first line.
//
// Messages keep the shape of their provider: events accept it, and prompts give it back. So no reader converts contents; it
// finds threads, order, ids, times, usage, sub-agents, rewinds and compactions.
//
// Invariants: the same file gives the same events with the same ids, however it is cut into reads, so reading it again is harmless.
// A line that is broken costs itself only. A reader keeps ids and places of what it has read, no contents, except of the model's answer that it is in
// the middle of.
//
// Limits: a line has at most events.MaxLineBytes, a file that is one JSON document at most MaxDocumentBytes. A vendor may
// change its format at any time; what a reader does not know is named, never guessed.
package sessions
