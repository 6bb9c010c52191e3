package state

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// What 10,000 threads of 20 messages take before and after they are parked, and how long it takes to park and to read one, without the server's part.
//
//	go test ./state -run '^$' -bench ParkedThreads -benchtime 1x
func BenchmarkParkedThreads(b *testing.B) {
	const threads, messages = 10_000, 20
	for range b.N {
		shelf := newShelf()
		s, err := Open("store", Options{FS: Memory(), Objects: shelf})
		if err != nil {
			b.Fatal(err)
		}
		p, err := s.Partition(3)
		if err != nil {
			b.Fatal(err)
		}
		t := &testing.T{}
		for n := range threads {
			for m := range messages {
				step{name: fmt.Sprint("thread-", n), id: fmt.Sprintf("message-%d-%d", n, m), seq: uint64(n*messages + m + 1)}.do(t, p)
			}
			commit(t, p)
		}
		before := size(b, s)
		began, stored := time.Now(), uint64(0)
		for n := range threads {
			snapshot := s.Snapshot(3)
			k, err := snapshot.Pack(fmt.Sprint("thread-", n))
			if err != nil || k == nil {
				b.Fatal(err)
			}
			_ = snapshot.Close()
			shelf.put(3, k)
			stored += k.Stored
			if done, err := p.Park(k); !done || err != nil {
				b.Fatal(done, err)
			}
			commit(t, p)
		}
		b.ReportMetric(float64(time.Since(began).Microseconds())/threads, "us/park")
		after := size(b, s)
		var took []time.Duration
		for n := range threads {
			at := time.Now()
			if rows, err := s.View(3).Messages(fmt.Sprint("thread-", n), 1, messages+1); err != nil || len(rows) != messages {
				b.Fatal(len(rows), err)
			}
			took = append(took, time.Since(at))
		}
		slices.Sort(took)
		b.ReportMetric(float64(before), "bytes-before")
		b.ReportMetric(float64(after), "bytes-after")
		b.ReportMetric(float64(stored), "bytes-objects")
		b.ReportMetric(float64(took[threads/2].Microseconds()), "us-read-p50")
		b.ReportMetric(float64(took[threads*99/100].Microseconds()), "us-read-p99")
		_ = p.Close()
		_ = s.Close()
	}
}

// size is what the partition's table takes, compacted.
func size(b *testing.B, s *Store) int64 {
	b.Helper()
	table, err := s.Export(3, func(int) error { return nil })
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = table.Remove() }()
	return table.Bytes
}
