package processor_test

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"precis/events"
	"precis/internal/broker"
	"precis/internal/content"
	"precis/internal/processor"
	"precis/internal/service"
	"precis/internal/thread"
	"precis/state"
)

// checkRecords holds the record of each summary, which its row has or leads to, against SUMMARIES.
func (s *schedule) checkRecords(view func(partition int) state.View) {
	s.t.Helper()
	read := broker.NewLogReader(s.broker.JetStream(), broker.StreamSummaries)
	err := read.Scan(within(s.t), 1, nil, func(m broker.Stored) error {
		if typ, _, _ := events.ParseSubject(m.Subject); typ != events.SummaryCreated {
			return nil
		}
		var rec events.Summary
		if err := json.Unmarshal(m.Data, &rec); err != nil {
			return err
		}
		v := view(rec.Partition)
		sum, err := v.Summary(*rec.ThreadID, rec.ID)
		if err != nil || sum == nil { // it rests on events whose loss was accepted
			return err
		}
		if kept := sum.Status != thread.Replaced || sum.Serves; kept != (len(sum.Record) > 0) {
			s.t.Errorf("the row of summary %s, which is %s, has %d bytes of its record", sum.ID, sum.Status, len(sum.Record))
		}
		data, err := content.RecordOf(within(s.t), v, read, *rec.ThreadID, sum)
		if err == nil && !bytes.Equal(data, m.Data) {
			err = fmt.Errorf("summary %s leads to the record %s, SUMMARIES has %s", sum.ID, data, m.Data)
		}
		return err
	}, nil)
	if err != nil {
		s.t.Error(err)
	}
}

// serve answers requests until the returned function is called.
func (s *schedule) serve(p *running) (stop func()) {
	<-p.Ready() // settled, it has yet to see that it is at the log's end
	svc, err := service.Start(s.broker.Conn(), p, service.Options{Logger: logger(s.t)})
	if err != nil {
		s.t.Fatal(err)
	}
	return func() {
		if err := svc.Stop(); err != nil {
			s.t.Error(err)
		}
	}
}

// record asks for a summary, and returns its record as it is in the answer, and what has become of it.
func (s *schedule) record(id string) (record map[string]jsontext.Value, status string) {
	s.t.Helper()
	m, err := s.broker.Conn().RequestWithContext(within(s.t), "precis.summary.get."+id, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	if code := m.Header.Get("Nats-Service-Error-Code"); code != "" {
		return nil, code + " " + m.Header.Get("Nats-Service-Error")
	}
	if err := json.Unmarshal(m.Data, &record); err != nil {
		s.t.Fatal(err)
	}
	status = strings.Trim(string(record["status"]), `"`)
	for _, beside := range []string{"status", "replaced_by", "invalidated"} {
		delete(record, beside)
	}
	return record, status
}

// made are the ids of all summaries on record, by the sequence of their summary.created.
func (s *schedule) made() map[string]uint64 {
	ids := map[string]uint64{}
	err := broker.NewLogReader(s.broker.JetStream(), broker.StreamSummaries).Scan(within(s.t), 1, nil, func(m broker.Stored) error {
		var rec struct {
			ID string `json:"id"`
		}
		if typ, _, _ := events.ParseSubject(m.Subject); typ != events.SummaryCreated {
			return nil
		}
		err := json.Unmarshal(m.Data, &rec)
		ids[rec.ID] = m.Seq
		return err
	}, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	return ids
}

// Whatever replaces a summary, and wherever its store comes from, summary.get answers with the same record: while it is in the summary's row,
// in the outbox, and in SUMMARIES alone.
func TestReplacedSummariesAreReadFromTheLog(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			s := newSchedule(t, 3*seed+2) // by rules, over no follower that lags
			s.broker, s.lag, s.through = openBroker(t, t.TempDir()), nil, nil
			s.config.DataDir = t.TempDir()
			load := newLoad(rand.New(rand.NewPCG(seed, 1)))
			load.forks = seed%2 == 1
			first := map[string]map[string]jsontext.Value{}
			replaced := map[string]bool{}
			settled := func(p *running) {
				t.Helper()
				if err := p.Settled(within(t)); err != nil {
					t.Fatal(err)
				}
				for id := range s.made() {
					rec, status := s.record(id)
					if rec == nil {
						t.Fatalf("summary %s: %s", id, status)
					}
					if replaced[id] && status != string(thread.Replaced) {
						t.Errorf("summary %s was replaced, and is %s", id, status)
					}
					replaced[id] = status == string(thread.Replaced)
					if first[id] == nil {
						first[id] = rec
					}
					if !maps.EqualFunc(first[id], rec, func(a, b jsontext.Value) bool { return bytes.Equal(a, b) }) {
						t.Errorf("summary %s, which is %s, was\n%s\nand is\n%s", id, status, first[id], rec)
					}
				}
				s.checkRecords(p.View)
			}
			p := start(t, processor.Options{Config: s.config, Logger: logger(t), Broker: s.broker})
			stop := s.serve(p)
			for range 8 {
				load.publish(t, s.broker.Conn(), 15)
				settled(p)
			}
			stop()
			p.end()
			s.config.DataDir = t.TempDir() // from the log alone
			again := start(t, processor.Options{Config: s.config, Logger: logger(t), Broker: s.broker})
			defer again.end()
			defer s.serve(again)()
			settled(again)
			old := ""
			for id := range replaced {
				if replaced[id] {
					old = id
				}
			}
			if old == "" {
				t.Fatal("no summary was replaced")
			}
			stream, err := s.broker.JetStream().Stream(within(t), broker.StreamSummaries)
			if err == nil {
				err = stream.DeleteMsg(within(t), s.made()[old])
			}
			if err != nil {
				t.Fatal(err)
			}
			if _, why := s.record(old); !strings.HasPrefix(why, "404 ") || !strings.Contains(why, "SUMMARIES no longer holds its record") {
				t.Errorf("a record that is gone: %s", why)
			}
		})
	}
}

