package processor_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"

	"precis/events"
	"precis/internal/broker"
	"precis/internal/machine"
)

func TestMain(m *testing.M) {
	if !machine.Main() {
		m.Run()
	}
}

const (
	createdRate = 200 // events a second, by all agents together; each third one is an output of 4 KB
	promptRate  = 300 // prompts a second, by all readers together
)

// How long it takes from the call that publishes a tool's output until a consumer of SUMMARIES has its summary.created, in milliseconds, while 50
// agents publish: while 50 readers ask for prompts, and alone, which is the yardstick. The server syncs every write, as the embedded one does by
// default. steady-p99 is of the outputs (steady, of a hundred) outside of the spells in which the machine itself is slow. No thread is long enough for a compaction under the default policy: agents in step would all be compacted at the same moment.
//
//	go test -run '^$' -bench CreatedAmongPrompts -benchtime 6000x ./internal/processor
func BenchmarkCreatedAmongPrompts(b *testing.B) {
	for _, readers := range []int{0, contextAgents} {
		b.Run(fmt.Sprintf("readers=%d", readers), func(b *testing.B) { createdAmong(b, readers) })
	}
}

func createdAmong(b *testing.B, asking int) {
	b.Helper()
	br := openBrokerWith(b, broker.Options{StoreDir: b.TempDir(), Sync: broker.SyncAlways, Logger: zerolog.Nop()})
	agentsAtWork(b, br, settings(b))
	w := &waited{b: b, since: map[string]int64{}}
	w.follow(br)
	turns := make(chan int)
	var publishers, readers sync.WaitGroup
	for agent := range contextAgents {
		publishers.Go(func() {
			for turn := range turns {
				w.publish(br, agent, turn)
			}
		})
	}
	published, asked := make(chan struct{}), make(chan int, asking)
	pace, asks := time.NewTicker(time.Second/createdRate), time.NewTicker(time.Second/promptRate)
	defer pace.Stop()
	defer asks.Stop()
	for agent := range asking {
		readers.Go(func() {
			n := 0
			defer func() { asked <- n }()
			for {
				select {
				case <-published:
					return
				case <-asks.C:
				}
				promptOf(b, br, fmt.Sprintf("agent%d", agent), contextRequest)
				n++
			}
		})
	}
	watcher := machine.Watch(b)
	began := time.Now()
	b.ResetTimer()
	for i := range b.N {
		<-pace.C
		turns <- i
	}
	b.StopTimer()
	close(turns)
	publishers.Wait()
	elapsed := time.Since(began).Seconds()
	close(published)
	readers.Wait()
	close(asked)
	prompts := 0
	for n := range asked {
		prompts += n
	}
	took := w.all()
	b.ReportMetric(float64(b.N)/elapsed, "events/s")
	b.ReportMetric(float64(prompts)/elapsed, "prompts/s")
	b.ReportMetric(0, "ns/op")
	spells, known := watcher.Stop(b)
	if len(took) == 0 { // the first run, of a single event
		return
	}
	all, steady := make([]time.Duration, len(took)), []time.Duration(nil)
	for i, t := range took {
		all[i] = t.took
		if !spells.Touch(t.begun, t.took) {
			steady = append(steady, t.took)
		}
	}
	reportQuantiles(b, all)
	if known && len(steady) > 0 {
		slices.Sort(steady)
		b.ReportMetric(float64(steady[len(steady)*99/100].Microseconds())/1000, "steady-p99-ms")
		b.ReportMetric(100*float64(len(steady))/float64(len(all)), "steady-%")
	}
}

// waited is outputs that wait for their summaries, and how long those took that have one.
type waited struct {
	b     *testing.B
	mu    sync.Mutex
	since map[string]int64 // by message, of the machine's clock
	took  []output
	gone  chan struct{} // closed when none waits, once all are published
}

// output is when it was published, and how long it waited for its summary.
type output struct {
	begun int64
	took  time.Duration
}

// publish publishes the turn of an agent, which is an output each third time.
func (w *waited) publish(br *broker.Broker, agent, turn int) {
	msg := saidBy(agent, contextKept+20+turn)
	if turn%3 == 1 {
		id := fmt.Sprintf("output%d", turn)
		text := strings.Repeat(fmt.Sprintf("internal/parser%d.go:%d: error: unexpected token in part %d\\n", agent, turn, turn), 70)
		msg = &nats.Msg{Subject: fmt.Sprintf("tool.result.agent%d", agent), Data: fmt.Appendf(nil, `{"message_id":%q,"tool_call_id":"c%d","tool_name":"bash","content":%q}`, id, turn, text)}
		w.mu.Lock()
		w.since[id] = machine.Now()
		w.mu.Unlock()
	}
	if _, err := br.JetStream().PublishMsg(w.b.Context(), msg); err != nil {
		w.b.Errorf("publish: %v", err)
	}
}

// follow takes records until the benchmark ends.
func (w *waited) follow(br *broker.Broker) {
	consumer, err := br.JetStream().OrderedConsumer(w.b.Context(), broker.StreamSummaries, jetstream.OrderedConsumerConfig{
		FilterSubjects: []string{string(events.SummaryCreated) + ".*"}, DeliverPolicy: jetstream.DeliverNewPolicy,
	})
	if err != nil {
		w.b.Fatal(err)
	}
	consuming, err := consumer.Consume(w.created)
	if err != nil {
		w.b.Fatal(err)
	}
	w.b.Cleanup(consuming.Stop)
}

func (w *waited) created(m jetstream.Msg) {
	at := machine.Now()
	var rec events.Summary
	if err := json.Unmarshal(m.Data(), &rec); err != nil {
		w.b.Errorf("%s: %v", m.Subject(), err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if rec.Kind != events.KindToolResult {
		return
	}
	since, waits := w.since[rec.SourceMessageIDs[0]]
	if !waits {
		w.b.Errorf("%s of %v, which does not wait", m.Subject(), rec.SourceMessageIDs)
		return
	}
	delete(w.since, rec.SourceMessageIDs[0])
	w.took = append(w.took, output{since, time.Duration(at - since)})
	if w.gone != nil && len(w.since) == 0 {
		close(w.gone)
	}
}

// all is how long each took, when all are there.
func (w *waited) all() []output {
	w.mu.Lock()
	gone := make(chan struct{})
	if w.gone = gone; len(w.since) == 0 {
		close(gone)
	}
	w.mu.Unlock()
	select {
	case <-gone:
	case <-within(w.b).Done():
		w.b.Errorf("%d outputs have no summary", len(w.since))
	}
	return w.took
}
