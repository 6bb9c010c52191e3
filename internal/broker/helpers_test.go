package broker

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// Watermill's suite leaves its own fan-in blocked after closing its subscribers.
		goleak.IgnoreAnyFunction("github.com/ThreeDotsLabs/watermill/internal/subscriber.(*multiplier).Subscribe.func2"),
		goleak.IgnoreAnyFunction("github.com/ThreeDotsLabs/watermill/internal/subscriber.(*multiplier).Subscribe.func3"),
		// And the recorder of one test waits for a channel that is never closed.
		goleak.IgnoreAnyFunction("github.com/ThreeDotsLabs/watermill/pubsub/tests.TestReconnect.func2"))
}

// patience bounds every wait in these tests; nothing takes that long.
const patience = 30 * time.Second

func testContext(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// openBroker runs an embedded server in a fresh directory. Writes are not
// synced, which these tests don't depend on.
func openBroker(t testing.TB, edit ...func(*Options)) *Broker {
	t.Helper()
	o := Options{StoreDir: t.TempDir(), Sync: "1m", Logger: zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.WarnLevel)}
	for _, e := range edit {
		e(&o)
	}
	b, err := Open(testContext(t), o)
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		require.NoError(t, b.Close(ctx))
	})
	return b
}

// provisioned also creates the contract's streams, with that many partitions.
func provisioned(t testing.TB, partitions int, edit ...func(*Options)) *Broker {
	t.Helper()
	b := openBroker(t, edit...)
	_, err := Provision(testContext(t), b.JetStream(), StreamSpec{Partitions: partitions})
	require.NoError(t, err)
	return b
}

// eventTopic maps as a processor does: to the type, for strays too.
func eventTopic(subject string) string {
	t := strings.Split(subject, ".")
	if len(t) == 4 {
		t = t[1:]
	}
	return t[0] + "." + t[1]
}

var eventTopics = []string{"tool.result", "thread.message", "message.edited", "thread.forked"}

// memoryLanes keeps positions in memory, like a store without the disk.
type memoryLanes struct {
	lanes []Lane
	turns chan func()

	mu        sync.Mutex
	positions map[string]uint64
	marks     map[string]Mark
	flushes   []string // "<lane>@<last>"
	flushErr  error
	reached   map[string]int
	changed   chan struct{} // closed and renewed on every change
}

func newMemoryLanes(lanes ...Lane) *memoryLanes {
	return &memoryLanes{
		lanes: lanes, turns: make(chan func()), positions: map[string]uint64{}, marks: map[string]Mark{},
		reached: map[string]int{}, changed: make(chan struct{}),
	}
}

// allLanes are the lanes of a provisioned broker.
func allLanes(partitions int) []Lane {
	lanes := []Lane{StrayLane()}
	for p := range partitions {
		lanes = append(lanes, PartitionLane(p))
	}
	return lanes
}

func (m *memoryLanes) List() []Lane { return m.lanes }

func (m *memoryLanes) Position(lane string) (uint64, Mark, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.positions[lane], m.marks[lane], nil
}

func (m *memoryLanes) Flush(ctx context.Context, lane string, last uint64, by Mark) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.flushErr != nil {
		return m.flushErr
	}
	if last < m.positions[lane] {
		return fmt.Errorf("flush of lane %s goes back from %d to %d", lane, m.positions[lane], last)
	}
	m.positions[lane], m.marks[lane] = last, by
	m.flushes = append(m.flushes, fmt.Sprintf("%s@%d", lane, last))
	m.notify()
	return nil
}

func (m *memoryLanes) Turns(string) <-chan func() { return m.turns }

func (m *memoryLanes) Reached(lane string, _ uint64, _ Mark) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reached[lane]++
	m.notify()
}

func (m *memoryLanes) notify() {
	close(m.changed)
	m.changed = make(chan struct{})
}

// await waits until ok holds; ok runs under the lock.
func (m *memoryLanes) await(t testing.TB, what string, ok func() bool) {
	t.Helper()
	ctx := testContext(t)
	for {
		m.mu.Lock()
		done, changed := ok(), m.changed
		m.mu.Unlock()
		if done {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			t.Fatalf("timed out waiting until %s", what)
		}
	}
}

func publish(t testing.TB, b *Broker, subject, body string) uint64 {
	t.Helper()
	ack, err := b.JetStream().PublishMsg(testContext(t), &nats.Msg{Subject: subject, Data: []byte(body)})
	require.NoError(t, err)
	return ack.Sequence
}
