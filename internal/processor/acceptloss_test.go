package processor_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"precis/events"
	"precis/internal/audit"
	"precis/internal/broker"
	"precis/internal/config"
	"precis/internal/processor"
	"precis/internal/recovery"
	"precis/internal/secrets"
	"precis/state"
)

// foundLoss is what recovery finds of a server and, where there is one, a store.
func foundLoss(t *testing.T, s *server, c *config.Config) *recovery.Loss {
	t.Helper()
	if _, err := os.Stat(processor.StoreDir(c.DataDir)); err != nil {
		return lossIn(t, s.Broker, c, nil)
	}
	store, err := state.Open(processor.StoreDir(c.DataDir), state.Options{ReadOnly: true, Logger: logger(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	return lossIn(t, s.Broker, c, store)
}

func lossIn(t testing.TB, b *broker.Broker, c *config.Config, store *state.Store) *recovery.Loss {
	t.Helper()
	scratch, err := state.Open("scratch", state.Options{FS: state.Memory(), Logger: logger(t), Scratch: true})
	if err != nil {
		t.Fatal(err)
	}
	defer scratch.Close()
	in := recovery.Lossy{Streams: recovery.ReadersOf(b.JetStream()), Scratch: scratch, Store: store, Strays: c.Partitions}
	loss, err := recovery.FindLoss(within(t), in)
	if err != nil {
		t.Fatal(err)
	}
	return loss
}

func refuses(t *testing.T, o processor.Options, want error) {
	t.Helper()
	p, err := processor.Open(t.Context(), o)
	if err == nil {
		_ = p.Close(t.Context())
	}
	if !errors.Is(err, want) || !strings.Contains(fmt.Sprint(err), "processor recover") {
		t.Errorf("start: %v; want %v", err, want)
	}
}

func endOf(t *testing.T, s *server, stream string) uint64 {
	t.Helper()
	st, err := broker.StateOf(within(t), s.JetStream(), stream)
	if err != nil {
		t.Fatal(err)
	}
	return st.Last
}

// report audits the streams alone.
func report(t testing.TB, b *broker.Broker) *audit.Report {
	t.Helper()
	return reportOn(t, b, audit.Filter{})
}

// reportOn audits what a filter names.
func reportOn(t testing.TB, b *broker.Broker, f audit.Filter) *audit.Report {
	t.Helper()
	masker, err := secrets.Load()
	if err != nil {
		t.Fatal(err)
	}
	scratch, err := state.Open("scratch", state.Options{FS: state.Memory(), Logger: logger(t), Scratch: true})
	if err != nil {
		t.Fatal(err)
	}
	defer scratch.Close()
	rep, err := audit.Replay(within(t), audit.Options{
		JetStream: b.JetStream(), Scratch: scratch, Mask: masker.Mask, Workers: 2, Now: time.Now, Rules: true, Logger: logger(t), Filter: f,
	})
	if err != nil {
		t.Fatal(err)
	}
	return rep
}

// A store at event 200 and its records, over a log that was restored to event 100 and has grown to 250: refused with
// the store and without it, until the loss is accepted. Then every event of the log counts once, and audits know what is
// void.
func TestAcceptedLoss(t *testing.T) {
	s, c := newServer(t), settings(t)
	c.Partitions = 3
	options := func() processor.Options { return processor.Options{Config: c, Logger: logger(t), Broker: s.Broker} }
	openAlone(t, options()).close() // makes the streams
	kept := grown(t, s.Conn(), "a", 100)
	lived(t, options())
	if loss := foundLoss(t, s, c); !loss.Nothing() {
		t.Errorf("a healthy log: %+v", loss)
	}
	backup := s.copied()
	applied := grown(t, s.Conn(), "b", 100)
	lived(t, options())
	s.stop()
	s.restore(backup, broker.StreamEvents)
	s.start(s.listen)
	before := time.Now()
	last := grown(t, s.Conn(), "c", 150)

	refuses(t, options(), recovery.ErrRewritten)
	withStore := foundLoss(t, s, c)
	aside := c.DataDir + "/aside"
	if err := os.Rename(processor.StoreDir(c.DataDir), aside); err != nil {
		t.Fatal(err)
	}
	refuses(t, options(), recovery.ErrRewritten)
	if err := os.RemoveAll(processor.StoreDir(c.DataDir)); err != nil {
		t.Fatal(err)
	}
	loss := foundLoss(t, s, c)
	for name, l := range map[string]*recovery.Loss{"with a store": withStore, "without": loss} {
		if !l.Found || l.EventsSeq != kept || l.EventsEnd != last || l.Records() == 0 || l.Summaries() == 0 {
			t.Errorf("%s: kept %d of %d, %d records and %d summaries void", name, l.EventsSeq, l.EventsEnd, l.Records(), l.Summaries())
		}
	}
	gone := uint64(0)
	for _, p := range withStore.Partitions {
		gone += *p.EventsLost
	}
	if gone != applied-kept {
		t.Errorf("%d events are said to be lost, want %d", gone, applied-kept)
	}

	created := summariesIn(t, s, events.SummaryCreated)
	if err := loss.Accept(within(t), s.JetStream(), time.Now(), func(uint64) {}); err != nil {
		t.Fatal(err)
	}
	if loss := foundLoss(t, s, c); !loss.Nothing() {
		t.Errorf("after it was accepted: %+v", loss)
	}
	voided := []string{}
	for _, p := range loss.Partitions {
		voided = append(voided, p.Summaries...)
	}
	invalidated := summariesIn(t, s, events.SummaryInvalidated)
	for _, id := range voided {
		if !slices.Contains(created, id) || !slices.Contains(invalidated, id) {
			t.Errorf("summary %s is void: created %v, invalidated %v", id, slices.Contains(created, id), slices.Contains(invalidated, id))
		}
	}
	lived(t, options())
	lived(t, options())
	if n := eventsOf(t, verifyStore(t, c, s.Broker), c.Partitions); n != last {
		t.Errorf("%d events counted, the log has %d", n, last)
	}
	rep := report(t, s.Broker)
	for _, f := range rep.Findings {
		t.Errorf("replay: %+v", f)
	}
	for _, f := range reportOn(t, s.Broker, audit.Filter{To: before}).Findings { // what says what is void came later
		t.Errorf("replay up to the loss: %+v", f)
	}
	if len(rep.Losses) != 1 || rep.Losses[0].EventsSeq != kept || rep.Voided[string(events.SummaryCreated)] != uint64(len(voided)) {
		t.Errorf("replay: losses %+v, void %v, of %d summaries", rep.Losses, rep.Voided, len(voided))
	}
	again := *c
	again.DataDir = t.TempDir()
	lived(t, processor.Options{Config: &again, Logger: logger(t), Broker: s.Broker}) // a rebuild comes to the same
	if n := eventsOf(t, verifyStore(t, &again, s.Broker), c.Partitions); n != last {
		t.Errorf("%d events counted by a rebuild, the log has %d", n, last)
	}
}

// rolledBack is a server whose EVENTS was restored to an earlier day and has grown again, and what had been applied.
func rolledBack(t *testing.T) (s *server, c *config.Config) {
	t.Helper()
	s, c = newServer(t), settings(t)
	c.Partitions = 3
	options := func() processor.Options { return processor.Options{Config: c, Logger: logger(t), Broker: s.Broker} }
	openAlone(t, options()).close()
	grown(t, s.Conn(), "a", 30)
	lived(t, options())
	backup := s.copied()
	grown(t, s.Conn(), "b", 30)
	lived(t, options())
	s.stop()
	s.restore(backup, broker.StreamEvents)
	s.start(s.listen)
	grown(t, s.Conn(), "c", 40)
	if err := os.RemoveAll(processor.StoreDir(c.DataDir)); err != nil {
		t.Fatal(err)
	}
	return s, c
}

// An acceptance that is interrupted behind any of its records is found, refused, and finished; doing it again adds
// nothing.
func TestAcceptedLossInterrupted(t *testing.T) {
	s, c := rolledBack(t)
	options := func() processor.Options { return processor.Options{Config: c, Logger: logger(t), Broker: s.Broker} }
	whole := s.copied()
	before := endOf(t, s, broker.StreamSummaries)
	if err := foundLoss(t, s, c).Accept(within(t), s.JetStream(), time.Now(), func(uint64) {}); err != nil {
		t.Fatal(err)
	}
	writes, decided := endOf(t, s, broker.StreamSummaries)-before, unclaimed(t, s)
	for stop := uint64(1); stop < writes; stop += 1 + writes/6 {
		s.stop()
		s.restore(whole)
		s.start(s.listen)
		ctx, cancel := context.WithCancel(within(t))
		err := foundLoss(t, s, c).Accept(ctx, s.JetStream(), time.Now(), func(n uint64) {
			if n == stop {
				cancel()
			}
		})
		cancel()
		if !errors.Is(err, context.Canceled) || endOf(t, s, broker.StreamSummaries) != before+stop {
			t.Fatalf("%d records stored, want %d: %v", endOf(t, s, broker.StreamSummaries)-before, stop, err)
		}
		p, err := processor.Open(t.Context(), options())
		if err == nil {
			_ = p.Close(t.Context())
		}
		if !errors.Is(err, recovery.ErrRewritten) && !errors.Is(err, recovery.ErrUnfinished) || !strings.Contains(err.Error(), "processor recover") {
			t.Errorf("start after %d of %d records: %v", stop, writes, err)
		}
		if err := os.RemoveAll(processor.StoreDir(c.DataDir)); err != nil {
			t.Fatal(err)
		}
		if err := foundLoss(t, s, c).Accept(within(t), s.JetStream(), time.Now(), func(uint64) {}); err != nil {
			t.Fatal(err)
		}
		if loss := foundLoss(t, s, c); !loss.Nothing() || unclaimed(t, s) != decided {
			t.Errorf("finished after %d of %d records: %+v", stop, writes, loss)
		}
	}
	lived(t, options())
	if n, last := eventsOf(t, verifyStore(t, c, s.Broker), c.Partitions), endOf(t, s, broker.StreamEvents); n != last {
		t.Errorf("%d events counted, the log has %d", n, last)
	}
	for _, f := range report(t, s.Broker).Findings {
		t.Errorf("replay: %+v", f)
	}
}

// unclaimed is how many records SUMMARIES has beside claims.
func unclaimed(t *testing.T, s *server) (n int) {
	t.Helper()
	for _, m := range stored(t, s.Broker, broker.StreamSummaries) {
		if !strings.HasPrefix(m.Subject, string(events.PartitionClaimed)) {
			n++
		}
	}
	return n
}

// summariesIn are the ids of the summaries that the records of a type are about.
func summariesIn(t *testing.T, s *server, typ events.Type) (ids []string) {
	t.Helper()
	err := broker.NewLogReader(s.JetStream(), broker.StreamSummaries).Scan(within(t), 1, []string{string(typ) + ".*"}, func(m broker.Stored) error {
		id := m.Header.Get("ce-id")
		ids = append(ids, id[strings.LastIndexByte(id, '/')+1:])
		return nil
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return ids
}
