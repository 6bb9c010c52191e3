package backup

import (
	"bytes"
	"context"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/klauspost/compress/s2"
	"github.com/nats-io/nats-server/v2/server/archive"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"precis/api"
	"precis/internal/broker"
)

// Backup is a place's backup, up to one of its points.
type Backup struct {
	Point
	place Place
	*manifest
}

// pointTime is how messages write a point, to its millisecond: rounded down, it would be a time before it.
const pointTime = "2006-01-02T15:04:05.000Z07:00"

// Open reads the manifest, and chooses the last point, or the last that was made at a time or before it; a zero time is the last.
func Open(ctx context.Context, place Place, at time.Time) (*Backup, error) {
	m, found, err := load(ctx, place)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, fmt.Errorf("%w in %s: there is no %s", ErrNoBackup, place, manifestFile)
	}
	if len(m.Points) == 0 {
		return nil, fmt.Errorf("%w in %s: its first run was interrupted; \"processor backup %s\" finishes it", ErrPartial, place, place)
	}
	b := &Backup{place: place, manifest: m}
	for _, p := range m.Points {
		if at.IsZero() || !p.At.After(at) {
			b.Point = p
		}
	}
	if b.At.IsZero() {
		return nil, fmt.Errorf("%w in %s of %s or before: the first is of %s", ErrNoBackup, place, at.Format(pointTime), m.Points[0].At.Format(pointTime))
	}
	return b, nil
}

// WithAllEvents moves the cut of EVENTS to that of the last point: what was decided behind the point is decided again. The
// streams fit together, since more events never miss a record's.
func (b *Backup) WithAllEvents() {
	last := b.Points[len(b.Points)-1]
	b.Streams = slices.Clone(b.Streams)
	for i, cut := range b.Streams {
		for _, later := range last.Streams {
			if cut.Stream == broker.StreamEvents && later.Stream == cut.Stream {
				b.Streams[i].LastSeq = later.LastSeq
			}
		}
	}
}

// Messages is the number of messages up to the point, of one stream or of all.
func (b *Backup) Messages(stream string) (n uint64) {
	for _, cut := range b.Streams {
		segments, _ := b.upTo(cut)
		for _, s := range segments {
			if stream == "" || stream == cut.Stream {
				n += s.Messages
			}
		}
	}
	return n
}

