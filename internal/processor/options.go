package processor

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/rs/zerolog"

	"precis/internal/broker"
	"precis/internal/config"
	"precis/internal/content"
	"precis/internal/datadir"
	"precis/internal/fold"
	"precis/internal/tracing"
	"precis/state"
	"precis/summarize/rules"
)

// Options configure a processor.
type Options struct {
	Config *config.Config
	// CheckOnly refuses to create missing streams.
	CheckOnly bool
	// Version is the program's version, as config.applied states it.
	Version string
	Logger  zerolog.Logger
	// Tracer makes spans of events, jobs and calls; nil: none.
	Tracer *tracing.Tracer
	// CloseTimeout bounds each wait at the end: for a handler that is still running, and then for the server to
	// confirm what was decided. Default 15s.
	CloseTimeout time.Duration
	// AckTimeout is how long a record waits for the server's answer before it is looked up. Default 10s.
	AckTimeout time.Duration
	// Lease is how long others of a cluster wait for this processor before they take its partitions. Default 1.2s.
	Lease time.Duration
	// Now is the clock; nil uses the system's.
	Now func() time.Time
	// FS is the store's file system; nil uses the operating system's.
	FS state.FS
	// Disk says how many bytes are free on the data directory's disk, and how many it has; ok is false where that is unknown. nil asks
	// the operating system.
	Disk func() (free, total int64, ok bool)
	// Fatal ends the process when the store can't continue (a full disk); nil panics.
	Fatal func(message string)
	// Broker is used instead of one made from Config, and is not closed.
	Broker *broker.Broker
	// Reload signals that the configuration is to be read again, with Load; nil never does.
	Reload <-chan os.Signal
	Load   func() (*config.Config, error)
	// Tend is the interval of the checks for expired summaries and idle threads. Default 100ms: if nothing is due, a
	// check is one comparison per partition.
	Tend time.Duration
	// SweepPause is the pause between two rounds of background work, in which a sweep checks 64 summaries. Default
	// 10ms: a million in three minutes, at a tenth of a core.
	SweepPause time.Duration
	// BulkFrom is how many events behind the log a start must be to read them in bulk, instead of one by one through
	// the router. Default 10,000.
	BulkFrom uint64
	// BulkBytes bounds the memory of the batches of all partitions together in a bulk. If each event is another
	// thread's, a batch of one of 17 partitions is full with some 3,000. Default 128 MiB, less 64 KiB per partition, about what a
	// partition itself holds: 64 MiB for 1,024 partitions.
	BulkBytes int
	// KeepUp is how many records may be stored before partitions without records of their own note it; a start after a
	// kill reads about that many at most. Default 10,000.
	KeepUp uint64
	// AdvanceEvery is how many events of other partitions may pass before a partition without events notes it; a
	// restart reads about that many again at most. Default 10,000.
	AdvanceEvery uint64
	// ParkSettles is how long an object stands before the rows of its thread leave the store. Default 5m, and more than
	// the embedded server's nats.sync.
	ParkSettles time.Duration
	// ParkConfirms is how long after the first one another read has to find that rows of a parked thread are lost. Default 30s.
	ParkConfirms time.Duration
	// Failpoint is called between the steps between which a crash may fall; an error acts as a crash there. nil never
	// fails.
	Failpoint func(point string, partition int) error
	// Reads wraps the log that a fold reads, so that a test can make a read fail; nil wraps nothing.
	Reads func(content.Log) content.Log
	// Objects wraps what the rows of parked threads are read from, so that a test can make it slow; nil wraps nothing.
	Objects func(state.Objects) state.Objects
}

// Failpoints, in the order in which a batch passes them.
const (
	FailClaimed   = "claimed"   // the server has stored a claim, and nothing else
	FailApplied   = "applied"   // an event is in the open batch
	FailFlush     = "flush"     // the batch is complete, and not committed
	FailSeen      = "seen"      // readers see it, and the disk may not have it
	FailCommitted = "committed" // durable, and nothing published
	FailCalling   = "calling"   // a call is noted, and its request is not sent
	FailSending   = "sending"   // about to publish
	FailPublished = "published" // stored by the server, and the rows are not deleted
	FailDelivered = "delivered" // the rows are deleted in the open batch, which is not committed
)

