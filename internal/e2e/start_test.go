package e2e_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Statuses, by the contract's words.
const (
	statusDone        = 0
	statusWrong       = 1
	statusUsage       = 2
	statusUnreachable = 3
)

// refused starts the program, which must not start.
func refused(t testing.TB, env []string, args ...string) outcome {
	t.Helper()
	base := []string{"run", "--data", filepath.Join(t.TempDir(), "data"), "--http", "127.0.0.1:0", "--api", "", "--log-format", "json"}
	if !strings.Contains(strings.Join(args, " "), "--nats") {
		base = append(base, "--nats-listen", "127.0.0.1:0")
	}
	o := do(t, env, "", append(base, args...)...)
	if strings.Contains(o.stderr, `"running"`) {
		t.Errorf("it started:\n%s", o.stderr)
	}
	return o
}

func TestRefusedWhereSomebodyElseIs(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	address := taken.Addr().String()
	refused(t, nil, "--http", address).wants(t, statusUnreachable, address, "--http")
	refused(t, nil, "--nats-listen", address).wants(t, statusUnreachable, address, "--nats-listen")

	d := launch(t, t.TempDir())
	refused(t, nil, "--data", d.dir).wants(t, statusUnreachable, d.dir, strconv.Itoa(d.cmd.Process.Pid))
	refused(t, nil, "--data", d.dir, "--nats", d.url).wants(t, statusUnreachable, d.dir, strconv.Itoa(d.cmd.Process.Pid))
	do(t, nil, "", "check", "--data", d.dir).wants(t, statusUnreachable, d.dir, strconv.Itoa(d.cmd.Process.Pid))
	if status := d.kill(syscall.SIGTERM); status != statusDone {
		t.Errorf("told to stop, it ended with %d:\n%s", status, d.stderr)
	}
}

func TestRefusedDirectories(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	refused(t, nil, "--data", file).wants(t, statusUnreachable, file)
	refused(t, nil, "--data", filepath.Join(file, "below")).wants(t, statusUnreachable, file)
	refused(t, nil, "--data", "/proc/precis").wants(t, statusUnreachable, "/proc/precis")
	do(t, nil, "", "check", "--data", filepath.Join(t.TempDir(), "none")).wants(t, statusUsage, "none", "directory")
}

func TestRefusedConfigurations(t *testing.T) {
	for _, c := range []struct {
		yaml  string
		env   []string
		words []string
	}{
		{"polcies: []", nil, []string{"polcies"}},
		{"nats: {uri: x}", nil, []string{"nats.uri"}},
		{"policies:\n  - name: a\n    tool_output: {over_char: 5}\n", nil, []string{"over_char"}},
		{"partitions: 0", nil, []string{"partitions"}},
		{"partitions: many", nil, []string{"partitions"}},
		{"limits: {event_bytes: 999999999}", nil, []string{"limits.event_bytes"}},
		{"limits: {event_bytes: -1}", nil, []string{"limits.event_bytes"}},
		{"nats: {sync: sometimes}", nil, []string{"nats.sync"}},
		{"retention: {events: 5}", nil, []string{"retention.events"}},
		{"policies: []", nil, []string{"policies"}},
		{"policies: [{name: a}, {name: a}]", nil, []string{"policies", "a"}},
		{"policies: [{name: a, mode: magic}]", nil, []string{"mode", "magic"}},
		{"policies: [{name: a, match: {agent_id: '[x'}}]", nil, []string{"agent_id"}},
		{"policies: [{name: a, tokenizer: guess}]", nil, []string{"tokenizer"}},
		{"policies: [{name: a, mode: llm}]", nil, []string{"api_key_env", "ANTHROPIC_API_KEY"}},
		{"policies: [{name: a, mode: llm, provider: main}]", nil, []string{"api_key_env", "OPENAI_API_KEY"}},
		{"", []string{"PRECIS_PARTITIONS=x"}, []string{"PRECIS_PARTITIONS"}},
		{"", []string{"PRECIS_NO_SUCH_KEY=x"}, []string{"PRECIS_NO_SUCH_KEY"}},
		{"a: [", nil, []string{"precis.yaml"}},
	} {
		t.Run(c.yaml+strings.Join(c.env, " "), func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "precis.yaml")
			if err := os.WriteFile(file, []byte(c.yaml), 0o600); err != nil {
				t.Fatal(err)
			}
			refused(t, c.env, "--config", file).wants(t, statusUsage, c.words...)
			do(t, c.env, "", "config", "--config", file).wants(t, statusUsage, c.words...)
		})
	}
	refused(t, nil, "--config", "/no/such/file.yaml").wants(t, statusUsage, "/no/such/file.yaml")
	refused(t, nil, "--no-such-flag").wants(t, statusUsage, "--no-such-flag")
	do(t, nil, "", "no-such-command").wants(t, statusUsage, "no-such-command")
}

