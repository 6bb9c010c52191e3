package backup

import "errors"

var (
	// ErrNoBackup: the place has no backup, or none of that time.
	ErrNoBackup = errors.New("no backup")
	// ErrPartial: the first run into the place was interrupted.
	ErrPartial = errors.New("partial backup")
	// ErrDamaged: a file of the backup is missing or is not as it was written.
	ErrDamaged = errors.New("damaged backup")
	// ErrFormat: another version wrote the backup.
	ErrFormat = errors.New("unknown backup format")
	// ErrOtherLog: the backup in the place is that of other streams, or of these before they were rolled back.
	ErrOtherLog = errors.New("the place holds the backup of another log")
	// ErrNotEmpty: a stream that is to be restored holds messages.
	ErrNotEmpty = errors.New("stream is not empty")
	// ErrInUse: a processor serves the streams.
	ErrInUse = errors.New("streams are in use")
	// ErrRestored: a restored stream is not what the backup holds.
	ErrRestored = errors.New("restored stream differs from the backup")
)
