package backup

import (
	"cmp"
	"context"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go/jetstream"

	"precis/events"
	"precis/internal/broker"
	"precis/state"
)

// Options of a run.
type Options struct {
	JetStream jetstream.JetStream
	Place     Place  // empty, or with a backup of the same streams
	Program   string // version of the program
	Now       func() time.Time
	Progress  func(copied, all uint64) // after each message of this run; may be nil
	// SegmentBytes is about how much of messages a segment has at most. An interrupted run has to copy the open one again. Default 256 MiB.
	SegmentBytes uint64
}

// Report says what a run has done.
type Report struct {
	Point
	Added   []Copied         `json:"added"`
	Missing []broker.Missing `json:"-"` // sequences that the streams do not return; backed up as gaps
}

// Copied is what a run has added of one stream.
type Copied struct {
	Stream   string `json:"stream"`
	Messages uint64 `json:"messages"`
	Bytes    int64  `json:"bytes"` // of its new files
	Total    uint64 `json:"total"` // messages in the backup now
}

// run is one run.
type run struct {
	Options
	*manifest
	report  Report
	copied  uint64
	toCopy  uint64
	segment *writer // the open one
}

// Run copies what the streams have got since the last run, or all. The streams may be written to meanwhile. What an interrupted run
// has copied is not copied again.
func Run(ctx context.Context, o Options) (*Report, error) {
	o.SegmentBytes = cmp.Or(o.SegmentBytes, segmentBytes)
	unlock, err := o.Place.Lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	m, found, err := load(ctx, o.Place)
	if err != nil {
		return nil, err
	}
	if !found {
		if err := onlyOurs(ctx, o.Place); err != nil {
			return nil, err
		}
		if err := m.save(ctx, o.Place); err != nil {
			return nil, err
		}
	}
	r := &run{Options: o, manifest: m}
	if err := r.sameLog(ctx); err != nil {
		return nil, err
	}
	if err := r.cut(ctx); err != nil {
		return nil, err
	}
	for _, cut := range r.report.Streams {
		if err := r.copy(ctx, cut); err != nil {
			return nil, err
		}
	}
	m.Points = append(m.Points, r.report.Point)
	if err := m.save(ctx, o.Place); err != nil {
		return nil, err
	}
	return &r.report, nil
}

// onlyOurs refuses a place with files that no run has left.
func onlyOurs(ctx context.Context, p Place) error {
	names, err := p.Names(ctx)
	if err == nil && len(names) > 0 {
		err = fmt.Errorf("%w: %s has other files, such as %s: give an empty place, or one with a backup", ErrNoBackup, p, names[0])
	}
	return err
}

