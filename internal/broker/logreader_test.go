package broker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
)

func TestGetReturnsWhatWasPublished(t *testing.T) {
	b := provisioned(t, 4)
	r := NewLogReader(b.JetStream(), StreamEvents)
	for name, m := range map[string]*nats.Msg{
		"plain":         {Data: []byte("body")},
		"empty":         {},
		"binary":        {Data: []byte{0, 255, '\n'}},
		"header":        {Data: []byte("x"), Header: nats.Header{"A": {"1", "2"}, "a": {"3"}}},
		"header, empty": {Header: nats.Header{"A": {""}}},
		// A publisher may forge the headers of a direct get's answer.
		"forged": {Data: []byte("x"), Header: nats.Header{
			"Nats-Sequence": {"999"}, "Nats-Subject": {"9.tool.result.other"},
			"Nats-Stream": {"OTHER"}, "Nats-Time-Stamp": {"1999-01-01T00:00:00Z"},
			"Nats-Num-Pending": {"7"}, "Nats-Last-Sequence": {"1", "2"},
		}},
		"forged subject":   {Header: nats.Header{"Nats-Subject": {"9.tool.result.other"}, "Nats-Time-Stamp": {"1999-01-01T00:00:00Z"}}},
		"forged, twice":    {Header: nats.Header{"Nats-Sequence": {"998", "999"}}},
		"forged not found": {Header: nats.Header{"Status": {"404"}, "Description": {"Message Not Found"}}},
	} {
		t.Run(name, func(t *testing.T) {
			m.Subject = "tool.result.t"
			ack, err := b.JetStream().PublishMsg(testContext(t), m)
			require.NoError(t, err)
			for how, get := range map[string]func() (Stored, error){
				"get":  func() (Stored, error) { return r.Get(testContext(t), ack.Sequence) },
				"last": func() (Stored, error) { return r.Last(testContext(t), "*.tool.result.t") },
				"several": func() (s Stored, err error) {
					return s, errors.Join(r.Several(testContext(t), ack.Sequence, 2, func(m Stored) { s = m }), err)
				},
				"scan": func() (s Stored, err error) {
					return s, errors.Join(r.Scan(testContext(t), ack.Sequence, nil, func(m Stored) error { s = m; return nil }, nil), err)
				},
			} {
				got, err := get()
				require.NoError(t, err, how)
				require.Equal(t, ack.Sequence, got.Seq, how)
				require.Regexp(t, `^\d\.tool\.result\.t$`, got.Subject, how)
				require.Equal(t, string(m.Data), string(got.Data), how)
				require.WithinDuration(t, time.Now(), got.Time, time.Minute, how)
				if len(m.Header) > 0 {
					require.Equal(t, m.Header, got.Header, how)
				} else {
					require.Empty(t, got.Header, how)
				}
			}
		})
	}
}

func TestGone(t *testing.T) {
	b := provisioned(t, 1)
	r := NewLogReader(b.JetStream(), StreamEvents)
	_, err := r.Last(testContext(t), "*.tool.result.*")
	require.ErrorIs(t, err, ErrGone)
	seq := publish(t, b, "tool.result.t", "x")
	publish(t, b, "tool.result.t", "y")
	s, err := b.JetStream().Stream(testContext(t), StreamEvents)
	require.NoError(t, err)
	require.NoError(t, s.DeleteMsg(testContext(t), seq))
	for _, seq := range []uint64{seq, 3, 1 << 60} {
		_, err = r.Get(testContext(t), seq)
		require.ErrorIs(t, err, ErrGone)
	}
	_, err = NewLogReader(b.JetStream(), "NOWHERE").Get(testContext(t), 1)
	require.Error(t, err)
	require.NotErrorIs(t, err, ErrGone, "a missing stream is no missing message")
}