func (o Options) withDefaults() Options {
	if o.CloseTimeout == 0 {
		o.CloseTimeout = 15 * time.Second
	}
	if o.Tend == 0 {
		o.Tend = 100 * time.Millisecond
	}
	if o.SweepPause == 0 {
		o.SweepPause = 10 * time.Millisecond
	}
	if o.BulkFrom == 0 {
		o.BulkFrom = 10_000
	}
	if o.BulkBytes == 0 {
		o.BulkBytes = 128<<20 - o.Config.Partitions<<16
	}
	if o.ParkSettles == 0 {
		o.ParkSettles = settlesFor(o.Config.NATS)
	}
	if o.ParkConfirms == 0 {
		o.ParkConfirms = parkConfirms
	}
	if o.KeepUp == 0 {
		o.KeepUp = 10_000
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Failpoint == nil {
		o.Failpoint = func(string, int) error { return nil }
	}
	if o.Reads == nil {
		o.Reads = func(log content.Log) content.Log { return log }
	}
	if o.Objects == nil {
		o.Objects = func(from state.Objects) state.Objects { return from }
	}
	if o.Disk == nil {
		o.Disk = func() (free, total int64, ok bool) {
			if o.FS != nil {
				return 0, 0, false
			}
			return datadir.Space(o.Config.DataDir)
		}
	}
	if o.Version == "" {
		o.Version = "dev"
	}
	return o
}

// StoreDir and BrokerDir are the two parts of a data directory: the store, and the embedded server's streams.
func StoreDir(data string) string  { return filepath.Join(data, "state") }
func BrokerDir(data string) string { return filepath.Join(data, "nats") }

// leaderTimeout is how long a start waits for a cluster's servers to elect a leader, which takes them up to ten seconds, and longer on a busy
// machine.
const leaderTimeout = time.Minute

func (o Options) brokerOptions() broker.Options {
	n := o.Config.NATS
	return broker.Options{
		URL: n.URL, Listen: n.Listen, Creds: n.Creds, User: n.User, Password: n.Password, Token: n.Token,
		Service:       broker.Login{Creds: n.Service.Creds, User: n.Service.User, Password: n.Service.Password, Token: n.Service.Token},
		ReplyPrefixes: n.InboxPrefixes,
		TLS:           broker.TLS{CA: n.TLS.CA, Cert: n.TLS.Cert, Key: n.TLS.Key},
		Sync:          n.Sync, StoreDir: BrokerDir(o.Config.DataDir), Logger: o.Logger, LeaderTimeout: leaderTimeout,
	}
}

func (o Options) foldConfig() (*fold.Config, error) { return FoldConfig(o.Config, o.Version) }

// FoldConfig is the part of a configuration under which the fold works, as a program of the given version applies it.
func FoldConfig(c *config.Config, version string) (*fold.Config, error) {
	if c.Limits.PendingEditEvents < 0 {
		return nil, fmt.Errorf("limits.pending_edit_events is %d", c.Limits.PendingEditEvents)
	}
	table, err := c.Pricing.Table()
	if err != nil {
		return nil, err
	}
	prices, err := table.Record()
	if err != nil {
		return nil, err
	}
	next := &fold.Config{
		Policies: c.Policies, PriceTable: prices,
		Limits: fold.Limits{
			EventBytes:        c.Limits.EventBytes,
			PendingEditEvents: uint64(c.Limits.PendingEditEvents),
		},
		Providers:      foldProviders(c),
		ProgramVersion: version, RulesVersion: rules.Version,
	}
	if err := next.Fits(); err != nil {
		return nil, fmt.Errorf("%w: %w", config.ErrInvalid, err)
	}
	return next, nil
}

// keepPrivate removes other users' access to the data directory: it holds what agents said. If it can't change the
// directory (a mounted volume), it logs a warning.
func keepPrivate(dir string, log zerolog.Logger) error {
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("look at data directory: %w", err)
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		if err := os.Chmod(dir, mode&0o700); err != nil {
			log.Warn().Err(err).Str("data", dir).Stringer("mode", mode).Msg("other users may read the data directory")
		}
	}
	return nil
}
