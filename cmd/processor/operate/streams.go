package operate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"precis/cmd/processor/console"
	"precis/cmd/processor/remote"
	"precis/internal/broker"
	"precis/internal/config"
	"precis/internal/datadir"
	"precis/internal/processor"
)

// Streams shows the streams, or brings them in line with the configuration.
type Streams struct {
	configFlags
	Apply bool `help:"Create missing streams and change the settings that can be changed. A shorter retention deletes events at once."`
	JSON  bool `name:"json" help:"Print JSON."`
}

// Help shows the command used.
func (Streams) Help() string {
	return `Shows each stream and each setting that differs from the configuration; of a NATS cluster also which server leads the stream, which follow, and how far behind they are. The processor never changes an existing stream when it starts. If the embedded server is not running, the command opens its directory itself. Where neither a server nor a directory is named and there is no ./data, it asks 127.0.0.1:4222, as other commands do.

The exit status is 1 if a stream is missing, differs, has no leader, or has a replica on a server that is offline.

Examples:

    processor streams --config precis.yaml
    processor streams --config precis.yaml --apply
    processor streams --nats nats://nats.internal:4222 --user operator
    PRECIS_NATS_REPLICAS=3 processor streams --config precis.yaml --apply`
}

// Run compares, and applies where that is asked for.
func (c *Streams) Run(ctx context.Context, a *console.App) (err error) {
	cfg, err := c.load(a)
	if err != nil {
		return err
	}
	b, err := c.open(ctx, a, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close(context.WithoutCancel(ctx))) }()
	work := broker.CompareStreams
	if c.Apply {
		work = broker.ApplyStreams
	}
	reports, err := work(ctx, b.JetStream(), broker.StreamSpec{
		Partitions: cfg.Partitions, MaxAge: cfg.Retention.Events, Replicas: cfg.NATS.Replicas,
	})
	if err != nil {
		return remote.Explain("read the streams", err)
	}
	if c.JSON {
		a.JSON(reports)
	} else {
		a.Printf("%s", streamsTable(reports))
	}
	return streamsVerdict(reports)
}

// open reaches the server that the configuration names: another one, the one inside a processor that runs, or the
// directory of one that does not.
func (c *Streams) open(ctx context.Context, a *console.App, cfg *config.Config) (*broker.Broker, error) {
	login := broker.Options{
		URL: cfg.NATS.URL, Creds: cfg.NATS.Creds, User: cfg.NATS.User, Password: cfg.NATS.Password, Token: cfg.NATS.Token,
		TLS:    broker.TLS{CA: cfg.NATS.TLS.CA, Cert: cfg.NATS.TLS.Cert, Key: cfg.NATS.TLS.Key},
		Logger: zerolog.New(a.Stderr).Level(zerolog.ErrorLevel),
	}
	if login.URL != "" {
		return broker.Open(ctx, login)
	}
	dir := processor.BrokerDir(cfg.DataDir)
	if _, err := os.Stat(dir); err != nil {
		return askListening(ctx, cfg, login)
	}
	b, err := broker.Open(ctx, broker.Options{StoreDir: dir, Sync: cfg.NATS.Sync, Logger: login.Logger})
	if !errors.Is(err, datadir.ErrInUse) {
		return b, err
	}
	login.URL = "nats://" + cfg.NATS.Listen
	return broker.Open(ctx, login)
}

// askListening reaches the server that other commands ask, where there is no directory and none was named.
func askListening(ctx context.Context, cfg *config.Config, login broker.Options) (*broker.Broker, error) {
	where := cfg.DataDir
	if where == config.Default().DataDir && cfg.NATS.Listen != "" {
		login.URL = "nats://" + cfg.NATS.Listen
		b, err := broker.Open(ctx, login)
		if err == nil || !errors.Is(err, nats.ErrNoServers) {
			return b, err
		}
		where += ", and no server at " + login.URL
	}
	return nil, console.Unreachable("no streams in %s: name the directory of the processor with --data, beside its --config, or its server with --nats; \"processor run\" makes streams", where)
}

func streamsTable(reports []broker.StreamReport) *console.Table {
	out := &console.Table{}
	for _, r := range reports {
		if !r.Exists {
			out.Add(r.Name, "missing; --apply makes it")
			continue
		}
		out.Add(r.Name, fmt.Sprintf("%s, %s bytes, sequences %d to %d, %s, made %s", console.Counted(r.Messages, "message"),
			console.Grouped(r.Bytes), r.FirstSeq, r.LastSeq, console.Counted(r.Replicas, "replica"), console.Time(r.Created)))
		if placement := placed(r); placement != "" {
			out.Add("", placement)
		}
		for _, d := range r.Differences {
			out.Add("", differenceLine(d))
		}
		if len(r.Differences) == 0 {
			out.Add("", "as configured")
		}
	}
	return out
}

// placed says where a stream of a cluster is; empty outside a cluster.
func placed(r broker.StreamReport) string {
	if r.Leaderless {
		return "no server leads it: it takes no messages"
	}
	if r.Leader == "" {
		return ""
	}
	text := "on " + r.Leader + " (leader)"
	for _, f := range r.Followers {
		text += ", " + f.Server
		switch {
		case f.Offline:
			text += " (offline)"
		case f.Lag > 0:
			text += fmt.Sprintf(" (%s behind)", console.Counted(f.Lag, "operation"))
		case !f.Current:
			text += " (not current)"
		}
	}
	return text
}

func differenceLine(d broker.StreamDifference) string {
	text := fmt.Sprintf("%s is %s; configured: %s", d.Setting, console.Printable(d.Value), d.Want)
	if !d.Applies {
		text = fmt.Sprintf("%s is %s: %s", d.Setting, console.Printable(d.Value), d.Want)
	}
	if d.Loses {
		text += " (events could be lost; the processor does not start)"
	}
	if d.Applies {
		text += " (--apply changes it)"
	}
	return text
}

// streamsVerdict is an error while anything is missing, differs or has failed.
func streamsVerdict(reports []broker.StreamReport) error {
	missing, differing, leaderless, offline := 0, 0, 0, 0
	for _, r := range reports {
		if !r.Exists {
			missing++
		}
		differing += len(r.Differences)
		if r.Leaderless {
			leaderless++
		}
		if slices.ContainsFunc(r.Followers, func(f broker.StreamFollower) bool { return f.Offline }) {
			offline++
		}
	}
	if missing+differing > 0 {
		return console.Wrong("%s missing, %s from the configuration", console.Counted(missing, "stream"), differ(differing))
	}
	if leaderless+offline > 0 {
		return console.Wrong("%s without a leader, %s with a replica that is offline", console.Counted(leaderless, "stream"), console.Grouped(offline))
	}
	return nil
}

func differ(n int) string {
	if n == 1 {
		return "1 setting differs"
	}
	return console.Grouped(n) + " settings differ"
}
