package processor_test

import (
	"strings"
	"testing"

	"precis/internal/processor"
)

// A processor whose disk is nearly full hands its partitions to the others, says why it has none, and has its share again once there is room. One
// that is alone keeps what it has.
func TestFullDiskLeavesPartitions(t *testing.T) {
	f := newFlock(t, 3)
	all := f.config.Partitions + 1
	first := f.join()
	f.settleAll()
	first.full.Store(true)
	until(t, "the processor does not see that its disk is full", func() bool { return first.Aside() != nil })
	f.settleAll()
	if n := len(first.Owned()); n != all {
		t.Errorf("a processor that is alone has %d of %d partitions", n, all)
	}
	second := f.join()
	until(t, "a processor with a full disk keeps partitions", func() bool { return len(first.Owned()) == 0 && len(second.Owned()) == all })
	load := newLoad(f.rng)
	load.publish(t, f.broker.Conn(), 60)
	f.settleAll()
	if err := first.Aside(); err == nil || !strings.Contains(err.Error(), "bytes left") {
		t.Errorf("it says %v", err)
	}
	first.full.Store(false)
	until(t, "a processor with room has no share", func() bool { return len(first.Owned()) >= f.config.Partitions/2 && first.Aside() == nil })
	f.exact()
	f.end(first, false)
	f.end(second, false)
}

// A processor that is started on a full disk joins no cluster before there is room.
func TestStartOnAFullDisk(t *testing.T) {
	b := openBroker(t, t.TempDir())
	c := settings(t)
	c.Cluster.Name = "full"
	waits := make(chan struct{}, 1)
	short, room := true, make(chan struct{})
	opened := make(chan error, 1)
	go func() {
		p, err := processor.Open(t.Context(), processor.Options{Config: c, Logger: logger(t), Broker: b, Disk: func() (free, total int64, ok bool) {
			select {
			case <-room:
				short = false
			default:
			}
			select {
			case waits <- struct{}{}:
			default:
			}
			if short {
				return 0, 1 << 30, true
			}
			return 1 << 30, 1 << 30, true
		}})
		if err == nil {
			err = p.Close(t.Context())
		}
		opened <- err
	}()
	<-waits
	select {
	case err := <-opened:
		t.Fatalf("it starts: %v", err)
	default:
	}
	if _, err := b.JetStream().KeyValue(t.Context(), "precis_full"); err == nil {
		t.Error("it has joined the cluster")
	}
	close(room)
	if err := <-opened; err != nil {
		t.Error(err)
	}
}
