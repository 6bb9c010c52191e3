package processor_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"precis/internal/broker"
	"precis/internal/config"
	"precis/internal/parked"
	"precis/internal/processor"
	"precis/state"
)

// mortal is a processor on a disk that forgets what was not synced. Each life ends with a kill.
type mortal struct {
	t      *testing.T
	broker *broker.Broker
	config *config.Config
	fs     *vfs.MemFS
}

// life runs a processor until meanwhile returns, and kills it there.
func (m *mortal) life(meanwhile func(p *processor.Processor)) {
	m.t.Helper()
	c := &crasher{left: 1 << 30, fs: m.fs, rng: rand.New(rand.NewPCG(1, 0))}
	p := openAlone(m.t, processor.Options{Config: m.config, Logger: logger(m.t), Broker: m.broker, FS: m.fs, Failpoint: c.point})
	ctx, stop := context.WithCancel(within(m.t))
	defer stop()
	ran := make(chan error, 1)
	go func() { ran <- p.Run(ctx) }()
	meanwhile(p.Processor)
	c.crash("by a kill")
	stop()
	if err := ends(m.t, ran); err != nil && !errors.Is(err, errCrash) {
		m.t.Fatalf("run: %v", err)
	}
	p.close()
	m.fs = c.clone
}

// store reads the disk as the last kill has left it.
func (m *mortal) store() *state.Store {
	m.t.Helper()
	store, err := state.Open(processor.StoreDir(m.config.DataDir), state.Options{FS: m.fs, Logger: logger(m.t), Objects: parked.New(m.broker.JetStream(), nil)})
	if err != nil {
		m.t.Fatal(err)
	}
	return store
}

// calls are those on record for all threads.
func (m *mortal) calls(threads int) (list []record) {
	m.t.Helper()
	for i := range threads {
		for _, r := range story(m.t, m.broker, fmt.Sprint("t", i)) {
			if r.Type == "usage.recorded" {
				list = append(list, r)
			}
		}
	}
	return list
}

// announced waits until the summaries of all threads are started.
func (m *mortal) announced(p *processor.Processor, threads int) {
	m.t.Helper()
	for i := range threads {
		ended(m.t, &running{Processor: p, t: m.t}, fmt.Sprint("t", i), 1)
	}
}

// of counts records by their outcome.
func of(calls []record, outcome string) (n int) {
	for _, c := range calls {
		if c.Outcome == outcome {
			n++
		}
	}
	return n
}

// Twenty jobs wait for the one place at a provider that never answers. A kill loses the one call that was made, and its
// estimate counts in the budget: it leaves no room for another one. Another kill adds nothing.
func TestKilledCall(t *testing.T) {
	const threads = 20
	atWork := make(chan struct{}, threads)
	server := newModel(t, func(_ int64, _ http.ResponseWriter, r *http.Request) {
		atWork <- struct{}{}
		<-r.Context().Done()
	})
	m := &mortal{t: t, broker: openBroker(t, t.TempDir()), config: byModel(t, server), fs: vfs.NewCrashableMem()}
	provider := m.config.Providers[config.ProviderSummarizer]
	provider.MaxConcurrency = 1
	provider.BudgetUSDPerDay = 0.0056 // a call may cost 5,000 micro-dollars, 1,500 of them for its input
	m.config.Providers[config.ProviderSummarizer] = provider
	m.life(func(p *processor.Processor) {
		for i := range threads {
			put(t, m.broker.Conn(), fmt.Sprint("tool.result.t", i), toolResult("m1", 100))
		}
		m.announced(p, threads)
		<-atWork
	})
	for life := range 2 {
		m.life(func(p *processor.Processor) {
			if err := p.Settled(within(t)); err != nil {
				t.Fatal(err)
			}
		})
		calls := m.calls(threads)
		if len(calls) != 1 || server.calls.Load() != 1 {
			t.Fatalf("life %d: %d calls on record, %d received: %+v", life+2, len(calls), server.calls.Load(), calls)
		}
		lost := calls[0]
		if lost.Outcome != "unknown" || lost.Usage.InputTokens < 500 || lost.Usage.Source != "estimate" || lost.Cost.AmountMicroUSD == nil {
			t.Fatalf("life %d: %+v", life+2, lost)
		}
		if spent := m.spent(); spent != *lost.Cost.AmountMicroUSD || spent < 500 {
			t.Errorf("life %d: %d micro-dollars are spent, %d on record", life+2, spent, *lost.Cost.AmountMicroUSD)
		}
	}
}

// spent is what all calls have cost on all days, as the budget has it.
func (m *mortal) spent() (sum int64) {
	m.t.Helper()
	store := m.store()
	defer store.Close()
	for id := range m.config.Partitions {
		if err := store.View(id).Spent(func(_, _ string, micro int64) { sum += micro }); err != nil {
			m.t.Fatal(err)
		}
	}
	return sum
}

// A material in parts is several calls of one job. Those that were answered before the kill are on record with what the
// provider said, the last one as unknown, and the job begins anew.
func TestKilledBetweenParts(t *testing.T) {
	atWork := make(chan struct{}, 1)
	server := newModel(t, func(call int64, w http.ResponseWriter, r *http.Request) {
		if call == 3 {
			atWork <- struct{}{}
			<-r.Context().Done()
			return
		}
		says(w, fmt.Sprintf("Compiled, as call %d says.", call), 1000+int(call), 10)
	})
	m := &mortal{t: t, broker: openBroker(t, t.TempDir()), config: byModel(t, server), fs: vfs.NewCrashableMem()}
	m.config.Policies[0].ToolOutput.MaxInputChars = 2000
	m.life(func(*processor.Processor) {
		put(t, m.broker.Conn(), "tool.result.t0", toolResult("m1", 200)) // 7,000 characters
		<-atWork
	})
	m.life(func(p *processor.Processor) {
		if err := p.Settled(within(t)); err != nil {
			t.Fatal(err)
		}
	})
	calls := m.calls(1)
	if int64(len(calls)) != server.calls.Load() {
		t.Fatalf("%d calls on record, %d received: %+v", len(calls), server.calls.Load(), calls)
	}
	seen := map[int64]bool{}
	for _, c := range calls[:2] {
		seen[c.Usage.InputTokens] = true
		if c.Outcome != "failed" {
			t.Errorf("a text that nothing uses is %+v", c)
		}
	}
	if !seen[1001] || !seen[1002] || calls[2].Outcome != "unknown" || of(calls, "unknown") != 1 {
		t.Errorf("calls %+v", calls)
	}
}
