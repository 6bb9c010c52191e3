package broker

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"github.com/rs/zerolog"
)

// A stream whose write failed stores nothing more until the server is restarted; only its log says so.
func TestBrokenServerIsHeard(t *testing.T) {
	log := newServerLog(zerolog.Nop())
	b := &Broker{server: &embedded{log: log}}
	log.Errorf("JetStream API limit reached: %d requests", 7)
	select {
	case err := <-b.Broken():
		t.Fatalf("broken by %v", err)
	default:
	}
	for range 2 { // there may be no receiver
		log.Errorf("Filestore [EVENTS] Critical write error: %v", syscall.ENOSPC)
	}
	select {
	case err := <-b.Broken():
		if !errors.Is(err, ErrBroken) || !strings.Contains(err.Error(), "[EVENTS] Critical write error: no space left") {
			t.Error(err)
		}
	default:
		t.Error("nothing heard")
	}
}
