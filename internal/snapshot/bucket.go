package snapshot

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"precis/internal/broker"
)

const (
	// chunkBytes is the size of a chunk, atOnce how many are published before their acks are awaited.
	chunkBytes, atOnce = 128 << 10, 8
	// maxAge is after how long an object of a partition that has no owner any more is gone.
	maxAge = 7 * 24 * time.Hour
)

// ErrTorn: an object is not what it is announced as.
var ErrTorn = errors.New("the snapshot is not whole")

// slots are the objects of a partition.
var slots = [2]string{"a", "b"}

// Bucket is the object store of a cluster.
type Bucket struct {
	name string
	pub  *broker.Publisher
	log  *broker.LogReader
}

// Info is what an object says of itself.
type Info struct {
	Partition  int
	Partitions int       // of the log, without the strays'
	Format     string    // of the rows
	Position   uint64    // in EVENTS
	First      uint64    // sequence of EVENTS at the time
	Config     string    // version of the configuration that the owner had in force
	Time       time.Time // when it was taken
	Bytes      uint64

	slot, digest string
}

// Name is the name of a cluster's object store.
func Name(cluster string) string { return "precis_" + cluster }

// Open opens the object store of a cluster, or makes it with so many replicas.
func Open(ctx context.Context, js jetstream.JetStream, pub *broker.Publisher, cluster string, replicas int) (*Bucket, error) {
	name := Name(cluster)
	_, err := js.ObjectStore(ctx, name)
	if errors.Is(err, jetstream.ErrBucketNotFound) || errors.Is(err, jetstream.ErrStreamNotFound) {
		_, err = js.CreateObjectStore(ctx, jetstream.ObjectStoreConfig{
			Bucket: name, Description: "snapshots of the partitions of a cluster of processors", TTL: maxAge, Replicas: max(replicas, 1),
		})
		if errors.Is(err, jetstream.ErrBucketExists) || errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // another member was faster
			err = nil
		}
	}
	if err != nil {
		return nil, fmt.Errorf("open object store %s: %w", name, err)
	}
	return &Bucket{name: name, pub: pub, log: broker.NewLogReader(js, "OBJ_"+name)}, nil
}

func object(partition int, slot string) string {
	return fmt.Sprintf("partition-%d-%s", partition, slot)
}

func (b *Bucket) metaSubject(object string) string {
	return "$O." + b.name + ".M." + base64.URLEncoding.EncodeToString([]byte(object))
}

func (b *Bucket) chunkSubject(object string) string { return "$O." + b.name + ".C." + object }

// List returns the objects of a partition, the furthest first.
func (b *Bucket) List(ctx context.Context, partition int) (list []Info, err error) {
	for _, slot := range slots {
		m, err := b.log.Last(ctx, b.metaSubject(object(partition, slot)))
		if errors.Is(err, broker.ErrGone) {
			continue
		}
		if err != nil {
			return nil, err
		}
		info, err := parse(m.Data)
		if err != nil {
			continue // another program's
		}
		info.slot = slot
		list = append(list, info)
	}
	slices.SortFunc(list, func(a, b Info) int { return cmp.Or(cmp.Compare(b.Position, a.Position), b.Time.Compare(a.Time)) })
	return list, nil
}

// Names in an object's metadata.
const (
	keyPartition  = "partition"
	keyPartitions = "partitions"
	keyFormat     = "format"
	keyPosition   = "position"
	keyFirst      = "events_first"
	keyConfig     = "config_version"
)

func parse(data []byte) (Info, error) {
	var o jetstream.ObjectInfo
	if err := json.Unmarshal(data, &o); err != nil {
		return Info{}, err
	}
	i := Info{Format: o.Metadata[keyFormat], Config: o.Metadata[keyConfig], Time: o.ModTime, Bytes: o.Size, digest: o.Digest}
	var errs [4]error
	i.Partition, errs[0] = strconv.Atoi(o.Metadata[keyPartition])
	i.Partitions, errs[1] = strconv.Atoi(o.Metadata[keyPartitions])
	i.Position, errs[2] = strconv.ParseUint(o.Metadata[keyPosition], 10, 64)
	i.First, errs[3] = strconv.ParseUint(o.Metadata[keyFirst], 10, 64)
	return i, errors.Join(errs[:]...)
}

