package processor

import (
	"errors"
	"slices"
	"testing"

	"github.com/go-json-experiment/json"
	"pgregory.net/rapid"

	"precis/events"
	"precis/internal/broker"
	"precis/state"
)

// Whatever waits, each wave takes the first row of each thread, and what is counted of the rest is true.
func TestOutboxTakesWaves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := &outbox{metrics: newMetrics("")}
		var want []*state.Outgoing
		number, seq := uint64(0), uint64(0)
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			var rows []*state.Outgoing
			for range rapid.IntRange(0, 8).Draw(t, "rows") {
				number++
				thread := rapid.SampledFrom([]string{"t1", "t2", "t3", ""}).Draw(t, "thread")
				rows = append(rows, &state.Outgoing{
					Number: number, Type: events.SummaryCreated, Thread: thread,
					Data: make([]byte, rapid.IntRange(0, 9).Draw(t, "bytes")), Guarded: thread != "",
				})
			}
			steps := map[string]step{}
			for _, row := range rows {
				if s := steps[row.Thread]; len(s) > 0 && !rapid.Bool().Draw(t, "more") {
					steps[row.Thread] = nil
				}
				if row.Guarded {
					steps[row.Thread] = append(steps[row.Thread], row)
				}
				for i, r := range steps[row.Thread] {
					r.Index, r.Size = i+1, len(steps[row.Thread])
				}
			}
			o.add(rows)
			want = append(want, rows...)
			var w wave
			picked := o.pick()
			holdsSteps(t, want, picked)
			for _, d := range picked[:rapid.IntRange(min(1, len(picked)), len(picked)).Draw(t, "stored")] {
				w.rows = append(w.rows, d...)
			}
			for range w.rows {
				seq++
				w.seqs = append(w.seqs, seq)
			}
			o.take(w)
			want = slices.DeleteFunc(want, func(row *state.Outgoing) bool { return slices.Contains(w.rows, row) })
			holds(t, o, want)
		}
	})
}

// holdsSteps: of each thread that waits the first step is picked, from its first row to its last.
func holdsSteps(t *rapid.T, waiting []*state.Outgoing, picked []step) {
	want := map[string]step{}
	ended := map[string]bool{}
	for _, row := range waiting {
		if row.Guarded && !ended[row.Thread] {
			want[row.Thread] = append(want[row.Thread], row)
			ended[row.Thread] = !row.More()
		}
	}
	for _, d := range picked {
		if name := d[0].Thread; d[0].Guarded {
			if !slices.Equal(d, want[name]) {
				t.Fatalf("picked %d rows of %s, its first step has %d", len(d), name, len(want[name]))
			}
			delete(want, name)
		}
	}
	if len(want) > 0 {
		t.Fatalf("steps of %d threads are not picked", len(want))
	}
}

// What a server does not take goes shorter where it can, and is given up where it can't: nothing waits behind it for ever.
func TestOutboxPassesWhatIsTooLarge(t *testing.T) {
	most := int64(1 << 20)
	o := &outbox{metrics: newMetrics(""), maxPayload: func() int64 { return most }}
	rejected, err := json.Marshal(events.NewRejected(events.Raw{
		Subject: "thread.message.t", Header: map[string][]string{"Note": {"long"}}, Body: make([]byte, 2<<20),
	}, 1, &events.RejectError{Code: events.CodeSchema}, 4<<20))
	if err != nil {
		t.Fatal(err)
	}
	rows := []*state.Outgoing{
		{Number: 1, Type: events.EventRejected, Thread: "t", Data: rejected},
		{Number: 2, Type: events.SummaryCreated, Thread: "t", Data: make([]byte, 2<<20), Guarded: true},
	}
	o.add(rows)
	for _, want := range []error{errAgain, errUnpublished} {
		if err := o.tooLarge(rows[0], broker.ErrTooLarge); !errors.Is(err, want) || len(rows[0].Data) > 1000 {
			t.Fatalf("%d bytes: %v, want %v", len(rows[0].Data), err, want)
		}
	}
	if err := o.tooLarge(rows[1], broker.ErrTooLarge); !errors.Is(err, errUnpublished) {
		t.Fatal(err)
	}
	o.take(wave{rows: rows, seqs: []uint64{0, 0}})
	if o.bytes != 0 || len(o.rows) != 0 {
		t.Errorf("%d bytes in %d rows wait", o.bytes, len(o.rows))
	}
	most--
	if err := o.tooLarge(rows[1], broker.ErrTooLarge); !errors.Is(err, broker.ErrPayload) {
		t.Error("a server that takes less than a record may have is not refused")
	}
}

func holds(t *rapid.T, o *outbox, want []*state.Outgoing) {
	if !slices.Equal(o.rows, want) {
		t.Fatalf("%d rows wait, want %d", len(o.rows), len(want))
	}
	bytes := 0
	for _, row := range want {
		bytes += len(row.Data)
	}
	if bytes != o.bytes {
		t.Fatalf("%d bytes, want %d", o.bytes, bytes)
	}
}
