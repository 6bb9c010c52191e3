// Package backup copies the three streams into a directory, and restores them from one.
//
// A backup is a list of segments, files of consecutive messages of one stream, and a manifest that lists them with their
// checksums. A run appends what the streams have got since the last one, and ends with a point: a last sequence for each
// stream, up to which the three fit together. A run that is interrupted leaves segments without a point. The next run
// continues behind them, and a restore does not see them.
//
// # Why the streams fit together
//
// The cut of SUMMARIES and REJECTED is read first, and that of EVENTS after it; a stream's leader answers each. A record or a
// rejection is published after its event was stored, so that every event that one refers to is in front of the cut of EVENTS. The
// records up to the cut are whole steps: a cut inside a step waits for its end. What the processor had not yet published at the cut is
// decided again by the processor that starts on the restored streams, as after a crash that lost the store and the
// outbox: the records are a prefix of every chain, so they are adopted, and the events behind them are decided as they would be live.
//
// # Format
//
// A segment is an S2 stream of the archive format in which nats-server 2.15 takes snapshots of streams: a message keeps its
// sequence, time, subject, headers and body. A restore sends such a snapshot, so that first and last sequences, gaps and times are the
// same. The creation time of a restored stream is its own: a store that was made from the original is refused, and rebuilt.
//
// # Limits
//
// Headers are written in the order of their names. Consumers are not part of a backup. A message that was deleted after a run stays in
// the backup: a directory that must not have it is to be replaced by a new one.
package backup
