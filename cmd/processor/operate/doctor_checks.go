package operate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"precis/cmd/processor/console"
	"precis/cmd/processor/remote"
	"precis/events"
	"precis/internal/broker"
	"precis/internal/config"
	"precis/internal/datadir"
	"precis/internal/processor"
	"precis/summarize/rules"
)

// oldestServer is the first version of nats-server with atomic batches, by which the records of a step are stored together.
const oldestServer = "2.12"

// lowDisk is the share of a disk or store below which free space is worth a warning.
const lowDisk = 0.1

// examine runs the checks, each as far as those before it allow.
func (x *examination) examine(ctx context.Context) {
	cfg := x.settings()
	x.disk()
	x.readiness(ctx)
	s, err := x.flags.Connect(x.app)
	if err != nil {
		x.fail("connection", "start a processor or a server there, or name another with --nats", err)
		return
	}
	defer s.Close()
	if !x.server(s, cfg) || !x.streams(ctx, s, cfg) {
		return
	}
	x.store(ctx, s)
	reads := x.rights(ctx, s)
	if reads {
		x.versions(ctx, s, cfg)
	}
	switch {
	case x.flags.ReadOnly:
		x.skip("round trip", "--read-only")
	case !reads:
		x.skip("round trip", "this user may not read SUMMARIES")
	default:
		x.roundTrip(ctx, s)
	}
}

// settings loads the configuration as run would; nil where none is named or it is not valid.
func (x *examination) settings() *config.Config {
	if x.flags.Config == "" {
		x.skip("settings", "name the processor's configuration with --config")
		return nil
	}
	cfg, err := config.Load(config.Sources{File: x.flags.Config, Env: x.app.Env})
	if err != nil {
		x.fail("settings", "correct the configuration; docs/configuration.md has every key", &console.ExitError{Status: console.ExitUsage, Err: err})
		return nil
	}
	x.ok("settings", "%s, %s", x.flags.Config, console.Counted(len(cfg.Policies), "policy"))
	return cfg
}

func (x *examination) disk() {
	if x.flags.Data == "" {
		x.skip("disk", "name the data directory with --data")
		return
	}
	if _, err := os.Stat(x.flags.Data); err != nil {
		x.fail("disk", "name the directory that the processor runs with", console.Usage("--data: %w", err))
		return
	}
	free, total, ok := datadir.Space(x.flags.Data)
	switch {
	case !ok:
		x.skip("disk", "the free space is unknown on this system")
	case float64(free) < lowDisk*float64(total):
		x.warn("disk", "free space or set retention.events: on a full disk the server refuses what agents publish", "%s free of %s", megabytes(free), megabytes(total))
	default:
		x.ok("disk", "%s free of %s", megabytes(free), megabytes(total))
	}
}

func megabytes(n int64) string { return console.Grouped(n/1_000_000) + " MB" }

// readiness asks the probe of the processor.
func (x *examination) readiness(ctx context.Context) {
	if x.flags.HTTP == "" {
		x.skip("ready", "name the processor's HTTP address with --http")
		return
	}
	ctx, cancel := context.WithTimeout(ctx, x.flags.Timeout)
	defer cancel()
	address := x.flags.HTTP
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	const action = "check http.listen of the processor, and that it runs"
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(address, "/")+"/readyz", nil)
	if err != nil {
		x.fail("ready", action, console.Usage("--http: %w", err))
		return
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		x.fail("ready", action, console.Unreachable("%w", err))
		return
	}
	defer answer.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(answer.Body, 1<<12)) // what there is of it
	text := strings.TrimSpace(string(body))
	switch answer.StatusCode {
	case http.StatusOK:
		x.ok("ready", "%s", text)
	case http.StatusNotFound: // the API's address, or another server's
		x.fail("ready", "give the address of the probes: http.listen, 127.0.0.1:8080 by default, and not api.listen", console.Wrong("%s/readyz: %s", strings.TrimRight(address, "/"), answer.Status))
	default:
		x.fail("ready", "docs/operations.md#probes says what each answer means", console.Wrong("%s: %s", answer.Status, text))
	}
}

