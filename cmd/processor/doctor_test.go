package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"precis/internal/datadir"
)

// diagnosed runs the doctor and returns the state of each check.
func diagnosed(t *testing.T, status int, args ...string) (states map[string]string, out outcome) {
	t.Helper()
	out = program(t, "", append([]string{"doctor", "--json", "--timeout", "5s"}, args...)...)
	out.wants(t, status, "", "")
	var d struct {
		Healthy  bool `json:"healthy"`
		Findings []struct{ Check, State, Detail, Action string }
	}
	if err := json.Unmarshal([]byte(out.stdout), &d, json.MatchCaseInsensitiveNames(true)); err != nil {
		t.Fatalf("%v in %s", err, out.stdout)
	}
	if d.Healthy != (status == exitDone) {
		t.Errorf("healthy is %v with status %d", d.Healthy, status)
	}
	states = map[string]string{}
	for _, f := range d.Findings {
		states[f.Check] = f.State
		if f.State == "warning" && f.Action == "" {
			t.Errorf("%s: a warning does not say what to do: %s", f.Check, f.Detail)
		}
	}
	return states, out
}

func TestDoctorOfAHealthyProcessor(t *testing.T) {
	p := startProcessor(t, t.TempDir())
	config := configured(t, "policies: [{name: default}]")
	data := t.TempDir()
	states, out := diagnosed(t, exitDone, "--nats", p.url, "--config", config, "--data", data)
	disk := "ok"
	if free, total, known := datadir.Space(data); known && free < total/10 {
		disk = "warning" // the disk of the machine that runs this test may be nearly full
	}
	if states["disk"] != disk {
		t.Errorf("disk is %q, want %q", states["disk"], disk)
	}
	for _, check := range []string{"settings", "connection", "server", "streams", "store", "rights", "versions", "in force", "publish", "service", "summary", "clocks", "edit", "clean-up"} {
		if states[check] != "ok" {
			t.Errorf("%s is %q", check, states[check])
		}
	}
	var d struct {
		Thread string `json:"thread_id"`
	}
	if err := json.Unmarshal([]byte(out.stdout), &d); err != nil {
		t.Fatal(err)
	}
	left := p.do(t, "", "thread", d.Thread, "--json")
	left.wants(t, exitDone, `"tokens_live":0,`, "")
	left.wants(t, exitDone, `"summaries_stale":1,`, "")
	out.wants(t, exitDone, "and a stale summary in its counters", "")
	p.do(t, "", "replay").wants(t, exitDone, "No discrepancies", "")
	p.do(t, "", "doctor", "--read-only").wants(t, exitDone, "skipped  round trip  --read-only", "")

	other := configured(t, "policies: [{name: default, tool_output: {over_chars: 99}}]")
	if states, _ := diagnosed(t, exitDone, "--nats", p.url, "--config", other); states["in force"] != "warning" {
		t.Errorf("another configuration: %v", states)
	}
	off := configured(t, "partitions: 8")
	if states, _ := diagnosed(t, exitWrong, "--nats", p.url, "--config", off, "--read-only"); states["streams"] != "wrong" {
		t.Errorf("other partitions: %v", states)
	}
}

// Each fault has its own status and advice, and nothing waits without an end.
func TestDoctorOfFaults(t *testing.T) {
	away := "nats://" + freeAddress(t)
	if states, _ := diagnosed(t, exitUnreachable, "--nats", away); states["connection"] != "wrong" {
		t.Errorf("no server: %v", states)
	}
	bad := configured(t, "partitions: none")
	if states, _ := diagnosed(t, exitUsage, "--nats", away, "--config", bad); states["settings"] != "wrong" {
		t.Errorf("settings: %v", states)
	}
	bare := newBareServer(t)
	if states, _ := diagnosed(t, exitUnreachable, "--nats", bare.URL()); states["streams"] != "wrong" {
		t.Errorf("no streams: %v", states)
	}
	stopped := newServer(t)
	if states, _ := diagnosed(t, exitUnreachable, "--nats", stopped.URL()); states["versions"] != "wrong" || states["service"] != "wrong" {
		t.Errorf("no processor: %v", states)
	}
	if states, _ := diagnosed(t, exitUnreachable, "--nats", stopped.URL(), "--http", "http://"+freeAddress(t)); states["ready"] != "wrong" {
		t.Errorf("no HTTP: %v", states)
	}
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	if states, out := diagnosed(t, exitWrong, "--nats", stopped.URL(), "--http", other.URL); states["ready"] != "wrong" || !strings.Contains(out.stdout, "give the address of the probes") {
		t.Errorf("another HTTP address: %v", states)
	}
}

// A processor that makes no summary of a large output, as its policy says, is a warning.
func TestDoctorWithoutSummaries(t *testing.T) {
	t.Setenv("PRECIS_CONFIG", configured(t, "policies: [{name: default, enabled: false}]"))
	p := startProcessor(t, t.TempDir())
	states, out := diagnosed(t, exitDone, "--nats", p.url, "--timeout", "1s")
	if states["summary"] != "warning" || states["clean-up"] != "ok" || !strings.Contains(out.stdout, "enabled of the policy") {
		t.Errorf("states %v", states)
	}
}

// With the rights of an agent the round trip works; an auditor may not publish.
func TestDoctorByRole(t *testing.T) {
	s, v := roleProcessor(t)
	states, _ := diagnosed(t, exitDone, "--nats", s, "--user", "agent", "--password", "word")
	for check, want := range map[string]string{"rights": "ok", "publish": "ok", "summary": "ok", "edit": "ok", "clean-up": "ok"} {
		if states[check] != want {
			t.Errorf("agent: %s is %q, want %q", check, states[check], want)
		}
	}
	states, _ = diagnosed(t, exitDone, "--nats", s, "--user", "auditor", "--password", "word")
	if states["rights"] != "ok" || states["round trip"] != "skipped" {
		t.Errorf("auditor: %v", states)
	}
	v.stop(t)
}

// A retention that a stream has and the configuration has not could lose events.
func TestDoctorOfAStreamThatLosesEvents(t *testing.T) {
	p := startProcessor(t, t.TempDir())
	nc, err := nats.Connect(p.url)
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
	stream, err := js.Stream(ctx, "EVENTS")
	if err != nil {
		t.Fatal(err)
	}
	changed := stream.CachedInfo().Config
	changed.MaxMsgs = 1000
	if _, err := js.UpdateStream(ctx, changed); err != nil {
		t.Fatal(err)
	}
	config := configured(t, "policies: [{name: default}]")
	if states, out := diagnosed(t, exitWrong, "--nats", p.url, "--config", config); states["streams"] != "wrong" || !strings.Contains(out.stdout, "processor streams") {
		t.Errorf("%v", states)
	}
}