// The sequence at a time is what reading the whole stream says, also beside messages that are missing, before the first and behind the last.
func TestSeqAt(t *testing.T) {
	b := provisioned(t, 4)
	r := NewLogReader(b.JetStream(), StreamEvents)
	at, err := r.SeqAt(testContext(t), 0, 0, time.Now())
	require.NoError(t, err)
	require.Zero(t, at, "of an empty stream")
	const count = 60
	for i := range count {
		_, err := b.JetStream().Publish(testContext(t), "thread.message.t", fmt.Append(nil, i))
		require.NoError(t, err)
	}
	times := map[uint64]time.Time{}
	require.NoError(t, r.Scan(testContext(t), 1, nil, func(m Stored) error { times[m.Seq] = m.Time; return nil }, nil))
	require.Len(t, times, count)
	stream, err := b.JetStream().Stream(testContext(t), StreamEvents)
	require.NoError(t, err)
	for _, gone := range []uint64{1, 2, 20, 21, 22, 40, count} {
		require.NoError(t, stream.DeleteMsg(testContext(t), gone))
		delete(times, gone)
	}
	for _, of := range times {
		for _, when := range []time.Time{of.Add(-time.Hour), of.Add(-1), of, of.Add(1), of.Add(time.Hour), {}, time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)} {
			for _, span := range [][2]uint64{{1, count}, {3, count - 1}, {10, 30}} {
				got, err := r.SeqAt(testContext(t), span[0], span[1], when)
				require.NoError(t, err)
				require.GreaterOrEqual(t, got, span[0]-1)
				require.LessOrEqual(t, got, span[1])
				for seq, came := range times {
					if seq >= span[0] && seq <= span[1] {
						require.Equal(t, !came.After(when), seq <= got, "message %d of %v at %v: up to %d", seq, came, when, got)
					}
				}
			}
		}
	}
}

func TestSeveral(t *testing.T) {
	b := provisioned(t, 1)
	r := NewLogReader(b.JetStream(), StreamEvents)
	var all []uint64
	for range 10 {
		all = append(all, publish(t, b, "tool.result.t", "x"), publish(t, b, "message.edited.u", "y"))
	}
	s, err := b.JetStream().Stream(testContext(t), StreamEvents)
	require.NoError(t, err)
	require.NoError(t, s.DeleteMsg(testContext(t), all[7]))
	read := func(from uint64, n int) (seqs []uint64) {
		require.NoError(t, r.Several(testContext(t), from, n, func(m Stored) { seqs = append(seqs, m.Seq) }))
		return seqs
	}
	require.Equal(t, all[2:7], read(all[2], 5))
	require.Equal(t, append(all[5:7:7], all[8:]...), read(all[5], 100), "without the deleted one, to the end")
	require.Empty(t, read(all[len(all)-1]+1, 3))
	require.ErrorIs(t, NewLogReader(b.JetStream(), "NOWHERE").Several(testContext(t), 1, 1, nil), nats.ErrNoResponders)
	ended, end := context.WithCancel(t.Context())
	end()
	require.ErrorIs(t, r.Several(ended, 1, 1, func(Stored) {}), context.Canceled)
}

// A request for large messages returns only some of them.
func TestSeveralIsBounded(t *testing.T) {
	b := provisioned(t, 1)
	r := NewLogReader(b.JetStream(), StreamEvents)
	for range 5 {
		publish(t, b, "tool.result.t", strings.Repeat("x", severalBytes*2/3))
	}
	var got []uint64
	require.NoError(t, r.Several(testContext(t), 1, 5, func(m Stored) { got = append(got, m.Seq) }))
	require.Equal(t, []uint64{1, 2}, got)
}

