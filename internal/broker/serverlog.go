package broker

import (
	"fmt"
	"strings"
	"sync"

	"github.com/rs/zerolog"
)

// serverLog forwards the embedded server's log to zerolog, and keeps its first
// fatal line: nats-server logs a fatal error and carries on half started, so
// only that line contains the reason. A stream whose write has
// failed (a full disk) refuses all others until the server is restarted,
// and only the log reports that, too.
type serverLog struct {
	log    zerolog.Logger
	mu     sync.Mutex
	fatal  string
	broken chan error // holds the first write error
}

// criticalWrite is the server's log message for a stream's failed write.
const criticalWrite = "Critical write error"

func newServerLog(log zerolog.Logger) *serverLog {
	return &serverLog{log: log.With().Str("component", "nats-server").Logger(), broken: make(chan error, 1)}
}

// Noticef logs the server's own notices (banners, "Server is ready") at debug level.
func (l *serverLog) Noticef(format string, v ...any) { l.log.Debug().Msgf(format, v...) }

// Warnf implements server.Logger.
func (l *serverLog) Warnf(format string, v ...any) { l.log.Warn().Msgf(format, v...) }

// Errorf implements server.Logger.
func (l *serverLog) Errorf(format string, v ...any) {
	l.log.Error().Msgf(format, v...)
	if !strings.Contains(format, criticalWrite) {
		return
	}
	select {
	case l.broken <- fmt.Errorf("%w: free disk space and start again: "+format, append([]any{ErrBroken}, v...)...):
	default:
	}
}

// Debugf implements server.Logger.
func (l *serverLog) Debugf(format string, v ...any) { l.log.Trace().Msgf(format, v...) }

// Tracef implements server.Logger.
func (l *serverLog) Tracef(format string, v ...any) { l.log.Trace().Msgf(format, v...) }

// Fatalf must not end the process: Open returns the line as its error.
func (l *serverLog) Fatalf(format string, v ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fatal == "" {
		l.fatal = fmt.Sprintf(format, v...)
	}
	l.log.Debug().Msgf(format, v...)
}

func (l *serverLog) fatalLine() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fatal
}
