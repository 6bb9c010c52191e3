package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"precis/internal/datadir"
)

// Bucket is an object store of NATS: of another server than that of the streams, or it is lost with them. Its connection must
// not connect again, since the lock ends with it.
type Bucket struct {
	JetStream jetstream.JetStream
	Name      string
	Shown     string // the address as it may stand in a message
}

func (b *Bucket) String() string { return b.Shown }

// lockName is the consumer that is a run's lock: the server refuses a second one of the name, and deletes it some seconds
// after its subscription has ended, however that came about.
const (
	lockName = "backup"
	lockEnds = 5 * time.Second
)

// Lock implements Place.
func (b *Bucket) Lock(ctx context.Context) (unlock func(), err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("lock object store %s: %w", b, err)
		}
	}()
	if _, err := b.store(ctx); errors.Is(err, ErrNoBackup) {
		_, err = b.JetStream.CreateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: b.Name, Description: "backup of precis"})
		if err != nil && !errors.Is(err, jetstream.ErrBucketExists) {
			return nil, err
		}
	} else if err != nil {
		return nil, err
	}
	conn, stream := b.JetStream.Conn(), "OBJ_"+b.Name
	held, err := conn.SubscribeSync(conn.NewInbox())
	if err != nil {
		return nil, err
	}
	_, err = b.JetStream.CreatePushConsumer(ctx, stream, jetstream.ConsumerConfig{
		Name: lockName, Description: "a run of processor backup, " + nuid.Next(), DeliverSubject: held.Subject, DeliverPolicy: jetstream.DeliverNewPolicy,
		AckPolicy: jetstream.AckNonePolicy, FilterSubject: "$O." + b.Name + ".C." + lockName, InactiveThreshold: lockEnds, MemoryStorage: true,
	})
	if err != nil {
		_ = held.Unsubscribe()
		var refused *jetstream.APIError
		if errors.As(err, &refused) && (refused.ErrorCode == jetstream.JSErrCodeConsumerExists || refused.ErrorCode == jetstream.JSErrCodeConsumerNameExists) {
			return nil, fmt.Errorf("%w: another run writes there, or was killed less than %v ago", datadir.ErrInUse, lockEnds)
		}
		return nil, err
	}
	return func() {
		_ = held.Unsubscribe()
		_ = b.JetStream.DeleteConsumer(context.WithoutCancel(ctx), stream, lockName) // or the server does
	}, nil
}

// store is ErrNoBackup if there is none of the name.
func (b *Bucket) store(ctx context.Context) (jetstream.ObjectStore, error) {
	s, err := b.JetStream.ObjectStore(ctx, b.Name)
	if errors.Is(err, jetstream.ErrBucketNotFound) || errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil, fmt.Errorf("%w: the server has no object store %s", ErrNoBackup, b.Name)
	}
	return s, err
}

// Names implements Place.
func (b *Bucket) Names(ctx context.Context) (names []string, err error) {
	s, err := b.store(ctx)
	if err != nil {
		return nil, err
	}
	list, err := s.List(ctx)
	if errors.Is(err, jetstream.ErrNoObjectsFound) {
		return nil, nil
	}
	for _, o := range list {
		names = append(names, o.Name)
	}
	return names, err
}

// Open implements Place. The client verifies an object's digest at its end.
func (b *Bucket) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	s, err := b.store(ctx)
	if err != nil {
		return nil, err
	}
	o, err := s.Get(ctx, name)
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		return nil, fmt.Errorf("object %s: %w", name, fs.ErrNotExist)
	}
	return o, err
}

// Create implements Place: a temporary file of this machine.
func (b *Bucket) Create(name string) (*os.File, error) { return os.CreateTemp("", name+".*"+partial) }

// Keep implements Place. The server replaces an object when all of the new one is there. It is as durable as the server's disk (sync_interval).
func (b *Bucket) Keep(ctx context.Context, name string, file *os.File) error {
	defer drop(file)
	s, err := b.store(ctx)
	if err != nil {
		return err
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	_, err = s.Put(ctx, jetstream.ObjectMeta{Name: name}, file)
	return err
}