// Verify reads every file up to the point and holds it against its checksum. progress is called after each message.
func (b *Backup) Verify(ctx context.Context, progress func(done, all uint64)) error {
	done, all := uint64(0), b.Messages("")
	for _, cut := range b.Streams {
		segments, _ := b.upTo(cut)
		for _, s := range segments {
			err := s.each(ctx, b.place, cut.Stream, func(*archive.Header, io.Reader) error {
				done++
				progress(done, all)
				return ctx.Err()
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// Target is where streams are restored to.
type Target struct {
	JetStream jetstream.JetStream
	// Overwrite deletes streams of the same names that hold messages.
	Overwrite bool
	// Replicas of the restored streams; 0: as in the backup.
	Replicas int
	Progress func(done, all uint64) // after each message sent
}

// pingTimeout bounds the wait for a processor's answer. Where none is subscribed, the server says so at once.
const pingTimeout = 2 * time.Second

// Check verifies that the streams may be restored: that none holds messages, and that no processor serves them. It changes nothing.
func Check(ctx context.Context, t Target) error {
	reply, err := request(ctx, t.JetStream.Conn(), "$SRV.PING."+api.Name, nil, pingTimeout)
	if err == nil {
		var who struct {
			ID string `json:"id"`
		}
		_ = json.Unmarshal(reply, &who) // without an id, it is still a processor
		return fmt.Errorf("%w: a processor answers there: stop it first (its id as a service is %.40q)", ErrInUse, who.ID)
	}
	if !errors.Is(err, nats.ErrNoResponders) {
		return fmt.Errorf("look for a processor: %w", err)
	}
	for _, name := range streams {
		s, err := t.JetStream.Stream(ctx, name)
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			continue
		}
		if err != nil {
			return fmt.Errorf("read state of stream %s: %w", name, err)
		}
		info := s.CachedInfo()
		if info.State.LastSeq > 0 && !t.Overwrite {
			return fmt.Errorf("%w: %s holds %d messages, up to sequence %d", ErrNotEmpty, name, info.State.Msgs, info.State.LastSeq)
		}
	}
	return nil
}

// Restore makes the streams anew as they were at the point, and verifies them. Call Verify and Check first.
func (b *Backup) Restore(ctx context.Context, t Target) error {
	if err := t.empty(ctx); err != nil {
		return err
	}
	for _, name := range streams { // all are deleted before the first is made: no old stream stands beside a restored one
		if err := t.JetStream.DeleteStream(ctx, name); err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
			return fmt.Errorf("delete stream %s: %w", name, err)
		}
	}
	done := uint64(0)
	for _, cut := range b.Streams {
		if err := b.create(ctx, t, cut, &done); err != nil {
			return fmt.Errorf("restore stream %s: %w", cut.Stream, err)
		}
		if err := b.restored(ctx, t, cut); err != nil {
			return err
		}
	}
	return nil
}

// empty takes the subjects of all streams away, unless they may be overwritten: what would be published between a look and the deletion would be lost. It
// gives them back, and refuses, if one holds messages.
func (t Target) empty(ctx context.Context) error {
	if t.Overwrite {
		return nil
	}
	var closed []jetstream.StreamConfig
	for _, name := range streams {
		was, err := t.close(ctx, name)
		if was != nil {
			closed = append(closed, *was)
		}
		if err == nil {
			continue
		}
		for _, c := range closed {
			_, again := t.JetStream.UpdateStream(ctx, c)
			err = errors.Join(err, again)
		}
		return err
	}
	return nil
}

// close takes a stream's subjects away, and returns the configuration that it had; nil: it is as it was, or not there.
func (t Target) close(ctx context.Context, name string) (was *jetstream.StreamConfig, err error) {
	s, err := t.JetStream.Stream(ctx, name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read state of stream %s: %w", name, err)
	}
	config := s.CachedInfo().Config
	closed := config
	closed.Subjects, closed.SubjectTransform = []string{"restoring." + name}, nil
	if _, err := t.JetStream.UpdateStream(ctx, closed); err != nil {
		return nil, fmt.Errorf("take the subjects of stream %s away: %w", name, err)
	}
	info, err := s.Info(ctx)
	if err == nil && info.State.LastSeq > 0 {
		err = fmt.Errorf("%w: %s has got %d messages meanwhile", ErrNotEmpty, name, info.State.Msgs)
	}
	return &config, err
}

// exists reports that the server has a stream of the name, which the restore did not make.
func exists(err error) bool {
	var refused *jetstream.APIError
	return errors.As(err, &refused) && (refused.ErrorCode == restoreExists || refused.ErrorCode == jetstream.JSErrCodeStreamNameInUse)
}

// restoreExists is the server's error "stream name already in use, cannot restore".
const restoreExists jetstream.ErrorCode = 10130

// A server (2.15) that has just deleted an account's last stream removes the directory of its streams meanwhile, and fails to make one.
const (
	createTries = 5
	createWait  = 200 * time.Millisecond
)

// create makes one stream, again where the server fails to.
func (b *Backup) create(ctx context.Context, t Target, cut Cut, done *uint64) error {
	before := *done
	for try := 1; ; try++ {
		err := b.restore(ctx, t, cut, done)
		if exists(err) {
			return fmt.Errorf("%w: a processor has made the stream meanwhile: stop it, and restore again with --overwrite", ErrInUse)
		}
		var refused *jetstream.APIError
		if !errors.As(err, &refused) || refused.Code != 500 || try == createTries {
			return err
		}
		*done = before
		select {
		case <-time.After(createWait):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// config is a stream's configuration at the point, on a server that may have another number of members.
func (cut Cut) config(t Target) (c jetstream.StreamConfig, err error) {
	if err := stdjson.Unmarshal(cut.Config, &c); err != nil {
		return c, fmt.Errorf("%w: configuration of %s: %w", ErrDamaged, cut.Stream, err)
	}
	if c.Name != cut.Stream {
		return c, fmt.Errorf("%w: the configuration of %s is that of %q", ErrDamaged, cut.Stream, c.Name)
	}
	if t.Replicas > 0 {
		c.Replicas, c.Placement = t.Replicas, nil
	}
	return c, nil
}

// snapshotState is the server's state of a stream in a snapshot.
type snapshotState struct {
	Messages uint64 `json:"messages"`
	Bytes    uint64 `json:"bytes"`
	FirstSeq uint64 `json:"first_seq"`
	LastSeq  uint64 `json:"last_seq"`
}

// stored is about what the server adds to a message's subject, headers and body.
const stored = 38

// state is what a restored stream is to be.
func (b *Backup) state(cut Cut) (s snapshotState) {
	segments, _ := b.upTo(cut)
	s.LastSeq = cut.LastSeq
	for _, of := range segments {
		if s.FirstSeq == 0 {
			s.FirstSeq = of.First
		}
		s.Messages += of.Messages
		s.Bytes += of.Contents + stored*of.Messages
	}
	if s.FirstSeq == 0 && s.LastSeq > 0 {
		s.FirstSeq = s.LastSeq + 1 // everything was removed
	}
	return s
}

// restore sends one stream as a snapshot.
func (b *Backup) restore(ctx context.Context, t Target, cut Cut, done *uint64) (err error) {
	config, err := cut.config(t)
	if err != nil {
		return err
	}
	if cut.LastSeq == 0 { // the server would restore another first sequence than an unused stream has
		_, err := t.JetStream.CreateStream(ctx, config)
		return err
	}
	state := b.state(cut)
	to, err := begin(ctx, t.JetStream.Conn(), config, state)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil && !exists(err) { // the server keeps what it has of a stream
			_ = t.JetStream.DeleteStream(context.WithoutCancel(ctx), cut.Stream)
		}
	}()
	packed := s2.NewWriter(to, s2.WriterConcurrency(1))
	arc := archive.NewWriter(packed)
	about, err := json.Marshal(state)
	if err != nil {
		return err
	}
	if err := write(arc, &archive.Header{Name: "state.json", PayloadSize: int64(len(about)), Timestamp: time.Now().UnixNano()}, bytes.NewReader(about)); err != nil {
		return err
	}
	segments, _ := b.upTo(cut)
	all := b.Messages("")
	for _, s := range segments {
		err := s.each(ctx, b.place, cut.Stream, func(h *archive.Header, body io.Reader) error {
			*done++
			t.Progress(*done, all)
			return write(arc, h, body)
		})
		if err != nil {
			return err
		}
	}
	if err := arc.WriteHeader(&archive.Header{}); err != nil { // the end of a snapshot
		return err
	}
	if err := errors.Join(arc.Close(), packed.Close()); err != nil {
		return err
	}
	return to.end()
}

func write(arc *archive.Writer, h *archive.Header, body io.Reader) error {
	if err := arc.WriteHeader(h); err != nil {
		return err
	}
	_, err := io.CopyN(arc, body, h.HeaderSize+h.PayloadSize)
	return err
}

// restored compares a restored stream with the backup. Agents may publish to it already, and with a maximum age the server removes
// the first messages at once.
func (b *Backup) restored(ctx context.Context, t Target, cut Cut) error {
	log := broker.NewLogReader(t.JetStream, cut.Stream)
	got, err := log.State(ctx)
	if err != nil {
		return err
	}
	want := b.state(cut)
	more := got.Last - min(got.Last, want.LastSeq)
	if got.Last < want.LastSeq || got.MaxAge == 0 && (got.First != want.FirstSeq || got.Msgs != want.Messages+more) {
		return fmt.Errorf("%w: %s has %d messages from %d to %d, the backup %d from %d to %d", ErrRestored, cut.Stream,
			got.Msgs, got.First, got.Last, want.Messages, want.FirstSeq, want.LastSeq)
	}
	segments, _ := b.upTo(cut)
	upTo := manifest{Segments: map[string][]Segment{cut.Stream: segments}}
	mark, err := upTo.mark(cut.Stream)
	if err != nil {
		return err
	}
	if err := log.Holds(ctx, mark, cut.LastSeq); err != nil {
		return fmt.Errorf("%w: %w", ErrRestored, err)
	}
	return nil
}

// Limits of the transfer.
const (
	chunkBytes     = 512 << 10 // in one message, and at most half of what the server takes
	requestTimeout = 30 * time.Second
	endTimeout     = 5 * time.Minute // the server may have to move and to sync everything
)

// sink sends a snapshot to the server in chunks, each of which it confirms.
type sink struct {
	ctx   context.Context //nolint:containedctx // io.Writer has none
	nc    *nats.Conn
	to    string // the subject of the chunks
	chunk []byte
}

// begin asks the server to restore a stream.
func begin(ctx context.Context, nc *nats.Conn, config jetstream.StreamConfig, state snapshotState) (*sink, error) {
	body, err := stdjson.Marshal(map[string]any{"config": config, "state": state})
	if err != nil {
		return nil, err
	}
	reply, err := request(ctx, nc, jetstream.DefaultAPIPrefix+"STREAM.RESTORE."+config.Name, body, requestTimeout)
	if err != nil {
		return nil, err
	}
	var answer struct {
		DeliverSubject string `json:"deliver_subject"`
	}
	if err := json.Unmarshal(reply, &answer); err != nil || answer.DeliverSubject == "" {
		return nil, fmt.Errorf("the server's answer is not understood: %.200q", reply)
	}
	size := min(chunkBytes, int(nc.MaxPayload()/2))
	return &sink{ctx: ctx, nc: nc, to: answer.DeliverSubject, chunk: make([]byte, 0, size)}, nil
}

// Write implements io.Writer.
func (s *sink) Write(p []byte) (n int, err error) {
	for len(p) > 0 {
		room := min(cap(s.chunk)-len(s.chunk), len(p))
		s.chunk = append(s.chunk, p[:room]...)
		p, n = p[room:], n+room
		if len(s.chunk) == cap(s.chunk) {
			if err := s.flush(); err != nil {
				return n, err
			}
		}
	}
	return n, nil
}

func (s *sink) flush() error {
	if len(s.chunk) == 0 {
		return nil
	}
	_, err := request(s.ctx, s.nc, s.to, s.chunk, requestTimeout)
	s.chunk = s.chunk[:0]
	return err
}

// end sends the rest, and waits until the server has made the stream.
func (s *sink) end() error {
	if err := s.flush(); err != nil {
		return err
	}
	_, err := request(s.ctx, s.nc, s.to, nil, endTimeout)
	return err
}

// request sends a request of the JetStream API, and returns the answer unless it is an error.
func request(ctx context.Context, nc *nats.Conn, subject string, body []byte, wait time.Duration) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	reply, err := nc.RequestWithContext(ctx, subject, body)
	if err != nil {
		return nil, err
	}
	var answer struct {
		Error *jetstream.APIError `json:"error"`
	}
	if len(reply.Data) > 0 && json.Unmarshal(reply.Data, &answer) == nil && answer.Error != nil {
		return nil, answer.Error
	}
	return reply.Data, nil
}
