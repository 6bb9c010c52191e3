package processor_test

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"precis/events"
	"precis/internal/broker"
	"precis/internal/cluster"
)

var clusterKills = flag.Int("cluster.kills", 2, "how many kills TestTakeOver measures")

// A processor is killed, and the next event of each of its partitions is summarized by another one: once, as replay says. It logs how long
// that took, from the kill to the record.
func TestTakeOver(t *testing.T) {
	f := newFlock(t, 1)
	f.lease, f.config.Cluster.Standbys = cluster.DefaultLease, 1
	f.join()
	f.join()
	f.settleAll()
	created, err := f.broker.Conn().SubscribeSync("summary.created.*")
	if err != nil {
		t.Fatal(err)
	}
	var took []time.Duration
	for kill := range *clusterKills {
		f.join()
		f.settleAll()
		victim := f.live[f.rng.IntN(len(f.live))]
		threads, began := f.threadsOf(victim.Owned(), kill), time.Now()
		victim.faults.Cut()
		victim.crash.crash("killed")
		for _, name := range threads {
			put(t, f.broker.Conn(), "tool.result."+name, toolResult("m", 100))
		}
		for len(threads) > 0 {
			m, err := created.NextMsgWithContext(within(t))
			if err != nil {
				t.Fatal(err)
			}
			if at := slices.Index(threads, token(m)); at >= 0 {
				threads, took = slices.Delete(threads, at, at+1), append(took, time.Since(began))
			}
		}
		f.end(victim, true)
	}
	f.settleAll()
	for _, finding := range replayed(t, f.broker) {
		t.Errorf("replay: %+v", finding)
	}
	for len(f.live) > 0 {
		f.end(f.live[0], false)
	}
	if len(took) == 0 {
		t.Fatal("no partition was taken over")
	}
	slices.Sort(took)
	at := func(p int) time.Duration { return took[min(len(took)-1, len(took)*p/100)].Round(time.Millisecond) }
	t.Logf("from a kill to the next summary of a partition: %d of %d kills: p50 %s, p90 %s, p99 %s, most %s",
		len(took), *clusterKills, at(50), at(90), at(99), at(100))
}

func token(m *nats.Msg) string { return m.Subject[strings.LastIndexByte(m.Subject, '.')+1:] }

// threadsOf names a new thread in each of some partitions.
func (f *flock) threadsOf(partitions []int, round int) (names []string) {
	for _, id := range partitions {
		for n := 0; id < f.config.Partitions; n++ {
			name, err := events.Token(fmt.Sprintf("k%d-%d-%d", round, id, n))
			if err != nil {
				f.t.Fatal(err)
			}
			if broker.PartitionOf(name, f.config.Partitions) == id {
				names = append(names, name)
				break
			}
		}
	}
	return names
}
