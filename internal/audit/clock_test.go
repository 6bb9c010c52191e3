package audit_test

import (
	"fmt"
	"testing"
	"time"

	"precis/events"
	"precis/internal/processor"
)

// A clock that shows another zone's time, or is set meanwhile, alters nothing: it makes no finding.
func TestWrongClock(t *testing.T) {
	w := newWorld(t)
	w.config.Policies[1].History.Enabled, w.config.Policies[1].History.EveryMessages = true, 10
	for i, ahead := range []time.Duration{0, -14 * time.Hour, 0, 12 * time.Hour, -12 * time.Hour, 0} {
		w.ahead = ahead
		if i == 2 {
			w.config.Policies[1].ToolOutput.MaxSummaryChars = 500
		}
		w.run(func(p *processor.Processor) {
			w.put([2]string{"tool.result.model", output(fmt.Sprintf("m%d", i), 80, byModel)})
			for n := range 10 {
				w.put(line(10*i+n, "user"), [2]string{"thread.message.model", say(fmt.Sprintf("s%d.%d", i, n), "user", "Go on.")})
			}
			if err := p.Settled(within(t)); err != nil {
				t.Fatal(err)
			}
			w.ask(p, events.KindCompaction)
			w.ask(p, events.KindHistory)
		})
	}
	w.proved()
}