// server checks what the server says of itself. Without JetStream nothing else can be checked.
func (x *examination) server(s *remote.Server, cfg *config.Config) bool {
	version := s.Conn.ConnectedServerVersion()
	rtt, err := s.Conn.RTT()
	if err != nil {
		x.fail("connection", "check the network between here and the server", console.Unreachable("%s: %w", s.URL, err))
		return false
	}
	secured := ""
	if s.Conn.TLSRequired() {
		secured = ", TLS"
	}
	x.ok("connection", "%s, nats-server %s, %s there and back%s", s.URL, version, rtt.Round(10*time.Microsecond), secured)
	if older(version, oldestServer) {
		x.fail("server", "upgrade nats-server to "+oldestServer+" or later", console.Wrong("nats-server %s has no atomic batches", version))
		return false
	}
	limit := s.Conn.MaxPayload()
	const room = 1 << 20 // of headers, and of the envelope of a rejection
	if cfg != nil && int64(cfg.Limits.EventBytes)+room > limit {
		x.warn("server", "raise max_payload of the server, or lower limits.event_bytes", "max_payload is %s bytes, limits.event_bytes %s", console.Grouped(limit), console.Grouped(cfg.Limits.EventBytes))
		return true
	}
	x.ok("server", "max_payload %s bytes", console.Grouped(limit))
	return true
}

// older reports whether a version comes before another, by the numbers that both have.
func older(version, than string) bool {
	var a, b [2]int
	if n, _ := fmt.Sscanf(version, "%d.%d", &a[0], &a[1]); n < 2 {
		return false // a build of one's own
	}
	if n, _ := fmt.Sscanf(than, "%d.%d", &b[0], &b[1]); n < 2 {
		return false
	}
	return a[0] < b[0] || a[0] == b[0] && a[1] < b[1]
}

// streams compares the streams with the configuration; without one, it looks whether they exist.
func (x *examination) streams(ctx context.Context, s *remote.Server, cfg *config.Config) bool {
	ctx, cancel := context.WithTimeout(ctx, x.flags.Timeout)
	defer cancel()
	if cfg == nil {
		err := s.Refusable(ctx, s.HasStreams)
		if err != nil {
			x.fail("streams", "run a processor against this server, which makes them", remote.Explain("look for the streams", err))
			return false
		}
		x.ok("streams", "are there; --config also compares their settings")
		return true
	}
	var reports []broker.StreamReport
	err := s.Refusable(ctx, func(ctx context.Context) (err error) {
		reports, err = broker.CompareStreams(ctx, s.JS, broker.StreamSpec{
			Partitions: cfg.Partitions, MaxAge: cfg.Retention.Events, Replicas: cfg.NATS.Replicas,
		})
		return err
	})
	if errors.Is(err, nats.ErrPermissionViolation) {
		x.skip("streams", "this user may not read the settings of streams")
		return true
	}
	if err == nil {
		err = streamsVerdict(reports)
	}
	if err != nil {
		x.fail("streams", `"processor streams" with the processor's --config and --data, or its server's --nats, lists each difference, and --apply changes what can be changed`, err)
		return !strings.Contains(err.Error(), "stream missing") && reports != nil
	}
	x.ok("streams", "as configured: %s in EVENTS, %s in SUMMARIES, %s in REJECTED", console.Grouped(reports[0].Messages), console.Grouped(reports[1].Messages), console.Grouped(reports[2].Messages))
	return true
}

// store checks the room that the account has.
func (x *examination) store(ctx context.Context, s *remote.Server) {
	ctx, cancel := context.WithTimeout(ctx, x.flags.Timeout)
	defer cancel()
	var info *jetstream.AccountInfo
	err := s.Refusable(ctx, func(ctx context.Context) (err error) {
		info, err = s.JS.AccountInfo(ctx)
		return err
	})
	switch {
	case err != nil:
		x.skip("store", "this user may not ask how much the account stores")
	case info.Limits.MaxStore <= 0:
		x.ok("store", "%s, without a limit of the account", megabytes(int64(info.Store)))
	case float64(info.Store) > (1-lowDisk)*float64(info.Limits.MaxStore):
		x.warn("store", "raise the account's max_file, or set retention.events", "%s of %s", megabytes(int64(info.Store)), megabytes(info.Limits.MaxStore))
	default:
		x.ok("store", "%s of %s", megabytes(int64(info.Store)), megabytes(info.Limits.MaxStore))
	}
}

