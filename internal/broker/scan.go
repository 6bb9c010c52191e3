package broker

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"
)

const (
	scanWindow        = 4096    // messages requested ahead
	scanBytes         = 4 << 20 // and bytes
	scanRetryWait     = 50 * time.Millisecond
	scanRetryMaxWait  = 2 * time.Second
	scanRetryAttempts = 10
	// scanLagAttempts is how many consecutive consumers may rest for two heartbeats before the end without a delivery.
	scanLagAttempts = 6
	// maxSubjects is how many subjects ScanSubjects reads one by one, scanSubjectsAtOnce of them at once.
	maxSubjects, scanSubjectsAtOnce = 256, 8
	// severalOf is the number of messages from which a subject is read by requests for several.
	severalOf, severalAtOnce = 4, 256
	// maxKnown, with maxKnownBytes, is up to how many messages ScanKnown reads one by one: of more, most blocks hold some.
	maxKnown, maxKnownBytes = 256, 16 << 20
)

// Scan calls fn for every message from sequence from (0 and 1: the first) on, in
// order, up to the last one that the stream holds when Scan is called. filters
// are stored subjects; none: all. An error of fn ends the scan and is returned. progress, if not nil, is
// called periodically and at the end, with the sequence reached and the last one.
func (r *LogReader) Scan(ctx context.Context, from uint64, filters []string, fn func(Stored) error, progress func(seq, last uint64)) error {
	state, err := StateOf(ctx, r.js, r.stream)
	if err != nil {
		return err
	}
	if progress == nil {
		progress = func(uint64, uint64) {}
	}
	from = max(from, 1)
	if r.stream == StreamEvents {
		from = max(from, state.First) // messages dropped by retention at the start are not a gap
	}
	s := scan{
		end: ending{log: r, filters: filters, at: state}, last: state.Last, fn: fn, progress: progress,
		pull: newPuller(r.js, pullerConfig{
			stream: r.stream, filters: filters, after: from - 1,
			window: scanWindow, bytes: scanBytes,
		}),
	}
	defer s.pull.drop()
	if len(filters) == 0 {
		s.whole = unbroken{stream: r.stream, next: from, tell: r.missing}
	}
	if err := s.run(ctx); err != nil {
		return fmt.Errorf("scan stream %s: %w", r.stream, err)
	}
	if len(filters) == 0 {
		s.whole.upTo(state.Last)
	} else if err := r.searchMissing(ctx, from, s.pending > 0 || state.Holes() > 0); err != nil {
		return err
	}
	progress(state.Last, state.Last)
	return nil
}

// searchMissing reads the whole stream if a filtered scan may have missed messages: only an unfiltered read
// distinguishes a missing sequence from one that does not match.
func (r *LogReader) searchMissing(ctx context.Context, from uint64, suspected bool) error {
	if r.missing == nil || !suspected {
		return nil
	}
	return r.Scan(ctx, from, nil, func(Stored) error { return nil }, nil)
}

// scan is one run of Scan.
type scan struct {
	pull     *puller
	end      ending
	last     uint64
	fn       func(Stored) error
	progress func(seq, last uint64)
	count    int
	pending  uint64   // the server's count of messages after the last one
	lagging  int      // consumers dropped since the last message
	whole    unbroken // for a scan without filters
}

func (s *scan) run(ctx context.Context) error {
	if s.pull.last >= s.last {
		return nil
	}
	done, err := s.open(ctx)
	for !done && err == nil {
		done, err = s.next(ctx)
	}
	return err
}

// next handles the next thing that the server sends.
func (s *scan) next(ctx context.Context) (done bool, err error) {
	m, err := s.pull.receive(ctx, nil)
	if errors.Is(err, errSilent) {
		return s.open(ctx)
	}
	if err != nil {
		return false, err
	}
	a, ok, broken := s.pull.accept(m)
	if ok {
		if done, err = s.take(m, a); done || err != nil {
			return done, err
		}
	}
	switch {
	case broken != nil:
		return s.open(ctx)
	case s.pull.resting:
		return s.heartbeat(ctx)
	case ok && a.pending == 0:
		return s.rest(ctx)
	}
	return false, nil
}

