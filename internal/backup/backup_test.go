package backup

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
	"github.com/stretchr/testify/require"

	"precis/events"
	"precis/internal/broker"
)

// Sequences, times, headers, gaps, first and last sequences and configurations are the same after a restore.
func TestRestoredStreamsAreTheSame(t *testing.T) {
	b := provisioned(t)
	say(t, b, "thread.message.t1", "a", "b", "c", "d", "e")
	say(t, b, "tool.result.t2", "", strings.Repeat("long ", 300_000))
	say(t, b, "tool.result.*", "a stray") // stored without a partition
	say(t, b, "summary.created.t1", "s1", "s2")
	log, err := b.JetStream().Stream(within(t), broker.StreamEvents)
	require.NoError(t, err)
	for _, seq := range []uint64{1, 3, 8} { // the first, one in the middle, the last
		require.NoError(t, log.DeleteMsg(within(t), seq))
	}

	dir := t.TempDir()
	r := backedUp(t, b, dir)
	require.Equal(t, []broker.Missing{{Stream: broker.StreamEvents, From: 3, To: 3}, {Stream: broker.StreamEvents, From: 8, To: 8}}, r.Missing)
	require.Equal(t, holding(t, b), holding(t, restoredFrom(t, dir, time.Time{})))

	restored := restoredFrom(t, dir, time.Time{})
	require.Equal(t, uint64(9), say(t, restored, "thread.message.t1", "f"), "no sequence is used twice")
}

// An emptied stream goes on at its next sequence.
func TestEmptiedStream(t *testing.T) {
	b := provisioned(t)
	say(t, b, "thread.message.t1", "a", "b", "c")
	log, err := b.JetStream().Stream(within(t), broker.StreamEvents)
	require.NoError(t, err)
	require.NoError(t, log.Purge(within(t)))
	dir := t.TempDir()
	backedUp(t, b, dir)
	restored := restoredFrom(t, dir, time.Time{})
	require.Equal(t, holding(t, b), holding(t, restored))
	require.Equal(t, uint64(4), say(t, restored, "thread.message.t1", "d"))
}

// A second run copies what is new, and each point can be restored.
func TestPoints(t *testing.T) {
	b, dir := provisioned(t), t.TempDir()
	empty := holding(t, b)
	first := backedUp(t, b, dir)
	say(t, b, "thread.message.t1", "a", "b")
	say(t, b, "event.rejected.t1", "r")
	then := holding(t, b)
	second := backedUp(t, b, dir)
	before := files(t, dir, "*.s2")
	say(t, b, "thread.message.t1", "c")
	third := backedUp(t, b, dir)
	require.Len(t, files(t, dir, "*.s2"), len(before)+1, "one message is one file")
	require.Equal(t, []uint64{0, 0, 1}, []uint64{third.Added[0].Messages, third.Added[1].Messages, third.Added[2].Messages})
	backedUp(t, b, dir)
	require.Len(t, files(t, dir, "*.s2"), len(before)+1, "nothing is nothing")

	require.Equal(t, empty, holding(t, restoredFrom(t, dir, first.At)))
	require.Equal(t, then, holding(t, restoredFrom(t, dir, third.At.Add(-1))))
	require.Equal(t, then, holding(t, restoredFrom(t, dir, second.At)))
	require.Equal(t, holding(t, b), holding(t, restoredFrom(t, dir, time.Time{})))
	// The records of before, and all events.
	of, err := Open(within(t), Dir(dir), second.At)
	require.NoError(t, err)
	of.WithAllEvents()
	all := opened(t, t.TempDir())
	require.NoError(t, of.Restore(within(t), Target{JetStream: all.JetStream(), Progress: func(uint64, uint64) {}}))
	require.Equal(t, append(then[:len(then)-3:len(then)-3], holding(t, b)[len(then)-3:]...), holding(t, all))
	_, err = Open(within(t), Dir(dir), first.At.Add(-1))
	require.ErrorIs(t, err, ErrNoBackup)
}

