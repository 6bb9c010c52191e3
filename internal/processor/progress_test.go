package processor

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"precis/internal/broker"
)

func TestProgress(t *testing.T) {
	var said bytes.Buffer
	began := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	part := &partition{last: 0}
	p := &Processor{
		log: zerolog.New(&said), ready: newReadiness([]string{"lane"}),
		opts:     Options{Now: func() time.Time { return began.Add(2 * time.Second) }},
		catching: behind([]*partition{part}, broker.StreamState{First: 101, Last: 300}, began),
	}
	p.running.Store(newSet([]*partition{part}))
	ticks := make(chan time.Time)
	ended := p.tell(t.Context(), ticks)
	part.position.set(150)
	ticks <- began
	ticks <- began // taken: the first is told
	p.Reached("lane", 300, broker.Mark{})
	ended()
	lines := strings.Split(strings.TrimSpace(said.String()), "\n")
	for i, want := range map[int]string{
		0:              `"seq":150,"of":300,"percent":25,"events_per_second":25,"message":"catching up with the log"`,
		len(lines) - 1: `"seq":300,"of":300,"percent":100,"events_per_second":100,"message":"caught up with the log"`,
	} {
		if !strings.Contains(lines[i], want) {
			t.Errorf("line %d: %s, want %s", i, lines[i], want)
		}
	}

	said.Reset()
	p.catching = behind([]*partition{{last: 300}}, broker.StreamState{First: 101, Last: 300}, began)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p.tell(ctx, ticks)()
	if said.Len() > 0 {
		t.Errorf("nothing is behind, and it says %s", said.String())
	}
}