// rest handles a replica with nothing more to deliver. That is the end if the
// leader confirms it; else the scan waits for the leader's messages or the next heartbeat.
func (s *scan) rest(ctx context.Context) (done bool, err error) {
	if s.end.owed > 0 {
		return false, nil
	}
	err = s.end.confirm(ctx, s.pull.last)
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, ErrStreamLost):
		return false, err
	default:
		return false, ctx.Err() // retry a leader that does not answer
	}
}

// heartbeat handles pullHeartbeat without a delivery. If the replica has not
// delivered since the last heartbeat what the leader holds, the consumer is
// recreated and may be placed on another replica.
func (s *scan) heartbeat(ctx context.Context) (done bool, err error) {
	if !s.end.overdue(s.pull.last) {
		s.end.owed = 0
		return s.rest(ctx)
	}
	if s.lagging++; s.lagging == scanLagAttempts {
		return false, fmt.Errorf("%w: it holds sequence %d, nothing was delivered behind %d", errLags, s.end.owed, s.pull.last)
	}
	return s.open(ctx)
}

// take passes one message on, and reports whether it reached the end.
func (s *scan) take(m *nats.Msg, a ackReply) (done bool, err error) {
	if a.streamSeq > s.last {
		return true, nil
	}
	s.whole.saw(a.streamSeq)
	s.pending, s.lagging = a.pending, 0
	if err := s.fn(received(m, a)); err != nil {
		return true, err
	}
	if s.count++; s.count%8192 == 0 {
		s.progress(a.streamSeq, s.last)
	}
	return a.streamSeq == s.last, nil
}

// open (re)creates the consumer, with retries. done: nothing is left.
func (s *scan) open(ctx context.Context) (done bool, err error) {
	s.end.owed = 0
	wait := scanRetryWait
	for attempt := 1; ; attempt++ {
		err := s.tryOpen(ctx)
		if err == nil && s.pull.pending == 0 {
			return s.rest(ctx)
		}
		if err == nil || attempt == scanRetryAttempts || errors.Is(err, jetstream.ErrStreamNotFound) || errors.Is(err, ErrStreamLost) {
			return false, err
		}
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-time.After(wait):
		}
		wait = min(2*wait, scanRetryMaxWait)
	}
}

func (s *scan) tryOpen(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	return s.pull.open(ctx)
}

// ScanSubjects is Scan for filters that match few subjects, a thread's say: it reads subject by subject and merges them by sequence, so that it
// costs what it reads. For a consumer with a wildcard or several filters the server (2.15) looks at every message behind the last one that
// matches, if most of them have subjects of their own: 30 ms of a stream with a million threads.
func (r *LogReader) ScanSubjects(ctx context.Context, from uint64, filters []string, fn func(Stored) error, progress func(seq, last uint64)) error {
	return r.ScanKnown(ctx, from, filters, nil, fn, progress)
}