// Put stores what r reads in the place of the partition's older object. pace is called with the bytes sent since its last call; its error ends the
// transfer.
func (b *Bucket) Put(ctx context.Context, i Info, r io.Reader, pace func(bytes int) error) (Info, error) {
	list, err := b.List(ctx, i.Partition)
	if err != nil {
		return i, fmt.Errorf("put snapshot: %w", err)
	}
	i.slot = slots[0]
	if len(list) > 0 && list[0].slot == i.slot {
		i.slot = slots[1]
	}
	name := object(i.Partition, i.slot)
	sum, chunks, first := sha256.New(), 0, true
	i.Bytes = 0
	for more := true; more; {
		var msgs []*nats.Msg
		sent := 0
		for more && len(msgs) < atOnce {
			chunk := make([]byte, chunkBytes)
			n, err := io.ReadFull(r, chunk)
			if more = err == nil; err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
				return i, fmt.Errorf("put snapshot: %w", err)
			}
			if n == 0 {
				break
			}
			m := &nats.Msg{Subject: b.chunkSubject(name), Data: chunk[:n], Header: nats.Header{}}
			if first {
				m.Header.Set(jetstream.MsgRollup, jetstream.MsgRollupSubject)
			}
			sum.Write(chunk[:n])
			msgs, first, sent, chunks = append(msgs, m), false, sent+n, chunks+1
		}
		if err := b.publish(ctx, msgs); err != nil {
			return i, err
		}
		i.Bytes += uint64(sent)
		if err := pace(sent); err != nil {
			return i, err
		}
	}
	i.digest = jetstream.GetObjectDigestValue(sum)
	return i, b.announce(ctx, i, name, chunks)
}

func (b *Bucket) announce(ctx context.Context, i Info, name string, chunks int) error {
	data, err := json.Marshal(jetstream.ObjectInfo{
		ObjectMeta: jetstream.ObjectMeta{
			Name: name, Opts: &jetstream.ObjectMetaOptions{ChunkSize: chunkBytes},
			Metadata: map[string]string{
				keyPartition: strconv.Itoa(i.Partition), keyPartitions: strconv.Itoa(i.Partitions), keyFormat: i.Format,
				keyPosition: strconv.FormatUint(i.Position, 10), keyFirst: strconv.FormatUint(i.First, 10), keyConfig: i.Config,
			},
		},
		Bucket: b.name, NUID: name, Size: i.Bytes, ModTime: i.Time, Chunks: uint32(chunks), Digest: i.digest,
	})
	if err != nil {
		return fmt.Errorf("put snapshot: %w", err)
	}
	m := &nats.Msg{Subject: b.metaSubject(name), Data: data, Header: nats.Header{}}
	m.Header.Set(jetstream.MsgRollup, jetstream.MsgRollupSubject)
	return b.publish(ctx, []*nats.Msg{m})
}

func (b *Bucket) publish(ctx context.Context, msgs []*nats.Msg) error {
	if len(msgs) == 0 {
		return nil
	}
	for _, ack := range b.pub.PublishBatch(ctx, msgs) {
		if ack.Err != nil {
			return fmt.Errorf("put snapshot: %w", ack.Err)
		}
	}
	return nil
}

// Get writes an object to w. It fails with ErrTorn if the object is not whole; w has received something by then.
func (b *Bucket) Get(ctx context.Context, i Info, w io.Writer) error {
	sum, size := sha256.New(), uint64(0)
	err := b.log.Scan(ctx, 1, []string{b.chunkSubject(object(i.Partition, i.slot))}, func(m broker.Stored) error {
		if size += uint64(len(m.Data)); size > i.Bytes {
			return ErrTorn
		}
		sum.Write(m.Data)
		_, err := io.Copy(w, bytes.NewReader(m.Data))
		return err
	}, nil)
	if err != nil {
		return fmt.Errorf("get snapshot: %w", err)
	}
	if size != i.Bytes || jetstream.GetObjectDigestValue(sum) != i.digest {
		return fmt.Errorf("get snapshot: %w", ErrTorn)
	}
	return nil
}