// A record's place goes with the row of the outbox that has it: each summary has one of them, also before its record is stored.
func TestARecordIsInTheOutboxOrPlaced(t *testing.T) {
	b := openBroker(t, t.TempDir())
	s := &schedule{t: t, broker: b, config: settings(t)}
	compacting(s.config)
	s.config.Partitions = 1
	s.config.DataDir = t.TempDir()
	var holds atomic.Bool
	sends := make(chan struct{})
	p := start(t, processor.Options{Config: s.config, Logger: logger(t), Broker: b, Failpoint: func(name string, _ int) error {
		if name == processor.FailSending && holds.Load() {
			<-sends
		}
		return nil
	}})
	defer p.end()
	defer s.serve(p)()
	if err := p.Settled(within(t)); err != nil {
		t.Fatal(err)
	}
	holds.Store(true)
	var turns []string
	for i := range 40 {
		turns = append(turns, fmt.Sprintf(`{"message_id":"m%d","role":"user","content":%q}`, i, strings.Repeat("a long turn ", 40)))
	}
	last := put(t, b.Conn(), "thread.message.t", turns...)
	if err := p.Wait(within(t), 0, last); err != nil {
		t.Fatal(err)
	}
	waiting := map[string]jsontext.Value{}
	view := p.View(0)
	for sum, err := range summaries(view, "t") {
		if err != nil {
			t.Fatal(err)
		}
		data, err := content.RecordOf(within(t), view, p.Records(), "t", sum)
		if err != nil {
			t.Fatal(err)
		}
		if waiting[sum.ID] = data; sum.Status == thread.Replaced && len(sum.Record) > 0 {
			t.Errorf("summary %s is replaced, and its row has its record", sum.ID)
		}
	}
	if len(waiting) < 3 {
		t.Fatalf("%d summaries", len(waiting))
	}
	if on := len(s.made()); on > 0 {
		t.Fatalf("%d summaries are on record already", on)
	}
	close(sends)
	if err := p.Settled(within(t)); err != nil {
		t.Fatal(err)
	}
	s.checkRecords(p.View)
	for id, was := range waiting {
		rec, status := s.record(id)
		var want map[string]jsontext.Value
		if err := json.Unmarshal(was, &want); err != nil {
			t.Fatal(err)
		}
		if !maps.EqualFunc(want, rec, func(a, b jsontext.Value) bool { return bytes.Equal(a, b) }) {
			t.Errorf("summary %s, which is %s, was\n%s\nand is\n%s", id, status, want, rec)
		}
	}
}
