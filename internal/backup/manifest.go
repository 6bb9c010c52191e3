package backup

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"precis/internal/broker"
)

// Format is the version of the manifest and of the segments.
const Format = 1

const manifestFile = "backup.json"

// streams in the order in which their ends are read, and in which they are restored: a restore that is interrupted has records
// without events, which a start refuses, and never events without their records, which would be decided again and paid for.
var streams = []string{broker.StreamSummaries, broker.StreamRejected, broker.StreamEvents}

// manifest lists what a backup has.
type manifest struct {
	Format   int                  `json:"format"`
	Segments map[string][]Segment `json:"segments"` // by stream, in order and without a gap between them
	Points   []Point              `json:"points"`   // in order; none while the first run is not complete
	Checksum string               `json:"checksum,omitzero"`
}

// Segment is a file with the messages of one stream from one sequence to another. A sequence without a message in it had none.
type Segment struct {
	From     uint64 `json:"from"`
	To       uint64 `json:"to"`
	Messages uint64 `json:"messages"`
	First    uint64 `json:"first"` // sequence of the first message; 0: no messages
	Last     uint64 `json:"last"`
	Mark     string `json:"mark"`     // broker.Mark of the last message, in hex
	Contents uint64 `json:"contents"` // bytes of the messages
	Bytes    int64  `json:"bytes"`    // of the file
	SHA256   string `json:"sha256"`   // of the file
}

// Point is a state of the three streams to which they can be restored.
type Point struct {
	At            time.Time `json:"at"`
	Program       string    `json:"program"`        // version of the program that made the backup
	StoreFormat   string    `json:"store_format"`   // that this program's processor has
	ConfigVersion int       `json:"config_version"` // the newest that this program writes
	Streams       []Cut     `json:"streams"`
}

// Cut is where a point ends in a stream, and the stream's configuration at that time.
type Cut struct {
	Stream  string         `json:"stream"`
	LastSeq uint64         `json:"last_seq"`
	Created time.Time      `json:"created"`
	Config  jsontext.Value `json:"config"`
}

// load reads a place's manifest; found is false if there is none.
func load(ctx context.Context, p Place) (m *manifest, found bool, err error) {
	data, err := read(ctx, p, manifestFile)
	if errors.Is(err, fs.ErrNotExist) {
		return &manifest{Format: Format, Segments: map[string][]Segment{}}, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("read manifest: %w", err)
	}
	var version struct {
		Format int `json:"format"`
	}
	if err := json.Unmarshal(data, &version); err != nil {
		return nil, false, fmt.Errorf("%w: %s: %w", ErrDamaged, manifestFile, err)
	}
	if version.Format != Format {
		return nil, false, fmt.Errorf("%w: %d, this program reads %d", ErrFormat, version.Format, Format)
	}
	m = &manifest{}
	if err := json.Unmarshal(data, m); err != nil {
		return nil, false, fmt.Errorf("%w: %s: %w", ErrDamaged, manifestFile, err)
	}
	given := m.Checksum
	if _, err := m.seal(); err != nil {
		return nil, false, err
	}
	if given != m.Checksum {
		return nil, false, fmt.Errorf("%w: %s does not have its checksum", ErrDamaged, manifestFile)
	}
	return m, true, m.connected()
}

// seal computes the checksum, over the RFC 8785 form without it, and returns the manifest's text.
func (m *manifest) seal() ([]byte, error) {
	m.Checksum = ""
	plain, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("write manifest: %w", err)
	}
	canonical := jsontext.Value(plain)
	if err := canonical.Canonicalize(); err != nil {
		return nil, fmt.Errorf("write manifest: %w", err)
	}
	sum := sha256.Sum256(canonical)
	m.Checksum = "sha256:" + hex.EncodeToString(sum[:])
	data, err := json.Marshal(m, jsontext.WithIndent("  "))
	if err != nil {
		return nil, fmt.Errorf("write manifest: %w", err)
	}
	return data, nil
}

// save replaces the manifest.
func (m *manifest) save(ctx context.Context, p Place) error {
	data, err := m.seal()
	if err != nil {
		return err
	}
	file, err := p.Create(manifestFile)
	if err == nil {
		if _, err = file.Write(append(data, '\n')); err == nil {
			err = p.Keep(ctx, manifestFile, file)
		}
		if err != nil {
			drop(file)
		}
	}
	if err != nil {
		return fmt.Errorf("write manifest: %w", err)
	}
	return nil
}

func read(ctx context.Context, p Place, name string) ([]byte, error) {
	file, err := p.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(file)
}

// connected verifies that the manifest is of the three streams alone, since files and streams are called by these names, that segments
// follow one another, and that every point ends with one.
func (m *manifest) connected() error {
	for name, segments := range m.Segments {
		if !slices.Contains(streams, name) {
			return fmt.Errorf("%w: %q is not a stream of precis", ErrDamaged, name)
		}
		for i, s := range segments {
			if s.To < s.From || i > 0 && s.From != segments[i-1].To+1 {
				return fmt.Errorf("%w: segments of %s do not follow one another at %d", ErrDamaged, name, s.From)
			}
		}
	}
	for _, p := range m.Points {
		if !slices.EqualFunc(p.Streams, streams, func(cut Cut, name string) bool { return cut.Stream == name }) {
			return fmt.Errorf("%w: the point of %s does not have %s", ErrDamaged, p.At.Format(pointTime), strings.Join(streams, ", "))
		}
		for _, cut := range p.Streams {
			if _, err := cut.config(Target{}); err != nil {
				return err
			}
			if _, ok := m.upTo(cut); !ok {
				return fmt.Errorf("%w: no segment of %s ends at %d", ErrDamaged, cut.Stream, cut.LastSeq)
			}
		}
	}
	return nil
}

// upTo returns a stream's segments up to a cut; ok is false where none ends there.
func (m *manifest) upTo(cut Cut) (_ []Segment, ok bool) {
	segments := m.Segments[cut.Stream]
	if cut.LastSeq == 0 {
		return nil, true
	}
	for i, s := range segments {
		if s.To == cut.LastSeq {
			return segments[:i+1], true
		}
	}
	return nil, false
}

// end is the last sequence of a stream that the segments cover.
func (m *manifest) end(stream string) uint64 {
	segments := m.Segments[stream]
	if len(segments) == 0 {
		return 0
	}
	return segments[len(segments)-1].To
}

// mark is the last message of a stream in the segments.
func (m *manifest) mark(stream string) (last broker.Mark, err error) {
	for _, s := range m.Segments[stream] {
		if s.Messages == 0 {
			continue
		}
		last.Seq = s.Last
		if n, err := hex.Decode(last.Digest[:], []byte(s.Mark)); err != nil || n != len(last.Digest) {
			return last, fmt.Errorf("%w: mark of message %d of %s", ErrDamaged, s.Last, stream)
		}
	}
	return last, nil
}
