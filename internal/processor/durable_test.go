package processor_test

import (
	"context"
	"errors"
	"testing"

	"precis/internal/processor"
)

// What goes wrong with the batch that the end of a run has left is told, and half of it is never committed:
// neither at the position before it nor by what drains after it.
func TestFailureOfTheLastBatchIsTold(t *testing.T) {
	for _, at := range []string{processor.FailFlush, processor.FailSeen, processor.FailCommitted} {
		t.Run(at, func(t *testing.T) {
			b, c := openBroker(t, t.TempDir()), settings(t)
			planned := errors.New("as planned")
			ctx, stop := context.WithCancel(t.Context())
			p := openAlone(t, processor.Options{Config: c, Logger: logger(t), Broker: b, Failpoint: func(point string, _ int) error {
				switch {
				case point == processor.FailApplied:
					stop() // the batch is still open: it is the last one
				case point == at && ctx.Err() != nil:
					return planned
				}
				return nil
			}})
			put(t, b.Conn(), "thread.message.t1", message("m1"), message("m2"), message("m3"))
			ran := make(chan error, 1)
			go func() { ran <- p.Run(ctx) }()
			if err := ends(t, ran); !errors.Is(err, planned) {
				t.Errorf("run: %v", err)
			}
			p.close()
			again := start(t, processor.Options{Config: c, Logger: logger(t), Broker: b})
			if err := again.Settled(within(t)); err != nil {
				t.Fatal(err)
			}
			again.end()
			if n := eventsOf(t, verifyStore(t, c, b), c.Partitions); n != 3 {
				t.Errorf("%d events counted, 3 were sent", n)
			}
		})
	}
}