func TestScan(t *testing.T) {
	b := provisioned(t, 4)
	p, err := NewPublisher(b.Conn(), PublisherConfig{})
	require.NoError(t, err)
	defer p.Close()
	const events = 20_000
	for _, a := range p.PublishBatch(testContext(t), eventBatch(events)) {
		require.NoError(t, a.Err)
	}
	r := NewLogReader(b.JetStream(), StreamEvents)
	for name, c := range map[string]struct {
		from    uint64
		filters []string
		want    int
	}{
		"all":           {0, nil, events},
		"from":          {events - 9, nil, 10},
		"beyond":        {events + 1, nil, 0},
		"type":          {1, []string{"*.tool.result.*"}, 6667},
		"types":         {events - 99, []string{"*.tool.result.*", "*.message.edited.*"}, 66},
		"nothing there": {1, []string{"*.tool.result.nobody"}, 0},
		"a thread":      {1, []string{"*.*.*.t7"}, 1177},
		"two, from":     {events - 33, []string{"*.*.*.t7", "*.*.*.t8"}, 4},
	} {
		for how, scan := range map[string]scanner{"": r.Scan, " by subject": r.ScanSubjects} {
			t.Run(name+how, func(t *testing.T) {
				n, last := 0, uint64(0)
				var reached, of uint64
				err := scan(testContext(t), c.from, c.filters, func(m Stored) error {
					require.Greater(t, m.Seq, last)
					last = m.Seq
					n++
					return nil
				}, func(seq, end uint64) { reached, of = seq, end })
				require.NoError(t, err)
				require.Equal(t, c.want, n)
				require.EqualValues(t, events, reached)
				require.EqualValues(t, events, of)
			})
		}
	}
}

// Whatever a caller believes to know, a scan passes on what the stream holds.
func TestScanKnown(t *testing.T) {
	b := provisioned(t, 1)
	r := NewLogReader(b.JetStream(), StreamEvents)
	for i := range 30 {
		publish(t, b, []string{"tool.result.t", "thread.message.t", "tool.result.u"}[i%3], fmt.Sprint(i))
	}
	s, err := b.JetStream().Stream(testContext(t), StreamEvents)
	require.NoError(t, err)
	require.NoError(t, s.DeleteMsg(testContext(t), 7))
	outputs, messages := []uint64{1, 4, 10, 13, 16, 19, 22, 25, 28}, []uint64{2, 5, 8, 11, 14, 17, 20, 23, 26, 29}
	want := slices.Sorted(slices.Values(slices.Concat(outputs, messages)))
	for name, known := range map[string][]uint64{
		"all":              want,
		"one subject":      outputs,
		"one is missing":   want[1:],
		"one stands twice": slices.Concat([]uint64{4}, want[1:]),
		"another's":        slices.Concat(want[1:], []uint64{3}),
		"a deleted one":    slices.Concat(want, []uint64{7}),
		"no order":         slices.SortedFunc(slices.Values(want), func(a, b uint64) int { return cmp.Compare(b, a) }),
		"not there yet":    slices.Concat(want, []uint64{99}),
	} {
		for _, from := range []uint64{1, 12} {
			var got []uint64
			require.NoError(t, r.ScanKnown(testContext(t), from, []string{"*.*.*.t"}, known, func(m Stored) error {
				got = append(got, m.Seq)
				return nil
			}, nil))
			i, _ := slices.BinarySearch(want, from)
			require.Equal(t, want[i:], got, name)
		}
	}
}

// scanner is a way to scan a stream.
type scanner func(ctx context.Context, from uint64, filters []string, fn func(Stored) error, progress func(seq, last uint64)) error

// Filters that many subjects match are read as Scan does, in the same order.
func TestScanOfManySubjects(t *testing.T) {
	b := provisioned(t, 4)
	p, err := NewPublisher(b.Conn(), PublisherConfig{})
	require.NoError(t, err)
	defer p.Close()
	var msgs []*nats.Msg
	for i := range 3 * maxSubjects {
		msgs = append(msgs, &nats.Msg{Subject: fmt.Sprintf("tool.result.t%d", i%(maxSubjects+1)), Data: []byte("x")})
	}
	for _, a := range p.PublishBatch(testContext(t), msgs) {
		require.NoError(t, a.Err)
	}
	r, next := NewLogReader(b.JetStream(), StreamEvents), uint64(1)
	require.NoError(t, r.ScanSubjects(testContext(t), 1, []string{"*.tool.result.*"}, func(m Stored) error {
		require.Equal(t, next, m.Seq)
		next++
		return nil
	}, nil))
	require.EqualValues(t, 3*maxSubjects+1, next)
}