// ScanKnown is ScanSubjects for a caller that knows where messages stand: a subject of which these are as many as the leader counts
// is read there, one message after the other, and only the blocks that hold them. To find a subject's next message the server (2.15) reads every block in
// between and lists its subjects: seconds, for the first look at a thread among ten million messages.
func (r *LogReader) ScanKnown(ctx context.Context, from uint64, filters []string, known []uint64, fn func(Stored) error, progress func(seq, last uint64)) error {
	if len(filters) == 0 {
		return r.Scan(ctx, from, filters, fn, progress)
	}
	state, list, err := r.subjects(ctx, filters)
	if err != nil {
		return err
	}
	if len(list) > maxSubjects {
		return r.Scan(ctx, from, filters, fn, progress)
	}
	for _, s := range list {
		s.next, s.last, s.counted = max(from, 1), state.Last, from <= state.First
	}
	if err := r.known(ctx, list, known); err != nil {
		return err
	}
	var group errgroup.Group
	group.SetLimit(scanSubjectsAtOnce)
	for _, s := range list {
		if len(s.read) == 0 {
			group.Go(func() error { return s.fill(ctx) })
		}
	}
	err = group.Wait()
	for err == nil {
		first := (*subject)(nil)
		for _, s := range list {
			if len(s.read) > 0 && (first == nil || s.read[0].Seq < first.read[0].Seq) {
				first = s
			}
		}
		if first == nil {
			break
		}
		m := first.read[0]
		first.read = first.read[1:]
		if err = fn(m); err == nil && len(first.read) == 0 {
			err = first.fill(ctx)
		}
	}
	if err != nil {
		return fmt.Errorf("scan stream %s: %w", r.stream, err)
	}
	short := slices.ContainsFunc(list, func(s *subject) bool { return s.short })
	if err := r.searchMissing(ctx, from, short || state.Holes() > 0); err != nil {
		return err
	}
	if progress != nil {
		progress(state.Last, state.Last)
	}
	return nil
}

