package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// load publishes rounds of stories to some threads, through whatever happens to the processor.
func (w *world) load(threads, from, to int) {
	w.t.Helper()
	for round := from; round < to; round++ {
		for n := range threads {
			name := fmt.Sprintf("load %d", n)
			id := fmt.Sprint(round)
			w.message(name, "u"+id, "say "+id)
			w.result(name, "r"+id, output(id))
			w.result(name, "r"+id, output(id))
			w.publish("thread.message."+token(name), nil, []byte("no JSON"))
			w.edit(name, "u"+id, "said "+id)
			w.edit(name, "early"+id, "before it")
			w.message(name, "early"+id, "late")
			if round%2 == 0 {
				w.edit(name, "r"+id, output("edited "+id))
			}
		}
	}
}

// state is what a client can see of the loaded threads.
func (w *world) state(threads int) map[string]object {
	w.t.Helper()
	all := map[string]object{}
	for n := range threads {
		name := fmt.Sprintf("load %d", n)
		all[name] = w.thread(name, w.lastSeq(name))
	}
	return all
}

// lastSeq is the sequence of a thread's last event.
func (w *world) lastSeq(thread string) uint64 {
	w.t.Helper()
	events, err := w.js.Stream(within(w.t), "EVENTS")
	if err != nil {
		w.t.Fatal(err)
	}
	m, err := events.GetLastMsgForSubject(within(w.t), "*.*.*."+token(thread))
	if err != nil {
		w.t.Fatal(err)
	}
	return m.Sequence
}

// sizes are how many messages SUMMARIES and REJECTED hold, without claims: each start makes its own.
func (w *world) sizes() [2]uint64 {
	w.t.Helper()
	var n [2]uint64
	for i, name := range []string{"SUMMARIES", "REJECTED"} {
		s, err := w.js.Stream(within(w.t), name)
		if err != nil {
			w.t.Fatal(err)
		}
		n[i] = s.CachedInfo().State.Msgs
	}
	for token, records := range w.everything() {
		if strings.HasPrefix(token, "=p") {
			n[0] -= uint64(len(slices.DeleteFunc(records, func(m stored) bool { return !claim(m) })))
		}
	}
	return n
}

// holdOnce holds SUMMARIES against what it must hold: every record once, every chain unbroken.
func (w *world) holdOnce(threads, rounds int) {
	w.t.Helper()
	ids := map[string]bool{}
	for tok, records := range w.everything() {
		if !strings.HasPrefix(tok, "=p") {
			holdChain(w.t, records)
			if len(records) != rounds+(rounds+1)/2*2 {
				w.t.Errorf("thread %s has %d records", tok, len(records))
			}
		}
		for _, m := range records {
			if id := m.header.Get("ce-id"); ids[id] {
				w.t.Errorf("%s stands twice", id)
			} else {
				ids[id] = true
			}
		}
	}
}