// A scan does not include messages that are published while it runs.
func TestScanEndsWhereTheStreamEnded(t *testing.T) {
	b := provisioned(t, 1)
	r := NewLogReader(b.JetStream(), StreamEvents)
	for i := range 100 {
		publish(t, b, "tool.result.t", fmt.Sprint(i))
	}
	for want, scan := range []scanner{r.Scan, r.ScanSubjects} {
		n := 0
		require.NoError(t, scan(testContext(t), 1, []string{"*.*.*.t"}, func(Stored) error {
			n++
			publish(t, b, "tool.result.t", "more")
			return nil
		}, nil))
		require.Equal(t, 100<<want, n)
	}
}

func TestScanStops(t *testing.T) {
	b := provisioned(t, 1)
	for i := range 100 {
		publish(t, b, "tool.result.t", fmt.Sprint(i))
	}
	r := NewLogReader(b.JetStream(), StreamEvents)
	enough := errors.New("enough")
	require.ErrorIs(t, r.Scan(testContext(t), 1, nil, func(Stored) error { return enough }, nil), enough)
	require.ErrorIs(t, r.ScanSubjects(testContext(t), 1, []string{"*.*.*.t"}, func(Stored) error { return enough }, nil), enough)

	ctx, cancel := context.WithCancel(testContext(t))
	n := 0
	err := r.Scan(ctx, 1, nil, func(Stored) error {
		if n++; n == 10 {
			cancel()
		}
		return nil
	}, nil)
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, 10, n)

	require.ErrorIs(t, NewLogReader(b.JetStream(), "NOWHERE").Scan(testContext(t), 1, nil, nil, nil), jetstream.ErrStreamNotFound)
	require.ErrorIs(t, NewLogReader(b.JetStream(), "NOWHERE").ScanSubjects(testContext(t), 1, []string{"x"}, nil, nil), jetstream.ErrStreamNotFound)
}

// A consumer that vanishes during a scan neither loses nor repeats a message.
func TestScanSurvivesALostConsumer(t *testing.T) {
	b := provisioned(t, 1)
	p, err := NewPublisher(b.Conn(), PublisherConfig{})
	require.NoError(t, err)
	defer p.Close()
	const events = 3 * scanWindow
	for _, a := range p.PublishBatch(testContext(t), eventBatch(events)) {
		require.NoError(t, a.Err)
	}
	s, err := b.JetStream().Stream(testContext(t), StreamEvents)
	require.NoError(t, err)
	n := uint64(0)
	err = NewLogReader(b.JetStream(), StreamEvents).Scan(testContext(t), 1, nil, func(m Stored) error {
		n++
		require.Equal(t, n, m.Seq)
		if n == 100 {
			for name := range s.ConsumerNames(testContext(t)).Name() {
				require.NoError(t, s.DeleteConsumer(testContext(t), name))
			}
		}
		return nil
	}, nil)
	require.NoError(t, err)
	require.EqualValues(t, events, n)
}

// A stream may have direct gets off. Then only its leader answers.
func TestGetWithoutDirectGets(t *testing.T) {
	b := provisioned(t, 1)
	s, err := b.JetStream().Stream(testContext(t), StreamRejected)
	require.NoError(t, err)
	c := s.CachedInfo().Config
	c.AllowDirect = false
	_, err = b.JetStream().UpdateStream(testContext(t), c)
	require.NoError(t, err)
	seq := publish(t, b, "event.rejected.t", "why")
	r := NewLogReader(b.JetStream(), StreamRejected)
	m, err := r.Get(testContext(t), seq)
	require.NoError(t, err)
	require.Equal(t, "why", string(m.Data))
	for range 2 * severalOf {
		publish(t, b, "event.rejected.t", "why")
	}
	n := 0
	require.NoError(t, r.ScanSubjects(testContext(t), 1, []string{"event.rejected.t"}, func(Stored) error { n++; return nil }, nil))
	require.Equal(t, 1+2*severalOf, n)
	_, err = r.Get(testContext(t), seq+1+2*severalOf)
	require.ErrorIs(t, err, ErrGone)
	_, err = NewLogReader(b.JetStream(), "NONE").Get(testContext(t), 1)
	require.ErrorIs(t, err, jetstream.ErrStreamNotFound)
}
