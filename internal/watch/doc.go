// Package watch follows the session files that an agent on this machine writes, and publishes what is new in them.
//
// A [Watcher] owns all files under one directory. It reads complete lines only, maps them with package sessions and gives the events to a
// publisher, which keeps them while the server is away. Changes are seen by the file system's notifications and, since
// these get lost and not every file system has them, by looking through the directory every few seconds.
//
// What is known of a file between two runs is how far its events are stored ([State]). Message ids depend on the file alone, so a lost state
// costs time: everything is published again and known as a duplicate. It is kept all the same, since a directory holds months of sessions.
// A file that goes on is mapped again from its beginning, without being published, because the mapping of a line depends on those before it.
//
// Invariants: an offset is stored only behind events that the server has stored. A file that shrinks, is replaced or begins otherwise is
// read from its beginning. The end of an answer that no further line proves is published once the file has been quiet for
// [Quiet]; where this was done is part of the state, so that a later run maps the file alike.
//
// Limits: a file that is rewritten in its middle at the same length is not noticed. A line over events.MaxLineBytes is skipped.
package watch
