package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// An operator changes the retention of a log whose server is inside a processor: while it runs, and where it does not
// start any more.
func TestStreams(t *testing.T) {
	dir := t.TempDir()
	config := func(retention string) string {
		name := filepath.Join(t.TempDir(), "precis.yaml")
		text := "data_dir: " + dir + "\nnats: {listen: \"127.0.0.1:1\"}\nhttp: {listen: \"\"}\napi: {listen: \"\"}\nretention: {events: " + retention + "}\n"
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	hour, day := config("1h"), config("24h")
	program(t, "", "streams", "--config", hour).wants(t, exitUnreachable, "", "no streams in "+dir)

	p := startProcessor(t, dir)
	running := program(t, "", "streams", "--config", hour, "--nats", p.url)
	running.wants(t, exitWrong, "max_age is unlimited; configured: 1h0m0s (--apply changes it)", "0 streams missing, 1 setting differs")
	program(t, "", "streams", "--config", hour, "--nats", p.url, "--apply").wants(t, exitDone, "as configured", "")
	if status := p.stop(); status != exitDone {
		t.Fatalf("status %d", status)
	}
	refused := program(t, "", "run", "--config", day)
	if refused.status == exitDone || !strings.Contains(refused.stderr, "processor streams --apply") {
		t.Errorf("status %d, %s", refused.status, refused.stderr)
	}
	program(t, "", "streams", "--config", day, "--json").wants(t, exitWrong, `"setting":"max_age","value":"1h0m0s","want":"24h0m0s","loses_events":true,"can_be_applied":true`, "")
	program(t, "", "streams", "--config", day, "--apply").wants(t, exitDone, "as configured", "")
	program(t, "", "streams", "--config", day).wants(t, exitDone, "EVENTS", "")
}