// known reads messages at known sequences: those of subjects that have no others.
func (r *LogReader) known(ctx context.Context, list []*subject, seqs []uint64) error {
	if len(seqs) == 0 || len(seqs) > maxKnown {
		return nil
	}
	seqs = slices.Compact(slices.Sorted(slices.Values(seqs))) // one that stands twice would count for another
	var bytes atomic.Int64
	read := make([]Stored, len(seqs))
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(scanSubjectsAtOnce)
	for i, seq := range seqs {
		group.Go(func() (err error) {
			if read[i], err = r.Get(within, seq); err == nil && bytes.Add(int64(len(read[i].Data))) > maxKnownBytes {
				err = errTooMuch
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return ctx.Err() // a message is gone, or the server does not answer: the scan by subject finds out which, and retries
	}
	of := map[string][]Stored{}
	for _, m := range read {
		of[m.Subject] = append(of[m.Subject], m)
	}
	for _, s := range list {
		if uint64(len(of[s.name])) != s.left {
			continue
		}
		for _, m := range of[s.name] {
			if m.Seq >= s.next && m.Seq <= s.last {
				s.read = append(s.read, m)
			}
		}
		s.left = 0
	}
	return nil
}

// errTooMuch: the messages are larger than may be held.
var errTooMuch = errors.New("too much to hold")

// subject is one subject of a ScanSubjects.
type subject struct {
	log  *LogReader
	name string
	left uint64   // messages that the leader counted and that are not read; some may lie before next, or behind last
	next uint64   // the sequence from which the rest is read
	last uint64   // the end
	read []Stored // and not handed out
	// counted: none of left lies before next at the beginning. short: then the leader holds fewer than it counted. It can't read one, or
	// one was deleted meanwhile.
	counted, short bool
}

// subjects are those that match filters, at least one, and the stream's state before them.
func (r *LogReader) subjects(ctx context.Context, filters []string) (state StreamState, list []*subject, err error) {
	state, counts, err := r.counts(ctx, filters)
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		list = append(list, &subject{log: r, name: name, left: counts[name]})
	}
	return state, list, err
}

// Counts asks the leader which subjects match filters, and how many messages each has.
func (r *LogReader) Counts(ctx context.Context, filters []string) (map[string]uint64, error) {
	_, counts, err := r.counts(ctx, filters)
	return counts, err
}

func (r *LogReader) counts(ctx context.Context, filters []string) (state StreamState, counts map[string]uint64, err error) {
	counts = map[string]uint64{}
	for i, filter := range filters {
		for got, more := 0, true; more; {
			info, err := r.info(ctx, filter, got)
			if err != nil {
				return state, nil, fmt.Errorf("read subjects of stream %s: %w", r.stream, err)
			}
			if i == 0 && got == 0 {
				state = info.state()
			}
			maps.Copy(counts, info.State.Subjects)
			got += len(info.State.Subjects)
			more = len(info.State.Subjects) > 0 && got < info.Total
		}
	}
	return state, counts, nil
}

// infoReply is the answer to a request for a stream's state with the subjects of a filter, in pages of 100,000.
type infoReply struct {
	Created time.Time `json:"created"`
	Config  struct {
		MaxAge   int64 `json:"max_age"` // nanoseconds
		Replicas int   `json:"num_replicas"`
	} `json:"config"`
	State struct {
		Msgs     uint64            `json:"messages"`
		First    uint64            `json:"first_seq"`
		Last     uint64            `json:"last_seq"`
		LastTime time.Time         `json:"last_ts"`
		Subjects map[string]uint64 `json:"subjects"`
	} `json:"state"`
	Cluster *struct {
		Leader string `json:"leader"`
	} `json:"cluster"`
	Total int                 `json:"total"` // subjects of all pages
	Error *jetstream.APIError `json:"error"`
}

func (i *infoReply) state() StreamState {
	return StreamState{
		First: i.State.First, Last: i.State.Last, Msgs: i.State.Msgs, Created: i.Created, LastTime: i.State.LastTime,
		MaxAge: time.Duration(i.Config.MaxAge), Replicas: i.Config.Replicas,
	}
}

// info asks once, where a jetstream.Stream would have to be looked up first.
func (r *LogReader) info(ctx context.Context, filter string, offset int) (*infoReply, error) {
	reply, err := r.request(ctx, r.js.Conn(), "STREAM.INFO."+r.stream, fmt.Appendf(nil, `{"subjects_filter":%q,"offset":%d}`, filter, offset))
	if err != nil {
		return nil, err
	}
	info := &infoReply{}
	if err := json.Unmarshal(reply.Data, info); err != nil {
		return nil, err
	}
	switch {
	case info.Error != nil && info.Error.ErrorCode == jetstream.JSErrCodeStreamNotFound:
		return nil, jetstream.ErrStreamNotFound
	case info.Error != nil:
		return nil, info.Error
	case info.Cluster != nil && info.Cluster.Leader == "":
		return nil, ErrNoLeader
	}
	return info, nil
}

// fill reads what comes next, with retries; at the subject's end there is nothing.
func (s *subject) fill(ctx context.Context) error {
	s.read = nil
	wait := scanRetryWait
	for attempt := 1; s.left > 0 && len(s.read) == 0; attempt++ {
		err := s.ask(ctx)
		if err == nil {
			continue
		}
		if attempt >= scanRetryAttempts || errors.Is(err, jetstream.ErrStreamNotFound) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
		}
		wait = min(2*wait, scanRetryMaxWait)
	}
	return nil
}

// ask reads once. A replica that lags returns less than there is, or nothing: then the leader is asked.
func (s *subject) ask(ctx context.Context) error {
	if s.left >= severalOf {
		err := s.log.several(ctx, s.next, int(min(s.left, severalAtOnce)), s.name, s.take)
		if errors.Is(err, nats.ErrNoResponders) { // allow_direct is off
			err = nil
		}
		if err != nil || len(s.read) > 0 || s.left == 0 {
			return err
		}
	}
	m, err := s.log.Next(ctx, s.name, s.next)
	if errors.Is(err, ErrGone) {
		s.left, s.short = 0, s.counted
		return nil
	}
	if err == nil {
		s.take(m)
	}
	return err
}

func (s *subject) take(m Stored) {
	if m.Seq > s.last {
		s.left = 0
		return
	}
	if s.left > 0 && m.Seq >= s.next {
		s.read, s.next, s.left = append(s.read, m), m.Seq+1, s.left-1
	}
}