// A run that is cut off anywhere leaves the points of before, and the next one goes on.
func TestInterruptedRun(t *testing.T) {
	b, dir := provisioned(t), t.TempDir()
	const messages = 40
	for i := range messages {
		say(t, b, "thread.message.t1", fmt.Sprint(i))
		say(t, b, "summary.created.t1", fmt.Sprint(i))
	}
	for cut := 1; ; cut += 7 {
		ctx, cancel := context.WithCancel(within(t))
		_, err := Run(ctx, Options{JetStream: b.JetStream(), Place: Dir(dir), Program: "v1", Now: time.Now, SegmentBytes: 200, Progress: func(copied, _ uint64) {
			if copied == uint64(cut) {
				cancel()
			}
		}})
		cancel()
		if err == nil {
			break
		}
		require.ErrorIs(t, err, context.Canceled)
		require.Empty(t, files(t, dir, "*.partial"))
		_, err = Open(within(t), Dir(dir), time.Time{})
		require.ErrorIs(t, err, ErrPartial)
	}
	require.Greater(t, len(files(t, dir, "*.s2")), 10)
	require.Equal(t, holding(t, b), holding(t, restoredFrom(t, dir, time.Time{})))
	// What a killed run leaves is written again.
	require.NoError(t, os.WriteFile(filepath.Join(dir, segmentFile(broker.StreamEvents, messages+1))+partial, []byte("half"), 0o600))
	say(t, b, "thread.message.t1", "more")
	backedUp(t, b, dir)
	require.Equal(t, holding(t, b), holding(t, restoredFrom(t, dir, time.Time{})))
}

// resealed changes a manifest, and gives it the checksum of its change.
func resealed(t *testing.T, dir string, change func(*manifest)) {
	t.Helper()
	m, _, err := load(within(t), Dir(dir))
	require.NoError(t, err)
	change(m)
	require.NoError(t, m.save(within(t), Dir(dir)))
}

// Every change of a file is found before anything is written.
func TestDamagedBackup(t *testing.T) {
	b := provisioned(t)
	say(t, b, "thread.message.t1", "a", "b", "c")
	say(t, b, "summary.created.t1", "s")
	for name, damage := range map[string]func(t *testing.T, dir string){
		"a flipped bit": func(t *testing.T, dir string) {
			overwrite(t, files(t, dir, "EVENTS*")[0], func(data []byte) []byte { data[len(data)/2] ^= 1; return data })
		},
		"a flipped bit at the end": func(t *testing.T, dir string) {
			overwrite(t, files(t, dir, "SUMMARIES*")[0], func(data []byte) []byte { data[len(data)-1] ^= 1; return data })
		},
		"a truncated file": func(t *testing.T, dir string) {
			overwrite(t, files(t, dir, "EVENTS*")[0], func(data []byte) []byte { return data[:len(data)-1] })
		},
		"an empty file": func(t *testing.T, dir string) {
			overwrite(t, files(t, dir, "EVENTS*")[0], func([]byte) []byte { return nil })
		},
		"something behind the end": func(t *testing.T, dir string) {
			overwrite(t, files(t, dir, "EVENTS*")[0], func(data []byte) []byte { return append(data, 0) })
		},
		"a missing file": func(t *testing.T, dir string) { require.NoError(t, os.Remove(files(t, dir, "EVENTS*")[0])) },
		"another manifest": func(t *testing.T, dir string) {
			overwrite(t, filepath.Join(dir, manifestFile), func(data []byte) []byte {
				return bytes.Replace(data, []byte(`"messages": 3`), []byte(`"messages": 2`), 1)
			})
		},
		"a stream of another name": func(t *testing.T, dir string) {
			resealed(t, dir, func(m *manifest) { m.Points[0].Streams[0].Stream = "../SUMMARIES" })
		},
		"segments of another name": func(t *testing.T, dir string) {
			resealed(t, dir, func(m *manifest) { m.Segments["../SUMMARIES"] = m.Segments[broker.StreamSummaries] })
		},
		"a point without a stream": func(t *testing.T, dir string) {
			resealed(t, dir, func(m *manifest) { m.Points[0].Streams = m.Points[0].Streams[1:] })
		},
		"the configuration of another stream": func(t *testing.T, dir string) {
			resealed(t, dir, func(m *manifest) { m.Points[0].Streams[0].Config = m.Points[0].Streams[1].Config })
		},
		"a cut off manifest": func(t *testing.T, dir string) {
			overwrite(t, filepath.Join(dir, manifestFile), func(data []byte) []byte { return data[:len(data)/2] })
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			backedUp(t, b, dir)
			damage(t, dir)
			to := opened(t, t.TempDir())
			require.ErrorIs(t, restoreTo(t, to, dir, time.Time{}, Target{}), ErrDamaged)
			for _, stream := range streams {
				_, err := broker.StateOf(within(t), to.JetStream(), stream)
				require.Error(t, err, "nothing was written")
			}
		})
	}
	dir := t.TempDir()
	backedUp(t, b, dir)
	overwrite(t, filepath.Join(dir, manifestFile), func(data []byte) []byte { return bytes.Replace(data, []byte(`"format": 1`), []byte(`"format": 2`), 1) })
	_, err := Open(within(t), Dir(dir), time.Time{})
	require.ErrorIs(t, err, ErrFormat)
}

