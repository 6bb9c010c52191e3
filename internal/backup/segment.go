package backup

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	"github.com/klauspost/compress/s2"
	"github.com/nats-io/nats-server/v2/server/archive"
	"github.com/nats-io/nats.go"

	"precis/internal/broker"
)

const segmentBytes = 256 << 20

func segmentFile(stream string, from uint64) string { return fmt.Sprintf("%s-%020d.s2", stream, from) }

// writer writes one segment.
type writer struct {
	Segment
	stream string
	place  Place
	to     *bufio.Writer
	s2     *s2.Writer
	arc    *archive.Writer
	file   *os.File
}

// create begins the segment of a stream from a sequence on. It has its name when finish has returned.
func create(place Place, stream string, from uint64) (*writer, error) {
	file, err := place.Create(segmentFile(stream, from))
	if err != nil {
		return nil, fmt.Errorf("write segment: %w", err)
	}
	w := &writer{Segment: Segment{From: from}, stream: stream, place: place, file: file, to: bufio.NewWriterSize(file, 1<<20)}
	w.s2 = s2.NewWriter(w.to, s2.WriterConcurrency(1))
	w.arc = archive.NewWriter(w.s2)
	return w, nil
}

// add appends a message.
func (w *writer) add(m broker.Stored) error {
	header := headerBytes(m.Header)
	err := w.arc.WriteHeader(&archive.Header{
		Name: m.Subject, HeaderSize: int64(len(header)), PayloadSize: int64(len(m.Data)), Timestamp: m.Time.UnixNano(), Sequence: m.Seq,
	})
	for _, part := range [][]byte{header, m.Data} {
		if err == nil {
			_, err = w.arc.Write(part)
		}
	}
	if err != nil {
		return fmt.Errorf("write segment: %w", err)
	}
	if w.First == 0 {
		w.First = m.Seq
	}
	mark := broker.MarkOf(m)
	w.Last, w.Mark = m.Seq, hex.EncodeToString(mark.Digest[:])
	w.Messages++
	w.Contents += uint64(len(m.Subject) + len(header) + len(m.Data))
	return nil
}

// finish ends the segment at a sequence and makes it durable.
func (w *writer) finish(ctx context.Context, to uint64) (_ Segment, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("write segment: %w", err)
			w.drop()
		}
	}()
	w.To = to
	if err := errors.Join(w.arc.Close(), w.s2.Close(), w.to.Flush()); err != nil {
		return Segment{}, err
	}
	// Read what was written: the checksum is that of the file.
	if _, err := w.file.Seek(0, io.SeekStart); err != nil {
		return Segment{}, err
	}
	sum := sha256.New()
	if w.Bytes, err = io.Copy(sum, w.file); err != nil {
		return Segment{}, err
	}
	w.SHA256 = hex.EncodeToString(sum.Sum(nil))
	return w.Segment, w.place.Keep(ctx, segmentFile(w.stream, w.From), w.file)
}

// drop gives the segment up.
func (w *writer) drop() { drop(w.file) }

// each reads a segment, verifies it, and calls fn with each message. Nothing is proved before it returns nil.
func (s Segment) each(ctx context.Context, place Place, stream string, fn func(h *archive.Header, body io.Reader) error) error {
	name := segmentFile(stream, s.From)
	file, err := place.Open(ctx, name)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	defer file.Close()
	damaged := func(err error) error { return fmt.Errorf("%w: %s: %w", ErrDamaged, name, err) }
	sum := sha256.New()
	read := io.TeeReader(file, sum)
	unpacked := s2.NewReader(read)
	entries := archive.NewReader(unpacked)
	last, messages := s.From-1, uint64(0)
	for {
		h, err := entries.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return damaged(err)
		}
		if h.Sequence <= last || h.Sequence > s.To {
			return damaged(fmt.Errorf("message %d behind message %d", h.Sequence, last))
		}
		last = h.Sequence
		messages++
		if err := fn(h, entries); err != nil {
			return err
		}
	}
	if _, err := io.Copy(io.Discard, read); err != nil {
		return damaged(err)
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != s.SHA256 {
		return damaged(errors.New("its checksum is another one"))
	}
	if messages != s.Messages {
		return damaged(fmt.Errorf("%d messages, the manifest says %d", messages, s.Messages))
	}
	return nil
}

// headerBytes is a header block as it stands in a stream; nil without headers.
func headerBytes(h nats.Header) []byte {
	if len(h) == 0 {
		return nil
	}
	var b bytes.Buffer
	b.WriteString("NATS/1.0\r\n")
	for _, name := range slices.Sorted(maps.Keys(h)) {
		for _, value := range h[name] {
			b.WriteString(name + ": " + value + "\r\n")
		}
	}
	b.WriteString("\r\n")
	return b.Bytes()
}
