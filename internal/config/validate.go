package config

import (
	"fmt"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"precis/internal/gateway"
	"precis/internal/loopback"
	"precis/internal/natsurl"
)

// MaxPartitions bounds partitions: each costs a consumer and an open batch, and a thread never changes its partition,
// so more partitions than a cluster has cores bring little.
const MaxPartitions = 1024

// minParking is the shortest accepted parking.after: a thread that is read every few minutes would come and go.
const minParking = time.Minute

// minRetention is the shortest accepted retention.events; anything shorter is taken for a wrong unit.
const minRetention = time.Minute

// judge collects the problems of a configuration.
type judge struct {
	cfg      *Config
	problems []Problem
}

func validate(cfg *Config) []Problem {
	j := &judge{cfg: cfg}
	j.nats()
	j.server()
	j.policies()
	j.providers()
	j.pricing()
	return j.problems
}

func (j *judge) wrong(key, format string, args ...any) {
	j.problems = append(j.problems, Problem{Key: key, Origin: j.cfg.Origins.Of(key), Message: fmt.Sprintf(format, args...)})
}

func (j *judge) within(key string, value, least, most int) {
	if value < least || value > most {
		j.wrong(key, "%d is out of range; allowed: %d to %d", value, least, most)
	}
}

func (j *judge) oneOf(key, value string, allowed ...string) {
	if !slices.Contains(allowed, value) {
		j.wrong(key, "%q is not known; allowed: %s", value, strings.Join(allowed, ", "))
	}
}

func (j *judge) nats() {
	n := j.cfg.NATS
	if server, wrong := natsurl.Wrong(n.URL); wrong && n.URL != "" {
		j.wrong("nats.url", "%q is not a server address; allowed: nats://host:port, tls://…, ws://…, wss://…, several separated by commas, or empty for the embedded server", natsurl.Redacted(server))
	}
	if n.URL == "" && !isAddress(n.Listen) {
		j.wrong("nats.listen", "%q is not a listen address; allowed: host:port, such as 127.0.0.1:4222", n.Listen)
	}
	if !isSync(n.Sync) {
		j.wrong("nats.sync", "%q is not known; allowed: always, or an interval such as 2m (a power failure loses what was acknowledged within it)", n.Sync)
	}
	if (n.TLS.Cert == "") != (n.TLS.Key == "") {
		j.wrong("nats.tls", "cert and key must be set together")
	}
	j.within("nats.replicas", n.Replicas, 0, 5)
	if n.Replicas > 1 && n.URL == "" {
		j.wrong("nats.replicas", "is only for external servers (nats.url); the embedded server is alone")
	}
	if n.PasswordEnv != "" && n.User == "" {
		j.wrong("nats.user", "is required with nats.password_env")
	}
	if n.Service.PasswordEnv != "" && n.Service.User == "" {
		j.wrong("nats.service.user", "is required with nats.service.password_env")
	}
	if n.Service != (Login{}) && n.URL == "" {
		j.wrong("nats.service", "is only for an external server (nats.url); the embedded server has its own service user")
	}
	j.inboxes()
	j.open()
}

// inboxes checks the reply prefixes: a prefix that an API listens on would give clients the service's rights.
func (j *judge) inboxes() {
	prefixes := j.cfg.NATS.InboxPrefixes
	if len(prefixes) == 0 {
		j.wrong("nats.inbox_prefixes", "is empty: no request could be answered; allowed: subject prefixes, such as _INBOX")
	}
	for _, prefix := range prefixes {
		for token := range strings.SplitSeq(prefix, ".") {
			if token == "" || strings.ContainsAny(token, "*> \t\r\n") || strings.HasPrefix(prefix, "$") {
				j.wrong("nats.inbox_prefixes", "%q is not an inbox prefix; allowed: tokens without wildcards, such as _INBOX or _INBOX.agents", prefix)
				break
			}
		}
	}
}

// open refuses non-local addresses without authentication.
func (j *judge) open() {
	n, h := j.cfg.NATS, j.cfg.HTTP
	credentials := n.PasswordEnv != "" || n.TokenEnv != ""
	if n.URL == "" && isAddress(n.Listen) && !loopback.Address(n.Listen) && !credentials && !n.Insecure {
		j.wrong("nats.listen", "%s is open to other machines, and the embedded server requires no credentials; "+
			"set nats.user and nats.password_env (or nats.token_env), listen on 127.0.0.1, or allow it with --insecure (nats.insecure)", n.Listen)
	}
	if isAddress(h.Listen) && !loopback.Address(h.Listen) && !h.Insecure {
		j.wrong("http.listen", "%s is open to other machines, and HTTP (probes, metrics) has no credentials; "+
			"listen on 127.0.0.1, or allow it with --insecure (http.insecure)", h.Listen)
	}
}