// rights tries to read each stream. An agent may read SUMMARIES alone, which is all that the round trip needs.
func (x *examination) rights(ctx context.Context, s *remote.Server) (reads bool) {
	var may, not []string
	for _, stream := range []string{broker.StreamEvents, broker.StreamSummaries, broker.StreamRejected} {
		err := x.reads(ctx, s, stream)
		switch {
		case err == nil:
			may = append(may, stream)
			reads = reads || stream == broker.StreamSummaries
		case errors.Is(err, nats.ErrPermissionViolation):
			not = append(not, stream)
		default:
			x.fail("rights", "", remote.Explain("read "+stream, err))
			return false
		}
	}
	text := "may read " + strings.Join(may, ", ")
	if len(may) == 0 {
		text = "may read no stream"
	}
	if len(not) > 0 {
		text += "; may not read " + strings.Join(not, ", ")
	}
	if !reads {
		x.warn("rights", "deploy/nats/README.md#permissions has the rights of each role", "%s", text)
		return false
	}
	x.ok("rights", "%s", text)
	return true
}

// reads opens a consumer and closes it.
func (x *examination) reads(ctx context.Context, s *remote.Server, stream string) error {
	ctx, cancel := context.WithTimeout(ctx, x.flags.Timeout)
	defer cancel()
	return s.Refusable(ctx, func(ctx context.Context) error {
		_, err := s.JS.OrderedConsumer(ctx, stream, jetstream.OrderedConsumerConfig{DeliverPolicy: jetstream.DeliverNewPolicy})
		return err
	})
}

// versions compares the processor that has a partition with this program and its configuration.
func (x *examination) versions(ctx context.Context, s *remote.Server, cfg *config.Config) {
	ctx, cancel := context.WithTimeout(ctx, x.flags.Timeout)
	defer cancel()
	claimed, err := lastClaim(ctx, s)
	if err != nil {
		x.fail("versions", "start a processor against these streams", console.Unreachable("no processor has claimed a partition: %w", err))
		return
	}
	running := fmt.Sprintf("the processor is %s, rules %s, by %s", claimed.ProgramVersion, claimed.RulesVersion, claimed.Owner)
	if claimed.ProgramVersion != console.Version() || claimed.RulesVersion != rules.Version {
		x.warn("versions", "use the program of the processor, or restart it with this one", "%s; this program is %s, rules %s", running, console.Version(), rules.Version)
	} else {
		x.ok("versions", "%s", running)
	}
	if cfg == nil {
		return
	}
	fc, err := processor.FoldConfig(cfg, claimed.ProgramVersion)
	if err != nil {
		x.fail("in force", "correct the configuration", err)
		return
	}
	fc.RulesVersion = claimed.RulesVersion
	mine, err := fc.Claim("")
	switch {
	case err != nil:
		x.fail("in force", "correct the configuration", err)
	case mine.Fingerprint != claimed.Fingerprint:
		x.warn("in force", "restart the processor, or send it SIGHUP, with this file", "the processor runs with another configuration than %s", x.flags.Config)
	default:
		x.ok("in force", "the processor runs with %s", x.flags.Config)
	}
}

// lastClaim is the newest partition.claimed of any partition.
func lastClaim(ctx context.Context, s *remote.Server) (claimed events.Claimed, err error) {
	err = s.Refusable(ctx, func(ctx context.Context) error {
		c, err := s.JS.OrderedConsumer(ctx, broker.StreamSummaries, jetstream.OrderedConsumerConfig{
			FilterSubjects: []string{string(events.PartitionClaimed) + ".*"}, DeliverPolicy: jetstream.DeliverLastPolicy,
		})
		if err != nil {
			return err
		}
		in, err := c.Messages() // its Next ends with ctx also where the server is gone, the consumer's own does not
		if err != nil {
			return err
		}
		defer in.Stop()
		msg, err := in.Next(jetstream.NextContext(ctx))
		if err != nil {
			return err
		}
		return json.Unmarshal(msg.Data(), &claimed)
	})
	return claimed, err
}