func TestRefusedServers(t *testing.T) {
	nobody := "nats://" + freeAddress(t)
	refused(t, nil, "--nats", nobody).wants(t, statusUnreachable, nobody)
	do(t, nil, "", "thread", "t", "--nats", nobody).wants(t, statusUnreachable, nobody)

	guarded := startServer(t, func(o *server.Options) { o.Username, o.Password = "u", "secret" }, nats.UserInfo("u", "secret"))
	refused(t, nil, "--nats", guarded.url).wants(t, statusUnreachable, guarded.url)
	wrong := filepath.Join(t.TempDir(), "precis.yaml")
	if err := os.WriteFile(wrong, []byte("nats: {user: u, password_env: WORD}"), 0o600); err != nil {
		t.Fatal(err)
	}
	o := refused(t, []string{"WORD=not-the-word"}, "--nats", guarded.url, "--config", wrong)
	o.wants(t, statusUnreachable, guarded.url)
	if strings.Contains(o.stderr, "not-the-word") {
		t.Errorf("it tells the password:\n%s", o.stderr)
	}

	without := startServer(t, func(o *server.Options) { o.JetStream = false })
	refused(t, nil, "--nats", without.url).wants(t, statusUnreachable, "JetStream")

	bare := startServer(t, nil)
	refused(t, nil, "--nats", bare.url, "--no-provision").wants(t, statusUnreachable, "EVENTS")
	if _, err := bare.js.Stream(within(t), "EVENTS"); err == nil {
		t.Error("--no-provision made a stream")
	}
}

// sound is the EVENTS stream as the contract has it.
func sound() jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: "EVENTS", Subjects: []string{"thread.message.*", "tool.result.*", "message.edited.*"},
		SubjectTransform: &jetstream.SubjectTransformConfig{Source: "*.*.*", Destination: "{{partition(16,3)}}.{{wildcard(1)}}.{{wildcard(2)}}.{{wildcard(3)}}"},
		Duplicates:       100 * time.Millisecond, Storage: jetstream.FileStorage,
	}
}

func TestRefusedStreams(t *testing.T) {
	s := startServer(t, nil)
	for setting, change := range map[string]func(*jetstream.StreamConfig){
		"max_msgs":             func(c *jetstream.StreamConfig) { c.MaxMsgs = 1000 },
		"max_bytes":            func(c *jetstream.StreamConfig) { c.MaxBytes = 1 << 20 },
		"max_msgs_per_subject": func(c *jetstream.StreamConfig) { c.MaxMsgsPerSubject = 1 },
		"max_msg_size":         func(c *jetstream.StreamConfig) { c.MaxMsgSize = 100 },
		"max_age":              func(c *jetstream.StreamConfig) { c.MaxAge = time.Hour },
		"retention":            func(c *jetstream.StreamConfig) { c.Retention = jetstream.WorkQueuePolicy },
		"storage":              func(c *jetstream.StreamConfig) { c.Storage = jetstream.MemoryStorage },
		"duplicate_window":     func(c *jetstream.StreamConfig) { c.Duplicates = time.Minute },
		"subjects":             func(c *jetstream.StreamConfig) { c.Subjects = c.Subjects[:2] },
		"allow_rollup":         func(c *jetstream.StreamConfig) { c.AllowRollup = true },
		"allow_msg_ttl":        func(c *jetstream.StreamConfig) { c.AllowMsgTTL = true },
		"no_ack":               func(c *jetstream.StreamConfig) { c.NoAck = true },
		"subject_transform":    func(c *jetstream.StreamConfig) { c.SubjectTransform = nil },
		"partitions": func(c *jetstream.StreamConfig) {
			c.SubjectTransform.Destination = strings.Replace(c.SubjectTransform.Destination, "16", "8", 1)
		},
	} {
		t.Run(setting, func(t *testing.T) {
			cfg := sound()
			change(&cfg)
			if _, err := s.js.CreateStream(within(t), cfg); err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := s.js.DeleteStream(within(t), "EVENTS"); err != nil {
					t.Error(err)
				}
			}()
			refused(t, nil, "--nats", s.url).wants(t, statusUnreachable, "EVENTS", setting)
			if _, err := s.js.Stream(within(t), "SUMMARIES"); err == nil {
				t.Error("a refused start has made a stream")
			}
		})
	}
	for _, name := range []string{"SUMMARIES", "REJECTED"} {
		t.Run(name, func(t *testing.T) {
			subjects := map[string][]string{
				"REJECTED":  {"event.rejected.*"},
				"SUMMARIES": {"summary.started.*", "summary.created.*", "summary.invalidated.*", "summary.failed.*", "usage.recorded.*", "config.applied.*", "partition.claimed.*"},
			}
			if _, err := s.js.CreateStream(within(t), jetstream.StreamConfig{Name: name, Subjects: subjects[name], MaxMsgs: 10}); err != nil {
				t.Fatal(err)
			}
			refused(t, nil, "--nats", s.url).wants(t, statusUnreachable, name, "max_msgs")
			if err := s.js.DeleteStream(within(t), name); err != nil {
				t.Error(err)
			}
		})
	}
}

