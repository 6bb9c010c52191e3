package processor

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/rs/zerolog"

	"precis/internal/broker"
	"precis/internal/config"
	"precis/internal/fold"
	"precis/state"
	"precis/summarize/rules"
)

// Options of a processor.
type Options struct {
	Config *config.Config
	// CheckOnly refuses to make streams that are missing.
	CheckOnly bool
	// Version of the program, as config.applied states it.
	Version string
	Logger  zerolog.Logger
	// CloseTimeout bounds what the end waits for: a handler that is still running, and then the server that
	// has yet to confirm what was decided. Default 15s.
	CloseTimeout time.Duration
	// Now is the clock; nil is the system's.
	Now func() time.Time
	// FS is the store's file system; nil is the operating system's.
	FS state.FS
	// Fatal ends the process when the store can't go on (a full disk); nil panics.
	Fatal func(message string)
	// Broker is used instead of one made from Config, and is not closed.
	Broker *broker.Broker
	// Reload is told when the configuration is to be read again, with Load; nil never is.
	Reload <-chan os.Signal
	Load   func() (*config.Config, error)
	// Tend is how often the clock is asked what expired and who is idle. Default 100ms: where nothing is due, that is a
	// comparison for each partition.
	Tend time.Duration
	// SweepPause is the pause between two rounds of background work, in which a sweep looks at 64 summaries. Default
	// 10ms: a million in three minutes, at a tenth of a core.
	SweepPause time.Duration
	// BulkFrom is how many events behind the log a start must be to read them in bulk, and not one by one
	// through the router. Default 10,000.
	BulkFrom uint64
	// BulkBytes bounds what the batches of all partitions take of memory then, together. Where each event is another
	// thread's, a batch of one of 17 partitions is full with some 3,000. Default 128 MiB.
	BulkBytes int
	// KeepUp is how many records may be stored before partitions that have none of their own note it; a start after a
	// kill reads at most about so many. Default 10,000.
	KeepUp uint64
	// AdvanceEvery is how many events of other partitions may pass before a partition that has none notes it; a restart
	// reads at most about so many again. Default 10,000.
	AdvanceEvery uint64
	// Failpoint is called between the steps that a crash may fall between; an error is a crash there.
	// nil never fails.
	Failpoint func(point string, partition int) error
	// Reads stands between a fold and the log that it reads: a test's way to have a read fail. nil: nothing does.
	Reads func(fold.Log) fold.Log
}

// Failpoints, in the order in which a batch meets them.
const (
	FailApplied   = "applied"   // an event is in the open batch
	FailFlush     = "flush"     // the batch is full, and not committed
	FailSeen      = "seen"      // readers see it, and the disk may not have it
	FailCommitted = "committed" // durable, and nothing published
	FailCalling   = "calling"   // a call is noted, and its request has not left
	FailSending   = "sending"   // about to publish
	FailPublished = "published" // stored by the server, and the rows not deleted
	FailDelivered = "delivered" // the rows deleted in the open batch, and that not committed
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
		o.BulkBytes = 128 << 20
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
		o.Reads = func(log fold.Log) fold.Log { return log }
	}
	if o.Version == "" {
		o.Version = "dev"
	}
	return o
}

// StoreDir and BrokerDir are the two halves of a data directory: the store, and the embedded server's
// streams.
func StoreDir(data string) string  { return filepath.Join(data, "state") }
func BrokerDir(data string) string { return filepath.Join(data, "nats") }

func (o Options) brokerOptions() broker.Options {
	n := o.Config.NATS
	return broker.Options{
		URL: n.URL, Listen: n.Listen, Creds: n.Creds, User: n.User, Password: n.Password, Token: n.Token,
		Service:       broker.Login{Creds: n.Service.Creds, User: n.Service.User, Password: n.Service.Password, Token: n.Service.Token},
		ReplyPrefixes: n.InboxPrefixes,
		TLS:           broker.TLS{CA: n.TLS.CA, Cert: n.TLS.Cert, Key: n.TLS.Key},
		Sync:          n.Sync, StoreDir: BrokerDir(o.Config.DataDir), Logger: o.Logger,
	}
}

func (o Options) foldConfig() (*fold.Config, error) { return FoldConfig(o.Config, o.Version) }

// FoldConfig is the part of a configuration that the fold works under, as a program of some version does.
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
