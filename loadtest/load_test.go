package main

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"go.uber.org/goleak"
)

// TestAgainstAProcessor runs a small load against a processor built from this tree, and then the
// same load again: only duplicates, which must change nothing.
func TestAgainstAProcessor(t *testing.T) {
	if testing.Short() {
		t.Skip("short: builds and starts a processor")
	}
	defer goleak.VerifyNone(t)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	c, err := startProcessor(ctx, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	defer c.stop()
	args := []string{"--nats", c.url, "--agents", "8", "--threads", "16", "--events", "1200", "--run", "twice", "--timeout", "30s", "--json"}
	for _, turn := range []string{"first", "again"} {
		var out, log bytes.Buffer
		if status := run(ctx, args, &out, &log); status != 0 {
			t.Fatalf("%s: exit %d\n%s%s", turn, status, log.String(), out.String())
		}
		var r report
		if err := json.Unmarshal(out.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		if r.Events != 1200 || r.Want.Summaries == 0 || r.Created.N != r.Want.Summaries || r.Want.Edits == 0 {
			t.Errorf("%s: %+v", turn, r)
		}
	}
}

// TestClusterOfProcesses kills one of two processors, and ends one, while agents publish.
func TestClusterOfProcesses(t *testing.T) {
	if testing.Short() {
		t.Skip("short: builds and starts servers and processors")
	}
	var out, log bytes.Buffer
	args := []string{"cluster", "--processors", "2", "--partitions", "4", "--kills", "1", "--stops", "0", "--leaves", "1", "--events", "300", "--rate", "100", "--agents", "8", "--json"}
	if status := run(t.Context(), args, &out, &log); status != 0 {
		t.Fatalf("exit %d\n%s%s", status, log.String(), out.String())
	}
	var r clusterReport
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	if r.Killed.N == 0 || r.Left.N == 0 || r.Load.Events != 300 || r.Load.Created.N != r.Load.Want.Summaries {
		t.Errorf("%+v, %+v", r, r.Load)
	}
}

func TestUsage(t *testing.T) {
	for name, c := range map[string]struct {
		args   []string
		status int
		says   string
	}{
		"help":               {[]string{"--help"}, 0, "--agents"},
		"unknown":            {[]string{"--agent"}, exitUsage, "unknown flag"},
		"no agents":          {[]string{"--agents", "0"}, exitUsage, "--agents is 0"},
		"threads for agents": {[]string{"--agents", "9", "--threads", "3"}, exitUsage, "--threads is 3"},
		"no server":          {[]string{"--nats", "nats://127.0.0.1:1"}, exitUnreachable, "connect to"},
		"help of cluster":    {[]string{"cluster", "--help"}, 0, "--kills"},
		"no processors":      {[]string{"cluster", "--processors", "0"}, exitUsage, "--processors, --partitions and --runs are at least 1"},
		"no other":           {[]string{"cluster", "--processors", "1"}, exitUsage, "--stops needs another processor"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			status := run(context.Background(), c.args, &out, &out)
			if status != c.status || !strings.Contains(out.String(), c.says) {
				t.Errorf("exit %d, want %d; said %s", status, c.status, out.String())
			}
		})
	}
}