// Stopped, killed and rebuilt in the middle of its work, the processor ends up where one does that never was.
func TestStopsAndKillsLoseNothing(t *testing.T) {
	const threads, rounds = 6, 12
	s := startServer(t, nil)
	dir := t.TempDir()
	d := launch(t, dir, "--nats", s.url)
	publisher := d.world
	for i, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL, syscall.SIGKILL} {
		loaded := make(chan struct{})
		go func() {
			defer close(loaded)
			publisher.load(threads, 4*i, 4*i+4)
		}()
		publisher.eventually("some of it done", func() error {
			if publisher.sizes()[0] < uint64(16+40*i) {
				return fmt.Errorf("SUMMARIES holds %d", publisher.sizes()[0])
			}
			return nil
		})
		if status := d.kill(signal); signal == syscall.SIGTERM && status != statusDone {
			t.Errorf("told to stop, it ended with %d:\n%s", status, d.stderr)
		}
		<-loaded
		d = launch(t, dir, "--nats", s.url)
	}
	got := d.state(threads)
	d.eventually("all published", func() error {
		if n, want := d.sizes()[1], uint64(threads*rounds); n != want {
			return fmt.Errorf("REJECTED holds %d of %d", n, want)
		}
		return nil
	})
	reference := begin(t, "partitions: 3\n")
	reference.load(threads, 0, rounds)
	for name, want := range reference.state(threads) {
		equal(t, name, same(got[name]), same(want))
	}
	if status := d.kill(syscall.SIGTERM); status != statusDone {
		t.Fatalf("ended with %d:\n%s", status, d.stderr)
	}
	d.holdOnce(threads, rounds)
	before := d.sizes()

	if err := os.Rename(filepath.Join(dir, "state"), filepath.Join(dir, "moved")); err != nil {
		t.Fatal(err)
	}
	d = launch(t, dir, "--nats", s.url)
	for name, want := range got {
		equal(t, "rebuilt "+name, d.thread(name, 0), want)
	}
	d.eventually("all rejected events are applied again", func() error {
		if n := d.metrics("precis_events_total")[`outcome="rejected"`]; n != threads*rounds {
			return fmt.Errorf("%v of %d", n, threads*rounds)
		}
		return nil
	})
	for code, n := range d.metrics("precis_rejected_events_total") {
		if n != 0 { // an alert goes by it
			t.Errorf("rebuilt, %v rejections of %s that REJECTED had are counted again", n, code)
		}
	}
	if status := d.kill(syscall.SIGTERM); status != statusDone {
		t.Fatalf("ended with %d:\n%s", status, d.stderr)
	}
	if after := d.sizes(); after != before {
		t.Errorf("rebuilt, SUMMARIES and REJECTED hold %v, held %v", after, before)
	}
	do(t, nil, "", "check", "--data", dir, "--nats", s.url).wants(t, statusDone)
}

// Another configuration is on record from where it is in force, however often that is at the same event.
func TestConfigurationsAtOnePosition(t *testing.T) {
	dir := t.TempDir()
	for i, limit := range []int{5000, 6000, 5000, 7000, 7000} {
		w := beginIn(t, dir, fmt.Sprintf("partitions: 2\nlimits: {event_bytes: %d}\n", limit))
		want := []int{1, 2, 3, 4, 4}[i]
		w.eventually("config.applied", func() error {
			if n := len(w.configured(0)); n != want {
				return fmt.Errorf("%d records, want %d", n, want)
			}
			return nil
		})
		holdChain(t, w.own(0))
		records := w.configured(0)
		if got := records[len(records)-1].data(t)["limits"].(object)["event_bytes"]; fmt.Sprint(got) != fmt.Sprint(limit) {
			t.Errorf("on record is %v, in force %d", got, limit)
		}
		w.end()
	}
}

// A limit judges what comes after it, also when all is folded again under another one.
func TestLimitsInForceAreKept(t *testing.T) {
	dir := t.TempDir()
	w := beginIn(t, dir, "partitions: 1\nlimits: {event_bytes: 1000}\n")
	w.thread("t", w.publish("thread.message.t", nil, []byte(sizedTo(900))))
	w.end()
	w = beginIn(t, dir, "partitions: 1\nlimits: {event_bytes: 500}\n")
	seq := w.publish("thread.message.t", nil, []byte(strings.Replace(sizedTo(901), `"m"`, `"n"`, 1)))
	w.counters("t", seq, map[string]int64{"messages": 1, "rejected": 1})
	w.end()
	if err := os.RemoveAll(filepath.Join(dir, "state")); err != nil {
		t.Fatal(err)
	}
	w = beginIn(t, dir, "partitions: 1\nlimits: {event_bytes: 2000}\n")
	w.counters("t", seq, map[string]int64{"messages": 1, "rejected": 1})
	if n := w.sizes()[1]; n != 1 {
		t.Errorf("REJECTED holds %d", n)
	}
}