// api checks the HTTP API: without tokens, it is for this machine alone.
func (j *judge) api() {
	a := j.cfg.API
	if a.Listen != "" && !isAddress(a.Listen) {
		j.wrong("api.listen", "%q is not a listen address; allowed: host:port, such as 127.0.0.1:8088, or empty for none", a.Listen)
	}
	if isAddress(a.Listen) && !loopback.Address(a.Listen) && a.TokensFile == "" && !a.Insecure {
		j.wrong("api.listen", "%s is open to other machines, and without tokens everyone there could publish and read; "+
			"set api.tokens_file, listen on 127.0.0.1, or allow it with --insecure (api.insecure)", a.Listen)
	}
	if (a.TLS.Cert == "") != (a.TLS.Key == "") {
		j.wrong("api.tls", "cert and key must be set together")
	}
	j.within("api.body_bytes", a.BodyBytes, 1<<10, maxBodyBytes)
	j.within("api.requests_per_second", a.RequestsPerSecond, 0, 1<<20)
	j.within("api.streams", a.Streams, 1, 1<<16)
}

// gateway checks the gateway, which has no credentials of its own.
func (j *judge) gateway() {
	g := j.cfg.Gateway
	if g.Listen != "" && !isAddress(g.Listen) {
		j.wrong("gateway.listen", "%q is not a listen address; allowed: host:port, such as 127.0.0.1:8089, or empty for none", g.Listen)
	}
	if isAddress(g.Listen) && !loopback.Address(g.Listen) && !g.Insecure {
		j.wrong("gateway.listen", "%s is open to other machines, and the gateway has neither TLS nor credentials; "+
			"listen on 127.0.0.1, or allow it with --insecure (gateway.insecure)", g.Listen)
	}
	if !slices.Contains(gateway.Modes, g.Mode) {
		j.wrong("gateway.mode", "%q is not known; allowed: %s", g.Mode, strings.Join(gateway.Modes, ", "))
	}
	for key, set := range map[string]bool{"gateway.compactions": g.Compactions, "gateway.originals": g.Originals} {
		if set && g.Mode != gateway.ModeCompact {
			j.wrong(key, "needs gateway.mode: compact: mode %s changes nothing of what passes", g.Mode)
		}
	}
	for key, base := range map[string]string{"gateway.openai": g.OpenAI, "gateway.anthropic": g.Anthropic} {
		if _, err := gateway.Upstream(base); err != nil {
			j.wrong(key, "%s", err)
		}
	}
}

func (j *judge) server() {
	c := j.cfg
	if c.DataDir == "" {
		j.wrong("data_dir", "must not be empty")
	}
	if c.HTTP.Listen != "" && !isAddress(c.HTTP.Listen) {
		j.wrong("http.listen", "%q is not a listen address; allowed: host:port, such as 127.0.0.1:8080, or empty for none", c.HTTP.Listen)
	}
	j.api()
	j.gateway()
	j.cluster()
	j.parking()
	j.within("partitions", c.Partitions, 1, MaxPartitions)
	j.within("limits.event_bytes", c.Limits.EventBytes, 1, MaxEventBytes)
	j.within("limits.pending_edit_events", c.Limits.PendingEditEvents, 0, 1<<30)
	if r := c.Retention.Events; r != 0 && r < minRetention {
		j.wrong("retention.events", "%s is out of range; allowed: 0s (keep all), or %s and more", r, minRetention)
	}
}

func (j *judge) parking() {
	k := j.cfg.Parking
	if k.After != 0 && k.After < minParking {
		j.wrong("parking.after", "%s is out of range; allowed: 0s (never), or %s and more", k.After, minParking)
	}
	j.within("parking.per_second", k.PerSecond, 1, 10_000)
}

// clusterName is what may name a bucket of NATS.
var clusterName = regexp.MustCompile(`^[A-Za-z0-9_-]{0,64}$`)

func (j *judge) cluster() {
	c := j.cfg.Cluster
	if !clusterName.MatchString(c.Name) {
		j.wrong("cluster.name", "%q is not a name; allowed: up to 64 letters, digits, - and _, or empty for a processor alone", c.Name)
	}
	j.within("cluster.weight", c.Weight, 1, 1000)
	j.within("cluster.standbys", c.Standbys, 0, 16)
	if c.Snapshots < 0 {
		j.wrong("cluster.snapshots", "%s is out of range; allowed: 0s and more", c.Snapshots)
	}
}

func (j *judge) pricing() {
	if _, err := j.cfg.Pricing.Table(); err != nil {
		j.wrong("pricing.file", "%s", err)
	}
}

// maxBodyBytes is the largest api.body_bytes: four such bodies take all the memory that the API has for them.
const maxBodyBytes = 64 << 20

func isAddress(text string) bool {
	_, port, err := net.SplitHostPort(text)
	if err != nil {
		return false
	}
	_, err = strconv.ParseUint(port, 10, 16)
	return err == nil
}

func isSync(text string) bool {
	d, err := time.ParseDuration(text)
	return text == "always" || (err == nil && d > 0)
}