// sameLog verifies that the streams go on from what the backup has.
func (r *run) sameLog(ctx context.Context) error {
	for _, name := range streams {
		mark, err := r.mark(name)
		if err != nil {
			return err
		}
		err = broker.NewLogReader(r.JetStream, name).Holds(ctx, mark, r.end(name))
		if errors.Is(err, broker.ErrStreamLost) {
			return fmt.Errorf("%w: %w: back up into another place", ErrOtherLog, err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// cut fixes where the point ends in each stream, in the order that makes them fit together.
func (r *run) cut(ctx context.Context) error {
	r.report.Point = Point{At: r.Now().UTC().Truncate(time.Millisecond), Program: r.Program, StoreFormat: state.Format(), ConfigVersion: events.ConfigVersion}
	for _, name := range streams {
		cut, err := r.cutOf(ctx, name)
		if err == nil && name == broker.StreamSummaries {
			cut.LastSeq, err = r.stepEnd(ctx, cut.LastSeq)
		}
		if err != nil {
			return err
		}
		if end := r.end(name); cut.LastSeq < end {
			return fmt.Errorf("%w: %s ends at %d, the backup at %d: back up into another place", ErrOtherLog, name, cut.LastSeq, end)
		}
		r.report.Streams = append(r.report.Streams, cut)
		r.toCopy += cut.LastSeq - min(r.end(name), cut.LastSeq)
	}
	return nil
}

func (r *run) cutOf(ctx context.Context, name string) (Cut, error) {
	s, err := r.JetStream.Stream(ctx, name)
	if err != nil {
		return Cut{}, fmt.Errorf("read state of stream %s: %w", name, err)
	}
	info := s.CachedInfo()
	if info.Cluster != nil && info.Cluster.Leader == "" {
		return Cut{}, fmt.Errorf("read state of stream %s: %w", name, broker.ErrNoLeader)
	}
	config, err := stdjson.Marshal(info.Config) // the server's form, in which a duration is a number
	if err != nil {
		return Cut{}, fmt.Errorf("read configuration of stream %s: %w", name, err)
	}
	return Cut{Stream: name, LastSeq: info.State.LastSeq, Created: info.Created, Config: config}, nil
}

// Waits for the end of a step that is being stored.
const (
	stepWait  = 20 * time.Millisecond
	stepTries = 100
)

// stepEnd is the last sequence of the step in SUMMARIES that a sequence belongs to. A step's records are stored together, and the
// server answers requests meanwhile. A step whose end does not come was cut off by a server that lost it, and
// stays what it is.
func (r *run) stepEnd(ctx context.Context, seq uint64) (uint64, error) {
	log := broker.NewLogReader(r.JetStream, broker.StreamSummaries)
	m, err := log.Get(ctx, seq)
	if errors.Is(err, broker.ErrGone) || seq == 0 {
		return seq, nil
	}
	if err != nil {
		return 0, err
	}
	end := seq + following(m)
	for range stepTries {
		last, err := log.LastSeq(ctx)
		if err != nil || last >= end {
			return end, err
		}
		select {
		case <-time.After(stepWait):
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
	return seq, nil
}

// following is how many records of its step follow a record.
func following(m broker.Stored) uint64 {
	var head events.Head
	size, err := strconv.Atoi(m.Header.Get(events.StepSize))
	if err != nil || json.Unmarshal(m.Data, &head) != nil {
		return 0 // a foreign message
	}
	return uint64(max(size-head.Step.Index, 0))
}

// errCut ends a scan at the cut.
var errCut = errors.New("cut reached")

// copy appends a stream's messages up to its cut.
func (r *run) copy(ctx context.Context, cut Cut) error {
	end := r.end(cut.Stream)
	copied := Copied{Stream: cut.Stream}
	before := len(r.Segments[cut.Stream])
	if cut.LastSeq > end {
		log := broker.NewLogReader(r.JetStream, cut.Stream).Watch(func(m broker.Missing) { r.missing(m, cut) })
		var err error
		if r.segment, err = create(r.Place, cut.Stream, end+1); err != nil {
			return err
		}
		defer func() { r.segment.drop() }() // nothing where it is finished
		err = log.Scan(ctx, end+1, nil, func(m broker.Stored) error { return r.take(ctx, m, cut) }, nil)
		if err != nil && !errors.Is(err, errCut) {
			return err
		}
		if err := r.close(ctx, cut.LastSeq); err != nil {
			return err
		}
	}
	for i, s := range r.Segments[cut.Stream] {
		copied.Total += s.Messages
		if i >= before {
			copied.Messages += s.Messages
			copied.Bytes += s.Bytes
		}
	}
	r.report.Added = append(r.report.Added, copied)
	return nil
}

// missing notes a gap in front of the cut.
func (r *run) missing(m broker.Missing, cut Cut) {
	if m.To = min(m.To, cut.LastSeq); m.From <= m.To {
		r.report.Missing = append(r.report.Missing, m)
	}
}

// take copies a message, and begins another segment where one is full.
func (r *run) take(ctx context.Context, m broker.Stored, cut Cut) error {
	if m.Seq > cut.LastSeq {
		return errCut
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if r.segment.Contents >= r.SegmentBytes {
		if err := r.close(ctx, m.Seq-1); err != nil {
			return err
		}
		var err error
		if r.segment, err = create(r.Place, cut.Stream, m.Seq); err != nil {
			return err
		}
	}
	if r.copied++; r.Progress != nil {
		r.Progress(min(r.copied, r.toCopy), r.toCopy)
	}
	return r.segment.add(m)
}

// close ends the open segment and notes it: from here on it is not copied again.
func (r *run) close(ctx context.Context, to uint64) error {
	done, err := r.segment.finish(ctx, to)
	if err != nil {
		return err
	}
	name := r.segment.stream
	r.Segments[name] = append(r.Segments[name], done)
	return r.save(ctx, r.Place)
}
