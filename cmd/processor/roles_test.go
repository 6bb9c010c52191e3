package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// An auditor reads everything, and is told of no right that it does not need.
func TestTailAsAuditor(t *testing.T) {
	s, v := roleProcessor(t)
	program(t, sampleThread(), "publish", "-", "--nats", s, "--user", "agent", "--password", "word").wants(t, exitDone, "7 events", "")
	for _, command := range [][]string{{"tail", "--from", "start", "--until-caught-up"}, {"export", "t 1"}, {"replay"}, {"audit", "--head"}, {"backup", t.TempDir()}} {
		got := program(t, "", append(command, "--nats", s, "--user", "auditor", "--password", "word")...)
		got.wants(t, exitDone, "", "")
		if strings.Contains(got.stderr, "ermission") {
			t.Errorf("%s: %s", command, got.stderr)
		}
	}
	v.stop(t)
}

// An agent may read SUMMARIES alone. It sees what is there, and is told at once what it may not see: the server leaves
// such a request without an answer.
func TestTailAsAgent(t *testing.T) {
	s, v := roleProcessor(t)
	agent := []string{"--nats", s, "--user", "agent", "--password", "word"}
	got := program(t, "", append([]string{"tail", "--all", "--from", "start", "--until-caught-up"}, agent...)...)
	got.wants(t, exitDone, "config.applied", "may not read EVENTS: skipped")
	if !strings.Contains(got.stderr, "may not read REJECTED: skipped") || strings.Contains(got.stderr, "ermissions") {
		t.Errorf("it says %q", got.stderr)
	}
	got = program(t, "", append([]string{"tail", "--type", "tool.result"}, agent...)...)
	got.wants(t, exitUnreachable, "", "read EVENTS: this user may not")
	v.stop(t)
}

// Processors with these rights share the partitions: an agent's request is answered whichever of them has the thread, also when
// one has left.
func TestClusterWithRoles(t *testing.T) {
	server := roleServer(t)
	agent := []string{"--nats", server, "--user", "agent", "--password", "word"}
	first, second := roleVictim(t, server, "PRECIS_CLUSTER_NAME=prod"), roleVictim(t, server, "PRECIS_CLUSTER_NAME=prod")
	first.awaitRunning(t)
	second.awaitRunning(t)
	program(t, sampleThread(), append([]string{"publish", "-"}, agent...)...).wants(t, exitDone, "7 events", "")
	answered(t, append([]string{"thread", "t 1", "--min-event-seq", "7"}, agent...)...)
	first.stop(t)
	answered(t, append([]string{"thread", "t 1", "--min-event-seq", "7"}, agent...)...)
	answered(t, append([]string{"context", "t 1"}, agent...)...).wants(t, exitDone, "find all handlers", "")
	second.stop(t)
}

// answered repeats a command while partitions move, which the processors say with 503.
func answered(t *testing.T, args ...string) outcome {
	t.Helper()
	for end := time.Now().Add(testTimeout); ; {
		got := program(t, "", args...)
		if got.status == exitDone {
			return got
		}
		if got.status != exitUnreachable || !strings.Contains(got.stderr, "try again in a moment") || time.Now().After(end) {
			t.Fatalf("%q: status %d\n%s", args, got.status, got.stderr)
		}
	}
}

// roleProcessor runs a processor on such a server, where each user's password is word.
func roleProcessor(t *testing.T) (server string, v *victim) {
	t.Helper()
	server = roleServer(t)
	v = roleVictim(t, server)
	v.awaitRunning(t)
	awaitRecords(t, server)
	return server, v
}

// roleVictim starts a processor with the rights of deploy/nats.
func roleVictim(t *testing.T, server string, settings ...string) *victim {
	t.Helper()
	v := newVictim(t, build(t))
	v.env = append(os.Environ(), "PRECIS_NATS_USER=processor", "PRECIS_NATS_PASSWORD_ENV=NATS_PROCESSOR_PASSWORD",
		"PRECIS_NATS_SERVICE_USER=service", "PRECIS_NATS_SERVICE_PASSWORD_ENV=NATS_SERVICE_PASSWORD", "PRECIS_NATS_INBOX_PREFIXES=_INBOX,_R_")
	v.env = append(v.env, settings...)
	v.args = []string{"--nats", server}
	v.start(t)
	return v
}

// awaitRecords waits until the processor has published what it runs with.
func awaitRecords(t *testing.T, server string) {
	t.Helper()
	nc, err := nats.Connect(server, nats.UserInfo("admin", "word"))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	c, err := js.OrderedConsumer(ctx, "SUMMARIES", jetstream.OrderedConsumerConfig{FilterSubjects: []string{"config.applied.*"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Next(jetstream.FetchMaxWait(testTimeout)); err != nil {
		t.Fatalf("no record of the processor: %v", err)
	}
}

// roleServer runs the server of deploy/nats.
func roleServer(t *testing.T) string {
	t.Helper()
	for _, role := range []string{"PROCESSOR", "SERVICE", "AGENT", "AUDITOR", "ADMIN"} {
		t.Setenv("NATS_"+role+"_PASSWORD", "word")
	}
	o, err := natsserver.ProcessConfigFile(filepath.Join("..", "..", "deploy", "nats", "nats.conf"))
	if err != nil {
		t.Fatal(err)
	}
	o.Host, o.Port, o.HTTPPort, o.StoreDir, o.NoSigs, o.NoLog = "127.0.0.1", natsserver.RANDOM_PORT, 0, t.TempDir(), true, true
	o.HTTPHost = ""
	s, err := natsserver.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(testTimeout) {
		t.Fatal("not ready")
	}
	return s.ClientURL()
}
