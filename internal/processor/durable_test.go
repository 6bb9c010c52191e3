package processor_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"precis/internal/processor"
)

// What goes wrong with the batch that the end of a run has left is told, and half of it is never committed:
// neither at the position before it nor by what drains after it. Events that wait when the run starts are handed over
// together, and the stop leaves the batch in the middle of the hand: the lane has none to flush then, and the drain has.
func TestFailureOfTheLastBatchIsTold(t *testing.T) {
	points := []string{processor.FailFlush, processor.FailSeen, processor.FailCommitted}
	for i := range 2 * len(points) {
		at, waiting := points[i/2], i%2 == 0
		t.Run(fmt.Sprintf("%s, waiting=%t", at, waiting), func(t *testing.T) {
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
			list := []string{message("m1"), message("m2"), message("m3")}
			if waiting {
				put(t, b.Conn(), "thread.message.t1", list...)
			}
			ran := make(chan error, 1)
			go func() { ran <- p.Run(ctx) }()
			if !waiting {
				put(t, b.Conn(), "thread.message.t1", list...)
			}
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
