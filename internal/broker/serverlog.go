package broker

import (
	"fmt"
	"strings"
	"sync"

	"github.com/rs/zerolog"
)

// serverLog hands the embedded server's log to zerolog, and keeps its first
// fatal line: nats-server logs a fatal error and carries on half started, so
// that line is the only place where the reason stands. A stream whose write has
// failed (a full disk) refuses all others until the server is started again,
// and that too only the log tells.
type serverLog struct {
	log    zerolog.Logger
	mu     sync.Mutex
	fatal  string
	broken chan error // holds the first
}

// criticalWrite is how the server calls a failed write of a stream's.
const criticalWrite = "Critical write error"

func newServerLog(log zerolog.Logger) *serverLog {
	return &serverLog{log: log.With().Str("component", "nats-server").Logger(), broken: make(chan error, 1)}
}

// Noticef is the server telling about itself (banners, "Server is ready"): debug, for us.
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

// Fatalf must not end the process: Open turns the line into its error.
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
