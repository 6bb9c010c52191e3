package processor

import (
	"fmt"
	"os"

	"github.com/rs/zerolog"
)

// keepPrivate closes a data directory that other users may look into: it holds what agents said. Where the directory is
// not ours to change (a mounted volume) the log says so.
func keepPrivate(dir string, log zerolog.Logger) error {
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("look at data directory: %w", err)
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		if err := os.Chmod(dir, mode&0o700); err != nil {
			log.Warn().Err(err).Str("data", dir).Stringer("mode", mode).Msg("other users may read the data directory")
		}
	}
	return nil
}
