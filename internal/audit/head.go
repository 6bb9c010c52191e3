package audit

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"

	"precis/events"
	"precis/internal/broker"
	"precis/internal/recovery"
	"precis/state"
)

// ErrHead means that a file does not contain a head.
var ErrHead = errors.New("not a head")

// Head pins every chain of SUMMARIES up to a sequence. Kept where the log's owner cannot change it, it reveals a tail
// of SUMMARIES that was rewritten with new chains.
type Head struct {
	Stream        string    `json:"stream"`
	StreamCreated time.Time `json:"stream_created"`
	LastSeq       uint64    `json:"last_seq"` // of the stream; the head covers nothing after it
	Time          time.Time `json:"time"`     // when the head was read, by the reader's clock
	Chains        uint64    `json:"chains"`
	Records       uint64    `json:"records"` // in those chains; foreign messages do not count
	Digest        string    `json:"digest"`  // ChainsDigest of the ends of the chains
	Signer        string    `json:"signer,omitzero"`
	Signature     string    `json:"signature,omitzero"`

	signed []byte // the bytes that the signature of a parsed head covers
}

// HeadDifference is one property in which a log differs from a head.
type HeadDifference struct {
	What string `json:"what"` // the JSON member of the head
	Want string `json:"want"` // in the head
	Got  string `json:"got"`
}

// ChainsDigest is "sha256:" and the hex digest over one line per chain, "<token> <chain_seq> <chain>\n", sorted by
// token: the last token of the subject of the chain's records.
func ChainsDigest(ends map[string]state.Link) string {
	h := sha256.New()
	for _, token := range slices.Sorted(maps.Keys(ends)) {
		fmt.Fprintf(h, "%s %d %s\n", token, ends[token].ChainSeq, ends[token].Chain)
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// ReadHead reads SUMMARIES to its current end. It uses JetStream, Scratch, Now and Progress of the options. Memory
// grows with the number of chains, by some 200 bytes each.
func ReadHead(ctx context.Context, o Options) (*Head, error) {
	at, err := broker.StateOf(ctx, o.JetStream, broker.StreamSummaries)
	if err != nil {
		return nil, err
	}
	ends, records, err := readChains(ctx, o, at)
	if err != nil {
		return nil, err
	}
	return &Head{
		Stream: broker.StreamSummaries, StreamCreated: at.Created.UTC(), LastSeq: at.Last, Time: o.Now().UTC(),
		Chains: uint64(len(ends)), Records: records, Digest: ChainsDigest(ends),
	}, nil
}

// VerifyHead compares the log with a head, up to the head's last sequence. It returns nothing if the log matches the
// head. Options are as for ReadHead. The signature is not checked.
func VerifyHead(ctx context.Context, o Options, h *Head) (differ []HeadDifference, err error) {
	differs := func(what, want, got string) {
		if want != got {
			differ = append(differ, HeadDifference{what, want, got})
		}
	}
	differs("stream", h.Stream, broker.StreamSummaries)
	log, err := broker.StateOf(ctx, o.JetStream, broker.StreamSummaries)
	if err != nil {
		return nil, err
	}
	differs("stream_created", stamp(h.StreamCreated), stamp(log.Created))
	if log.Last < h.LastSeq {
		differs("last_seq", strconv.FormatUint(h.LastSeq, 10), fmt.Sprintf("the stream ends at %d", log.Last))
	}
	at, err := stateAt(ctx, o.JetStream, log, h.LastSeq)
	if err != nil {
		return nil, err
	}
	ends, records, err := readChains(ctx, o, at)
	if err != nil {
		return nil, err
	}
	differs("chains", strconv.FormatUint(h.Chains, 10), strconv.Itoa(len(ends)))
	differs("records", strconv.FormatUint(h.Records, 10), strconv.FormatUint(records, 10))
	differs("digest", h.Digest, ChainsDigest(ends))
	return differ, nil
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// ParseHead reads a head from JSON. It fails with ErrHead.
func ParseHead(data []byte) (*Head, error) {
	h := &Head{}
	if err := json.Unmarshal(data, h); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrHead, err)
	}
	if h.Stream == "" || h.StreamCreated.IsZero() || !strings.HasPrefix(h.Digest, "sha256:") {
		return nil, fmt.Errorf("%w: it needs stream, stream_created, last_seq, chains, records and digest", ErrHead)
	}
	members := map[string]jsontext.Value{}
	if err := json.Unmarshal(data, &members); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrHead, err)
	}
	delete(members, "signature")
	var err error
	if h.signed, err = canonical(members); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrHead, err)
	}
	return h, nil
}

