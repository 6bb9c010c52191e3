package processor

import (
	"fmt"
	"os"

	"github.com/rs/zerolog"
)

// keepPrivate removes other users' access to the data directory: it holds what agents said. If it can't change the
// directory (a mounted volume), it logs a warning.
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
