package processor_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go/jetstream"
	dto "github.com/prometheus/client_model/go"

	"precis/internal/broker"
	"precis/internal/config"
	"precis/internal/processor"
)

// valueOf is the value of a counter or gauge: of all its series, or of those that a label has that value in.
func valueOf(t *testing.T, p *processor.Processor, name, label string) (n float64) {
	t.Helper()
	families, err := p.Registry().Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			if label == "" || slices.ContainsFunc(m.GetLabel(), func(l *dto.LabelPair) bool { return l.GetValue() == label }) {
				n += m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	return n
}

// A processor without a store takes over what a killed one had: it begins from snapshots, and folds what came behind them. Everything on record is
// as one alone decides it.
func TestBeginsFromSnapshots(t *testing.T) {
	t.Parallel()
	f := newFlock(t, 9)
	f.config.Cluster.Standbys, f.config.Cluster.Snapshots, f.bulkFrom = 0, time.Millisecond, 10
	load := newLoad(f.rng)
	load.threads = 12
	first := f.join()
	load.publish(t, f.broker.Conn(), 400)
	f.settleAll()
	until(t, "there are no snapshots", func() bool {
		return valueOf(t, first.Processor, "precis_snapshots_total", "made") > float64(f.config.Partitions)
	})
	if valueOf(t, first.Processor, "precis_snapshot_bytes", "") == 0 {
		t.Error("the metrics have no snapshot")
	}
	had := first.Owned()
	load.publish(t, f.broker.Conn(), 30)
	f.settleAll()
	f.end(first, true)
	f.disks = nil
	second := f.join()
	f.settleAll()
	if n := valueOf(t, second.Processor, "precis_snapshots_total", "used"); n < float64(f.config.Partitions) {
		t.Errorf("%v partitions begin from snapshots", n)
	}
	if all, folded := f.eventsOf(had), second.folded.in(had); folded > all/2 {
		t.Errorf("of %d events the next owner folds %d", all, folded)
	}
	f.exact()
	f.end(second, false)
}

// spoiling is what happens to snapshots, or to the streams under them.
type spoiling struct {
	name string
	do   func(t *testing.T, s *server, before string)
}

// eachObject publishes something else in the place of what objects are announced with.
func eachObject(t *testing.T, s *server, change func(*jetstream.ObjectInfo) bool) {
	t.Helper()
	var infos []*jetstream.ObjectInfo
	var subjects []string
	err := broker.NewLogReader(s.JetStream(), "OBJ_precis_flock").Scan(within(t), 1, []string{"$O.precis_flock.M.>"}, func(m broker.Stored) error {
		info := &jetstream.ObjectInfo{}
		infos, subjects = append(infos, info), append(subjects, m.Subject)
		return json.Unmarshal(m.Data, info)
	}, nil)
	if err != nil || len(infos) == 0 {
		t.Fatalf("%d objects: %v", len(infos), err)
	}
	for i, info := range infos {
		if !change(info) {
			continue
		}
		data, err := json.Marshal(info)
		if err != nil {
			t.Fatal(err)
		}
		put(t, s.Conn(), subjects[i], string(data))
	}
}

func spoilings() []spoiling {
	return []spoiling{
		{name: "torn", do: func(t *testing.T, s *server, _ string) {
			for _, name := range []string{"partition-0-a", "partition-0-b", "partition-1-a", "partition-1-b"} {
				put(t, s.Conn(), "$O.precis_flock.C."+name, "half of the next one")
			}
		}},
		{name: "of another format", do: func(t *testing.T, s *server, _ string) {
			eachObject(t, s, func(i *jetstream.ObjectInfo) bool { i.Metadata["format"] = "precis-1"; return true })
		}},
		{name: "of other partitions", do: func(t *testing.T, s *server, _ string) {
			eachObject(t, s, func(i *jetstream.ObjectInfo) bool { i.Metadata["partitions"] = "64"; return true })
		}},
		{name: "further than it is", do: func(t *testing.T, s *server, _ string) {
			eachObject(t, s, func(i *jetstream.ObjectInfo) bool { i.Metadata["position"] = "1000000"; return true })
		}},
		{name: "no snapshot", do: func(t *testing.T, s *server, _ string) {
			eachObject(t, s, func(i *jetstream.ObjectInfo) bool { i.Metadata = nil; return true })
		}},
		{name: "before a purge of SUMMARIES", do: func(t *testing.T, s *server, _ string) { purged(t, s, broker.StreamSummaries) }},
		{name: "before a purge of EVENTS", do: func(t *testing.T, s *server, _ string) { purged(t, s, broker.StreamEvents) }},
		{name: "of dropped streams", do: func(t *testing.T, s *server, _ string) {
			for _, stream := range []string{broker.StreamEvents, broker.StreamSummaries, broker.StreamRejected} {
				dropped(t, s, stream)
			}
		}},
		{name: "of a log that rolled back and grew", do: func(_ *testing.T, s *server, before string) {
			rolledBackTo(s, before, broker.StreamEvents, broker.StreamSummaries, broker.StreamRejected)
		}},
	}
}

// Snapshots that are torn, of another format, or of streams that were purged, dropped or rolled back since, are refused, and the log is folded:
// the state is that of a processor alone, which knows no snapshots.
func TestSnapshotsRefused(t *testing.T) {
	for _, sp := range spoilings() {
		t.Run(sp.name, func(t *testing.T) {
			t.Parallel()
			s, c := newServer(t), settings(t)
			c.Partitions, c.Cluster.Name, c.Cluster.Standbys = 1, "flock", 0
			with := func(c *config.Config, every time.Duration, fs vfs.FS) processor.Options {
				member := *c
				member.Cluster.Snapshots = every
				return processor.Options{Config: &member, Logger: logger(t), Broker: s.Broker, FS: fs, BulkFrom: 20}
			}
			alone := *c
			alone.Cluster.Name = ""
			lived(t, with(&alone, 0, vfs.NewMem())) // makes the streams
			grown(t, s.Conn(), "a", 40)
			lived(t, with(&alone, 0, vfs.NewMem()))
			before := s.copied()
			grown(t, s.Conn(), "b", 120)
			first := start(t, with(c, time.Millisecond, vfs.NewMem()))
			until(t, "there is no snapshot", func() bool { return valueOf(t, first.Processor, "precis_snapshots_total", "made") >= 1 })
			first.end()
			sp.do(t, s, before)
			if strings.Contains(sp.name, "streams") {
				lived(t, with(&alone, 0, vfs.NewMem())) // makes them again
			}
			grown(t, s.Conn(), "c", 160)

			second := start(t, with(c, time.Millisecond, vfs.NewMem()))
			until(t, "the second processor does not take all", func() bool { return len(second.Owned()) == c.Partitions+1 })
			if err := second.Settled(within(t)); err != nil {
				t.Fatal(err)
			}
			if used := valueOf(t, second.Processor, "precis_snapshots_total", "used"); used > 0 {
				t.Error("it is used")
			}
			if refused := valueOf(t, second.Processor, "precis_snapshots_total", "refused"); refused == 0 && sp.name != "no snapshot" {
				t.Error("it is not refused")
			}
			second.end()
			for _, finding := range replayed(t, s.Broker) {
				if !strings.Contains(sp.name, "purge") { // which replay reports
					t.Errorf("replay: %+v", finding)
				}
			}
		})
	}
}

// A processor that may not make the object store goes on without snapshots.
func TestNoSnapshotsWithoutRights(t *testing.T) {
	t.Parallel()
	b, c := openBroker(t, t.TempDir()), settings(t)
	c.Partitions, c.Cluster.Name, c.Cluster.Snapshots = 1, "flock", time.Millisecond
	// Its name is another stream's, which no object store is.
	if _, err := b.JetStream().CreateStream(within(t), jetstream.StreamConfig{Name: "OBJ_precis_flock", Subjects: []string{"other"}}); err != nil {
		t.Fatal(err)
	}
	p := start(t, processor.Options{Config: c, Logger: logger(t), Broker: b, BulkFrom: 5})
	until(t, "it does not take all", func() bool { return len(p.Owned()) == c.Partitions+1 })
	grown(t, b.Conn(), "a", 20)
	if err := p.Settled(within(t)); err != nil {
		t.Fatal(err)
	}
	until(t, "no snapshot fails", func() bool { return valueOf(t, p.Processor, "precis_snapshots_total", "failed") > 0 })
	p.end()
}