// A directory keeps the backup of one log.
func TestOtherLog(t *testing.T) {
	b, dir := provisioned(t), t.TempDir()
	say(t, b, "thread.message.t1", "a", "b", "c")
	backedUp(t, b, dir)
	again := func(b *broker.Broker) error {
		_, err := Run(within(t), Options{JetStream: b.JetStream(), Place: Dir(dir), Program: "v1", Now: time.Now})
		return err
	}
	other := provisioned(t)
	require.ErrorIs(t, again(other), ErrOtherLog, "shorter")
	say(t, other, "thread.message.t1", "a", "b", "c", "d")
	require.ErrorIs(t, again(other), ErrOtherLog, "grown past it")
	require.NoError(t, again(restoredFrom(t, dir, time.Time{})), "a restored log is the same")

	foreign := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(foreign, "letters.txt"), nil, 0o600))
	_, err := Run(within(t), Options{JetStream: b.JetStream(), Place: Dir(foreign), Program: "v1", Now: time.Now})
	require.ErrorIs(t, err, ErrNoBackup)
	_, err = Open(within(t), Dir(foreign), time.Time{})
	require.ErrorIs(t, err, ErrNoBackup)
}

// Streams with messages, or with a reader, are refused and stay as they are.
func TestRestoreRefuses(t *testing.T) {
	b, dir := provisioned(t), t.TempDir()
	say(t, b, "thread.message.t1", "a")
	backedUp(t, b, dir)
	to := provisioned(t)
	require.NoError(t, restoreTo(t, to, dir, time.Time{}, Target{}), "streams without messages")
	say(t, to, "thread.message.t1", "more")
	held := holding(t, to)
	require.ErrorIs(t, restoreTo(t, to, dir, time.Time{}, Target{}), ErrNotEmpty)
	require.Equal(t, held, holding(t, to))

	processor, err := micro.AddService(to.Conn(), micro.Config{Name: "precis", Version: "1.0.0"})
	require.NoError(t, err)
	require.ErrorIs(t, restoreTo(t, to, dir, time.Time{}, Target{Overwrite: true}), ErrInUse)
	require.Equal(t, held, holding(t, to))
	require.NoError(t, processor.Stop())

	require.NoError(t, restoreTo(t, to, dir, time.Time{}, Target{Overwrite: true}))
	require.Equal(t, holding(t, b), holding(t, to))
}

// Agents that retry publish as soon as EVENTS is there, behind what was restored.
func TestRestoreWhilePublishing(t *testing.T) {
	b, dir := provisioned(t), t.TempDir()
	const messages = 200
	for i := range messages {
		say(t, b, "thread.message.t1", fmt.Sprint(i))
	}
	held := holding(t, b)
	backedUp(t, b, dir)
	to := opened(t, t.TempDir())
	ctx, cancel := context.WithCancel(within(t))
	var agent sync.WaitGroup
	var first, last uint64
	agent.Go(func() {
		for ctx.Err() == nil {
			ack, err := to.JetStream().Publish(ctx, "thread.message.t2", []byte("late"))
			if err != nil {
				continue // no stream yet
			}
			if last = ack.Sequence; first == 0 {
				first = last
			}
			if last > messages+50 {
				return
			}
		}
	})
	require.NoError(t, restoreTo(t, to, dir, time.Time{}, Target{}))
	agent.Wait()
	cancel()
	require.Equal(t, uint64(messages+1), first)
	require.Equal(t, held[len(held)-messages:], holding(t, to)[len(held)-messages:len(held)])
}

