package broker

import (
	"fmt"
	"sync"

	"github.com/rs/zerolog"
)

// serverLog hands the embedded server's log to zerolog, and keeps its first
// fatal line: nats-server logs a fatal error and carries on half started, so
// that line is the only place where the reason stands.
type serverLog struct {
	log   zerolog.Logger
	mu    sync.Mutex
	fatal string
}

func newServerLog(log zerolog.Logger) *serverLog {
	return &serverLog{log: log.With().Str("component", "nats-server").Logger()}
}

// Noticef is the server telling about itself (banners, "Server is ready"): debug, for us.
func (l *serverLog) Noticef(format string, v ...any) { l.log.Debug().Msgf(format, v...) }

// Warnf implements server.Logger.
func (l *serverLog) Warnf(format string, v ...any) { l.log.Warn().Msgf(format, v...) }

// Errorf implements server.Logger.
func (l *serverLog) Errorf(format string, v ...any) { l.log.Error().Msgf(format, v...) }

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