// What the contract lets through: a sound stream of somebody else's making, and a limit that was asked for.
func TestStreamsThatWereThere(t *testing.T) {
	s := startServer(t, nil)
	cfg := sound()
	cfg.MaxAge = time.Hour
	if _, err := s.js.CreateStream(within(t), cfg); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "precis.yaml")
	if err := os.WriteFile(file, []byte("retention: {events: 1h}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	d := launch(t, t.TempDir(), "--nats", s.url, "--config", file)
	d.counters("t", d.message("t", "m", "x"), map[string]int64{"messages": 1})
}

// used is a server and a data directory in which a processor has worked. SUMMARIES has a short memory for
// duplicates, so that a test need not wait for it.
func used(t testing.TB) (natsServer, string) {
	t.Helper()
	s, dir := startServer(t, nil), t.TempDir()
	_, err := s.js.CreateStream(within(t), jetstream.StreamConfig{
		Name: "SUMMARIES", Duplicates: 200 * time.Millisecond, AllowAtomicPublish: true,
		Subjects: []string{"summary.started.*", "summary.created.*", "summary.invalidated.*", "summary.failed.*", "usage.recorded.*", "config.applied.*", "partition.claimed.*"},
	})
	if err != nil {
		t.Fatal(err)
	}
	d := launch(t, dir, "--nats", s.url)
	for i := range 5 {
		d.result("t", fmt.Sprint("m", i), output("x"))
	}
	d.records("t", func(m stored) bool { return m.data(t)["as_of_message_id"] == "m4" })
	if status := d.kill(syscall.SIGTERM); status != statusDone {
		t.Fatalf("ended with %d:\n%s", status, d.stderr)
	}
	return s, dir
}

// Streams that are not the ones that the store was made from are refused, and left alone.
func TestRefusedLogs(t *testing.T) {
	for _, name := range []string{"EVENTS", "SUMMARIES"} {
		t.Run(name, func(t *testing.T) {
			s, dir := used(t)
			refuse := func() {
				t.Helper()
				refused(t, nil, "--data", dir, "--nats", s.url).wants(t, statusWrong, name, "restore", "move the state in the data directory away")
			}
			cfg := s.drop(t, name)
			refuse()
			if _, err := s.js.Stream(within(t), name); err == nil {
				t.Fatalf("%s was made anew, where it is to be restored", name)
			}
			if _, err := s.js.CreateStream(within(t), cfg); err != nil {
				t.Fatal(err)
			}
			refuse()
		})
	}
}

func TestPurgedRecordsAreRefused(t *testing.T) {
	s, dir := used(t)
	stream, err := s.js.Stream(within(t), "SUMMARIES")
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Purge(within(t)); err != nil {
		t.Fatal(err)
	}
	refused(t, nil, "--data", dir, "--nats", s.url).wants(t, statusWrong, "SUMMARIES", "restore", "move the state in the data directory away")

	again := launch(t, t.TempDir(), "--nats", s.url) // what it advises helps
	holdChain(t, again.records("t", func(m stored) bool { return m.data(t)["as_of_message_id"] == "m4" }))
	again.counters("t", 5, map[string]int64{"tool_results": 5, "summaries_active": 5, "duplicates": 0})
}

// drop deletes a stream and returns what it was.
func (s natsServer) drop(t testing.TB, name string) jetstream.StreamConfig {
	t.Helper()
	stream, err := s.js.Stream(within(t), name)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.js.DeleteStream(within(t), name); err != nil {
		t.Fatal(err)
	}
	return stream.CachedInfo().Config
}