// What is acknowledged while a restore runs stays: on a stream that it would have replaced, and on one that a processor has made meanwhile.
func TestRestoreDeletesNothingAcknowledged(t *testing.T) {
	b, dir := provisioned(t), t.TempDir()
	for i := range 50 {
		say(t, b, "thread.message.t1", fmt.Sprint(i))
	}
	backedUp(t, b, dir)
	kept, err := Open(within(t), Dir(dir), time.Time{})
	require.NoError(t, err)

	to := provisioned(t)
	target := Target{JetStream: to.JetStream(), Progress: func(uint64, uint64) {}}
	require.NoError(t, Check(within(t), target))
	say(t, to, "thread.message.t1", "acknowledged")
	held := holding(t, to)
	require.ErrorIs(t, kept.Restore(within(t), target), ErrNotEmpty)
	require.Equal(t, held, holding(t, to))
	say(t, to, "thread.message.t1", "and the next")

	to = opened(t, t.TempDir())
	target.JetStream = to.JetStream()
	target.Progress = func(done, _ uint64) {
		if done == kept.Messages("") { // nearly everything of EVENTS is sent
			_, err := broker.Provision(within(t), to.JetStream(), broker.StreamSpec{Partitions: 4})
			require.NoError(t, err)
			say(t, to, "thread.message.t1", "acknowledged")
		}
	}
	require.ErrorIs(t, kept.Restore(within(t), target), ErrInUse)
	s, err := to.JetStream().Stream(within(t), broker.StreamEvents)
	require.NoError(t, err)
	require.EqualValues(t, 1, s.CachedInfo().State.Msgs)
	target.Overwrite, target.Progress = true, func(uint64, uint64) {}
	require.NoError(t, kept.Restore(within(t), target))
	require.Equal(t, holding(t, b), holding(t, to))
}

// While agents publish and a processor answers, no record of a point is without its event, and steps are whole.
func TestCutWhilePublishing(t *testing.T) {
	for _, size := range []int{1, 900} { // records of a step
		t.Run(fmt.Sprint(size), func(t *testing.T) { cutWhile(t, size) })
	}
}

func cutWhile(t *testing.T, size int) {
	b, dir := provisioned(t), t.TempDir()
	var working sync.WaitGroup
	ctx, cancel := context.WithCancel(within(t))
	working.Go(func() { answering(ctx, t, b, size) })
	for range 300 {
		r := &run{Options: Options{JetStream: b.JetStream(), Now: time.Now}, manifest: &manifest{}}
		require.NoError(t, r.cut(within(t)))
		ends := map[string]uint64{}
		for _, cut := range r.report.Streams {
			ends[cut.Stream] = cut.LastSeq
		}
		end := ends[broker.StreamSummaries]
		require.Zero(t, end%uint64(size), "the point ends in the middle of a step")
		if end == 0 || size > 1 { // reading a message would wait for the end of the step, and the next cut would come right behind it
			continue
		}
		last, err := broker.NewLogReader(b.JetStream(), broker.StreamSummaries).Get(within(t), end)
		require.NoError(t, err)
		var head events.Head
		require.NoError(t, json.Unmarshal(last.Data, &head))
		require.LessOrEqual(t, head.EventSeq, ends[broker.StreamEvents])
	}
	backedUp(t, b, dir)
	cancel()
	working.Wait()
	of, err := Open(within(t), Dir(dir), time.Time{})
	require.NoError(t, err)
	require.NoError(t, of.Verify(within(t), func(uint64, uint64) {}))
}

// A step that a server has lost the end of is not waited for.
func TestCutOffStep(t *testing.T) {
	b := provisioned(t)
	m := nats.NewMsg("summary.created.t1")
	m.Data, m.Header["ce-stepsize"] = []byte(`{"step":{"index":2}}`), []string{"5"}
	_, err := b.JetStream().PublishMsg(within(t), m)
	require.NoError(t, err)
	dir := t.TempDir()
	require.Equal(t, uint64(1), backedUp(t, b, dir).Streams[0].LastSeq)
}

// answering publishes an event and the records of a step that it leads to, again and again until ctx ends.
func answering(ctx context.Context, t *testing.T, b *broker.Broker, size int) {
	pub, err := broker.NewPublisher(b.Conn(), broker.PublisherConfig{})
	if err != nil {
		t.Error(err)
		return
	}
	defer pub.Close()
	for ctx.Err() == nil {
		event, err := b.JetStream().Publish(within(t), "thread.message.t1", []byte("{}"))
		if err != nil {
			t.Error(err)
			return
		}
		var step []*nats.Msg
		for i := range size {
			m := nats.NewMsg("summary.created.t1")
			m.Data = fmt.Appendf(nil, `{"event_seq":%d,"step":{"cause":"event","index":%d}}`, event.Sequence, i+1)
			m.Header.Set("ce-stepsize", fmt.Sprint(size))
			step = append(step, m)
		}
		for _, ack := range pub.PublishAtomic(within(t), step) {
			if ack.Err != nil {
				t.Error(ack.Err)
				return
			}
		}
	}
}
