package state

import (
	"fmt"
	"runtime"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/rs/zerolog"
)

// pebbleLogger forwards Pebble's log to ours. Fatalf must not return: Pebble calls it when a
// write is lost (a full disk), and would then report the commit as done.
type pebbleLogger struct {
	log   zerolog.Logger
	fatal func(string)
}

func (l pebbleLogger) Infof(format string, args ...any) {
	l.log.Trace().Msgf(format, args...)
}

func (l pebbleLogger) Errorf(format string, args ...any) {
	l.log.Error().Msgf("store: "+format, args...)
}

func (l pebbleLogger) Fatalf(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	l.log.Error().Msg("the store cannot write; ending the process. Free disk space and start again: " + text)
	l.fatal(text)
	panic(text) // whatever fatal does, no commit may be taken for done
}

// background hears what failed behind the writers. Pebble tries again at once and for ever, and Open does not
// return meanwhile: on a full disk that is the end.
func (l pebbleLogger) background(err error) {
	if vfs.IsNoSpaceError(err) {
		l.Fatalf("%v", err)
	}
	l.Errorf("background error: %v", err)
}

// unwritten ends the process in order where Pebble panics since its log can't be written any more, as on a full
// disk: the write before has failed behind the writer, and this one is told.
func (s *Store) unwritten() {
	why := recover()
	if why == nil {
		return
	}
	err, ok := why.(error)
	if _, bug := why.(runtime.Error); !ok || bug {
		panic(why)
	}
	pebbleLogger{log: s.opts.Logger, fatal: s.opts.Fatal}.Fatalf("%v", err)
}