// Sign adds the public key of an nkey seed (or of a credentials file) and the signature over the RFC 8785 form of the
// head without the signature.
func (h *Head) Sign(seed []byte) error {
	pair, err := nkeys.ParseDecoratedNKey(seed)
	if err != nil {
		return fmt.Errorf("read nkey seed: %w", err)
	}
	defer pair.Wipe()
	if h.Signer, err = pair.PublicKey(); err != nil {
		return fmt.Errorf("sign head: %w", err)
	}
	h.Signature = ""
	if h.signed, err = canonical(h); err != nil {
		return fmt.Errorf("sign head: %w", err)
	}
	sig, err := pair.Sign(h.signed)
	if err != nil {
		return fmt.Errorf("sign head: %w", err)
	}
	h.Signature = base64.StdEncoding.EncodeToString(sig)
	return nil
}

// CheckSignature returns what is wrong with the signature of a parsed head: nothing for an unsigned head, unless a
// signer is required.
func (h *Head) CheckSignature(signer string) []HeadDifference {
	if signer != "" && h.Signer != signer {
		got := h.Signer
		if got == "" {
			got = "unsigned"
		}
		return []HeadDifference{{"signer", signer, got}}
	}
	if h.Signer == "" && h.Signature == "" {
		return nil
	}
	key, err := nkeys.FromPublicKey(h.Signer)
	if err != nil {
		return []HeadDifference{{"signer", "a public nkey", strconv.Quote(h.Signer)}}
	}
	sig, err := base64.StdEncoding.DecodeString(h.Signature)
	if err == nil {
		err = key.Verify(h.signed, sig)
	}
	if err != nil {
		return []HeadDifference{{"signature", "a signature of this head by " + h.Signer, err.Error()}}
	}
	return nil
}

func canonical(v any) (jsontext.Value, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	c := jsontext.Value(data)
	return c, c.Canonicalize()
}

// readChains returns the end of every chain in SUMMARIES, by token, as a recovery from an empty store finds them, and
// the number of records in the chains.
func readChains(ctx context.Context, o Options, at broker.StreamState) (ends map[string]state.Link, records uint64, err error) {
	o.Store = nil
	r, err := newRun(ctx, o)
	if err != nil {
		return nil, 0, err
	}
	r.tail.Unfinished = true // the head may be in the middle of an acceptance
	ends = map[string]state.Link{}
	r.tail.Record = func(m broker.Stored, e recovery.Entry, _ state.Link) {
		_, token, _ := events.ParseSubject(m.Subject)
		ends[token] = state.Link{ChainSeq: e.ChainSeq, Chain: e.Chain}
		records++
	}
	err = r.tail.Read(ctx, logUpTo{broker.NewLogReader(o.JetStream, broker.StreamSummaries), at, o.Progress}, nil)
	for _, part := range r.parts {
		err = errors.Join(err, part.Close())
	}
	return ends, records, err
}

// logUpTo is SUMMARIES as of the sequence state.Last.
type logUpTo struct {
	*broker.LogReader
	state    broker.StreamState
	progress func(seq, last uint64) // may be nil
}

// State implements recovery.Log.
func (l logUpTo) State(context.Context) (broker.StreamState, error) { return l.state, nil }

// Next implements recovery.Log.
func (l logUpTo) Next(ctx context.Context, filter string, from uint64) (broker.Stored, error) {
	m, err := l.LogReader.Next(ctx, filter, from)
	if err == nil && m.Seq > l.state.Last {
		return broker.Stored{}, broker.ErrGone
	}
	return m, err
}

// Scan implements recovery.Log.
func (l logUpTo) Scan(ctx context.Context, from uint64, filters []string, each func(broker.Stored) error, progress func(seq, last uint64)) error {
	err := l.LogReader.Scan(ctx, from, filters, func(m broker.Stored) error {
		if m.Seq > l.state.Last {
			return errEnough
		}
		return each(m)
	}, func(seq, last uint64) {
		progress(seq, last)
		if l.progress != nil {
			l.progress(seq, last)
		}
	})
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// stateAt is the state that SUMMARIES had when last was its last sequence, apart from what was deleted since. Gaps
// after that sequence must not change which records continue their chains before it.
func stateAt(ctx context.Context, js jetstream.JetStream, log broker.StreamState, last uint64) (broker.StreamState, error) {
	if last >= log.Last {
		return log, nil
	}
	gone := uint64(0)
	if log.Holes() > 0 {
		s, err := js.Stream(ctx, broker.StreamSummaries)
		if err != nil {
			return log, fmt.Errorf("look at stream %s: %w", broker.StreamSummaries, err)
		}
		info, err := s.Info(ctx, jetstream.WithDeletedDetails(true))
		if err != nil {
			return log, fmt.Errorf("look at stream %s: %w", broker.StreamSummaries, err)
		}
		for _, seq := range info.State.Deleted {
			if seq <= last {
				gone++
			}
		}
	}
	log.Last, log.Msgs = last, 0
	if log.First <= last {
		log.Msgs = last - log.First + 1 - gone
	}
	return log, nil
}
