package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"

	"precis/api"
	"precis/internal/config"
	"precis/internal/parked"
	"precis/internal/processor"
)

// The rules for Prometheus are held to the program: each fault is made for real, and the alert for it has to fire on what
// was scraped. promtool evaluates; a scrape stands for a minute.

const rulesFile = projectRoot + "/deploy/prometheus/precis.rules.yaml"

// promtool is Prometheus' own; the test is skipped where it is not installed. .ci/run installs it.
func promtool(t *testing.T) string {
	t.Helper()
	name, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("no promtool here (Debian's package prometheus has it)")
	}
	return name
}

// scraped is a program whose metrics are read.
type scraped struct {
	*victim
	http    string
	minutes []map[string]string // series and values; nil: it did not answer
	// follow does what the alert's runbook says, until the fault is gone; nil: the alert ends by itself.
	follow func(t *testing.T)
}

// scrapedProgram starts the program with HTTP on top of args.
func scrapedProgram(t *testing.T, env []string, args ...string) *scraped {
	t.Helper()
	s := &scraped{victim: newVictim(t, build(t)), http: freeAddress(t)}
	s.env = append(os.Environ(), env...)
	s.args = append([]string{"--http", s.http}, args...)
	s.start(t)
	s.ready(t)
	if watcher != nil {
		watcher.watch(t, s.http)
	}
	return s
}

// ready waits until the probe says so.
func (s *scraped) ready(t *testing.T) {
	t.Helper()
	s.awaitRunning(t)
	s.await(t, func() bool {
		answer, err := http.Get("http://" + s.http + "/readyz")
		if err != nil {
			return false
		}
		defer answer.Body.Close()
		return answer.StatusCode == http.StatusOK
	})
}

// await asks until something holds.
func (s *scraped) await(t *testing.T, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(testTimeout); !holds(); <-tick.C {
		if time.Now().After(end) {
			t.Fatalf("it does not come about\n%s", s.logs)
		}
	}
}

var sampleLine = regexp.MustCompile(`^([a-z_]+)(?:\{(.*)\})? (\S+)$`)

// scrape reads the metrics once, for n minutes.
func (s *scraped) scrape(t *testing.T, n int) {
	t.Helper()
	series := s.read()
	for range n {
		s.minutes = append(s.minutes, series)
	}
	if watcher != nil {
		watcher.scrapes(t, s.http, n)
	}
}

// read returns all series and their values.
func (s *scraped) read() map[string]string {
	series := map[string]string{}
	answer, err := http.Get("http://" + s.http + "/metrics")
	if err == nil {
		defer answer.Body.Close()
		body, _ := io.ReadAll(answer.Body)
		for line := range strings.Lines(string(body)) {
			if m := sampleLine.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
				labels := `instance="a",job="precis"`
				if m[2] != "" {
					labels += "," + m[2]
				}
				series[m[1]+"{"+labels+"}"] = m[3]
			}
		}
		series[`up{instance="a",job="precis"}`] = "1"
	} else {
		series[`up{instance="a",job="precis"}`] = "0"
	}
	return series
}

// value is the sum of the series whose name begins so; empty where there is none, or no answer.
func (s *scraped) value(prefix string) string {
	sum, found := 0.0, false
	for name, value := range s.read() {
		if n, err := strconv.ParseFloat(value, 64); err == nil && strings.HasPrefix(name, prefix) {
			sum, found = sum+n, true
		}
	}
	if !found {
		return ""
	}
	return strconv.FormatFloat(sum, 'f', -1, 64)
}

// firing evaluates the rules over the scrapes and returns the alerts that fired.
func (s *scraped) firing(t *testing.T, tool string) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for _, minute := range s.minutes {
		for name := range minute {
			names[name] = true
		}
	}
	var b strings.Builder
	rules, err := filepath.Abs(rulesFile)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(&b, "rule_files: [%q]\nevaluation_interval: 1m\ntests:\n  - interval: 1m\n    input_series:\n", rules)
	for name := range names {
		var values []string
		for _, minute := range s.minutes {
			value, is := minute[name]
			if !is {
				value = "_"
			}
			values = append(values, value)
		}
		fmt.Fprintf(&b, "      - {series: '%s', values: '%s'}\n", strings.ReplaceAll(name, "'", "''"), strings.Join(values, " "))
	}
	// What fired is read from the error: it lists what was found where nothing is expected.
	fmt.Fprintf(&b, "    promql_expr_test:\n      - expr: 'sum by (alertname) (count_over_time(ALERTS{alertstate=\"firing\"}[%dm]))'\n        eval_time: %dm\n", len(s.minutes), len(s.minutes)-1)
	name := file(t, b.String())
	out, err := exec.CommandContext(t.Context(), tool, "test", "rules", name).CombinedOutput()
	fired := map[string]bool{}
	for _, m := range regexp.MustCompile(`alertname="(\w+)"`).FindAllStringSubmatch(string(out), -1) {
		fired[m[1]] = true
	}
	if (err != nil) != (len(fired) > 0) {
		t.Fatalf("%v\n%s", err, out)
	}
	return fired
}

// alerts are the names of all alerts in the file.
func alerts(t *testing.T) (names []string) {
	t.Helper()
	text, err := os.ReadFile(rulesFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)alert: (\w+)`).FindAllSubmatch(text, -1) {
		names = append(names, string(m[1]))
	}
	sort.Strings(names)
	return names
}

// lines is an event file of messages.
func messages(from, n int, thread string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `{"type":"thread.message","thread_id":"%s","message_id":"m%d","role":"user","content":"hello"}`+"\n", thread, from+i)
	}
	return b.String()
}

func (s *scraped) publish(t *testing.T, text string, args ...string) {
	t.Helper()
	program(t, text, append([]string{"publish", "-", "--nats", s.url()}, args...)...)
}

// faulty are the faults, each made for real: it returns when the metrics show it.
var faulty = map[string]func(t *testing.T) *scraped{
	"PrecisDown": func(t *testing.T) *scraped {
		s := scrapedProgram(t, nil)
		s.scrape(t, 5)
		s.kill()
		s.scrape(t, 5)
		s.follow = func(t *testing.T) { s.start(t); s.ready(t) }
		return s
	},
	"PrecisRestarting": func(t *testing.T) *scraped {
		s := scrapedProgram(t, nil)
		s.scrape(t, 3)
		for range 3 {
			s.kill()
			s.start(t)
			s.ready(t)
			s.scrape(t, 3)
		}
		return s
	},
	"PrecisBehind": func(t *testing.T) *scraped {
		s := scrapedProgram(t, nil)
		s.scrape(t, 2)
		// A partition whose records are not stored takes no more events once they weigh 16 MiB.
		s.stream(t, "REJECTED", func(c *jetstream.StreamConfig) { c.MaxMsgs, c.Discard = 1, jetstream.DiscardNew })
		s.follow = s.revert
		js, large := s.jetstream(t), strings.Repeat("no JSON ", 60_000)
		for range 40 {
			publish(t, js, "tool.result.t", large)
		}
		s.publish(t, messages(0, 2000, "t"))
		s.await(t, func() bool { return s.lag(t) > 1000 })
		s.scrape(t, 11)
		return s
	},
	"PrecisOutboxStuck": func(t *testing.T) *scraped {
		s := scrapedProgram(t, nil)
		s.scrape(t, 2)
		s.stream(t, "SUMMARIES", func(c *jetstream.StreamConfig) { c.MaxMsgs, c.Discard = 20, jetstream.DiscardNew })
		s.follow = s.revert
		var b strings.Builder
		for i := range 120 { // a small installation: no partition has many
			fmt.Fprintf(&b, `{"type":"tool.result","thread_id":"t","message_id":"m%d","tool_name":"bash","content":"%s"}`+"\n", i, strings.Repeat("some words ", 200))
		}
		s.publish(t, b.String())
		s.await(t, func() bool {
			for name, value := range s.read() {
				if strings.HasPrefix(name, "precis_outbox_rows") && len(value) >= 2 {
					return true
				}
			}
			return false
		})
		s.scrape(t, 10)
		return s
	},
	"PrecisLogMissing": func(t *testing.T) *scraped {
		s := scrapedProgram(t, nil)
		s.publish(t, messages(0, 5, "t"), "--wait")
		s.scrape(t, 2)
		backup := filepath.Join(t.TempDir(), "backup")
		program(t, "", "backup", backup, "--nats", s.url()).wants(t, exitDone, "", "")
		js := s.jetstream(t)
		stream, err := js.Stream(t.Context(), "EVENTS")
		if err == nil {
			err = stream.DeleteMsg(t.Context(), 3)
		}
		if err != nil {
			t.Fatal(err)
		}
		s.stop(t)
		s.start(t)
		s.awaitRunning(t)
		s.scrape(t, 3)
		s.follow = func(t *testing.T) {
			s.stop(t)
			program(t, "", "restore", backup, "--data", s.dir, "--overwrite").wants(t, exitDone, "", "")
			s.start(t)
			s.ready(t)
		}
		return s
	},
	"PrecisForeignRecords": func(t *testing.T) *scraped {
		s := scrapedProgram(t, nil)
		s.scrape(t, 2)
		publish(t, s.jetstream(t), "summary.created.t", `{"thread_id":"t"}`)
		s.again(t)
		s.scrape(t, 3)
		s.follow = s.again
		return s
	},
	"PrecisEventsRejected": func(t *testing.T) *scraped {
		s := scrapedProgram(t, nil)
		s.scrape(t, 3)
		publish(t, s.jetstream(t), "tool.result.t", `no JSON`)
		s.await(t, func() bool {
			return s.value(`precis_rejected_events_total{instance="a",job="precis",code="invalid_json"}`) == "1"
		})
		s.scrape(t, 3)
		return s
	},
	"PrecisRequestsRefused": func(t *testing.T) *scraped {
		s := scrapedProgram(t, nil)
		s.scrape(t, 3)
		nc := s.connection(t)
		if err := nc.PublishRequest("precis.thread.get.t", "elsewhere", nil); err != nil {
			t.Fatal(err)
		}
		s.await(t, func() bool {
			return s.value(`precis_requests_refused_total{instance="a",job="precis",reason="reply_subject"}`) == "1"
		})
		s.scrape(t, 3)
		return s
	},
	"PrecisReloadRefused": func(t *testing.T) *scraped {
		config := configured(t, "policies: [{name: default}]")
		s := scrapedProgram(t, nil, "--config", config)
		s.scrape(t, 20)
		s.reload(t, config, "policies: none", "refused")
		s.scrape(t, 3)
		s.follow = func(t *testing.T) { s.reload(t, config, "policies: [{name: default}]", "done") }
		return s
	},
	"PrecisUnknownCost":     func(t *testing.T) *scraped { return withModel(t, http.StatusOK) },
	"PrecisSummaryFailures": func(t *testing.T) *scraped { return withModel(t, http.StatusBadRequest) },
	"PrecisStoreAlmostFull": almostFull,
	"PrecisParkedRowsUnread": func(t *testing.T) *scraped {
		s := withoutParkedRows(t, func(js jetstream.JetStream) error { return js.DeleteStream(t.Context(), parked.Stream) })
		s.asked(t, "unread")
		nc := s.connection(t)
		for range 8 { // minutes: a server that starts again is no reason
			askPrompt(t, nc)
			s.scrape(t, 1)
		}
		return s
	},
	"PrecisParkedRowsLost": func(t *testing.T) *scraped {
		s := withoutParkedRows(t, func(js jetstream.JetStream) error {
			stream, err := js.Stream(t.Context(), parked.Stream)
			if err == nil {
				err = stream.Purge(t.Context())
			}
			return err
		})
		s.asked(t, "unread")
		s.asked(t, "lost") // 30 seconds later
		return s
	},
}

// withoutParkedRows is a program with a parked thread whose rows are taken away.
func withoutParkedRows(t *testing.T, take func(jetstream.JetStream) error) *scraped {
	t.Helper()
	s := scrapedProgram(t, nil)
	s.publish(t, messages(0, 2, "t"), "--wait")
	s.stop(t)
	c := config.Default()
	c.DataDir, c.NATS.Listen, c.Parking = s.dir, "", config.Parking{After: 1, PerSecond: 100}
	p, err := processor.Open(t.Context(), processor.Options{Config: c, Logger: zerolog.Nop(), ParkSettles: 1})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ran := make(chan error, 1)
	go func() { ran <- p.Run(ctx) }()
	s.await(t, func() bool {
		for id := range c.Partitions {
			if stub, err := p.View(id).Parked("t"); err == nil && stub != nil {
				return true
			}
		}
		return false
	})
	err = take(p.Broker().JetStream())
	stop()
	if err = errors.Join(err, <-ran, p.Close(context.WithoutCancel(ctx))); err != nil {
		t.Fatal(err)
	}
	s.start(t)
	s.ready(t)
	s.scrape(t, 3)
	return s
}

// askPrompt asks for the prompt of a thread without rows.
func askPrompt(t *testing.T, nc *nats.Conn) {
	t.Helper()
	m, err := nc.Request(api.ThreadContext+"t", nil, testTimeout)
	if err != nil || m.Header.Get("Nats-Service-Error-Code") != "503" {
		t.Fatal(m, err)
	}
}

// asked asks until that has an outcome.
func (s *scraped) asked(t *testing.T, outcome string) {
	t.Helper()
	nc := s.connection(t)
	count := func() string {
		return s.value(`precis_parking_total{instance="a",job="precis",outcome="` + outcome + `"}`)
	}
	if before := count(); before != "0" {
		t.Fatalf("%s: %q at first", outcome, before)
	}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for end := time.Now().Add(3 * testTimeout); count() == "0"; <-tick.C {
		if time.Now().After(end) {
			t.Fatalf("not %s\n%s", outcome, s.logs)
		}
		askPrompt(t, nc)
	}
	s.scrape(t, 3)
}

// withModel has a tool output summarized by a model that no price is known for, or that refuses.
func withModel(t *testing.T, status int) *scraped {
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, `{"id":"1","object":"chat.completion","model":"mine","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"some words"}}],"usage":{"prompt_tokens":10,"completion_tokens":5},"error":{"message":"no","type":"invalid_request_error"}}`)
	}))
	t.Cleanup(model.Close)
	text := "policies: [{name: default, mode: llm, on_failure: fail}]\nproviders: {summarizer: {kind: openai, base_url: \"" + model.URL + "/v1\", model: mine, api_key_env: ALERT_KEY}}\n"
	config := configured(t, text)
	s := scrapedProgram(t, []string{"ALERT_KEY=word"}, "--config", config)
	large := func(id string) string {
		return `{"type":"tool.result","thread_id":"t","message_id":"` + id + `","tool_name":"bash","content":"` + strings.Repeat("some words ", 300) + `"}` + "\n"
	}
	s.scrape(t, 20)
	counted := "precis_model_calls_total"
	if status != http.StatusOK {
		counted = "precis_summary_failures_total"
	}
	unknown := func() string { return s.value("precis_model_calls_of_unknown_cost_total") }
	s.publish(t, large("m1"))
	s.await(t, func() bool { return s.value(counted) != "" && (unknown() != "" || status != http.StatusOK) })
	first := unknown() // before the second call, which may be over as soon as its output is published
	s.scrape(t, 1)
	s.publish(t, large("m2"))
	s.await(t, func() bool { return unknown() != first || status != http.StatusOK })
	s.scrape(t, 3)
	s.follow = func(t *testing.T) { // the price, or another plan
		prices := file(t, "prices: [{model: mine, input: 1, output: 1}]\n")
		if status != http.StatusOK {
			text = "policies: [{name: default}]\n"
		}
		s.reload(t, config, text+"pricing: {file: \""+prices+"\"}\n", "done")
		made := s.value("precis_summaries_total")
		before := unknown()
		s.publish(t, large("m3"), "--wait")
		s.await(t, func() bool { return s.value("precis_summaries_total") != made })
		if unknown() != before {
			t.Error("a call has no cost")
		}
	}
	return s
}

// almostFull is an account that stores nearly as much as it may.
func almostFull(t *testing.T) *scraped {
	account := natsserver.NewAccount("A")
	o := &natsserver.Options{Host: "127.0.0.1", Port: natsserver.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoSigs: true, NoLog: true, MaxPayload: 8 << 20,
		Accounts: []*natsserver.Account{account}, Users: []*natsserver.User{{Username: "me", Password: "word", Account: account}}, NoAuthUser: "me"}
	server, err := natsserver.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	server.Start()
	t.Cleanup(func() { server.Shutdown(); server.WaitForShutdown() })
	if !server.ReadyForConnections(testTimeout) {
		t.Fatal("not ready")
	}
	a, err := server.LookupAccount("A")
	limit := func(store int64) map[string]natsserver.JetStreamAccountLimits {
		return map[string]natsserver.JetStreamAccountLimits{"": {MaxMemory: 1 << 20, MaxStore: store, MaxStreams: -1, MaxConsumers: -1, MemoryMaxStreamBytes: -1, StoreMaxStreamBytes: -1}}
	}
	if err == nil {
		err = a.EnableJetStream(limit(20<<20), nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	s := scrapedProgram(t, nil, "--nats", server.ClientURL())
	s.scrape(t, 2)
	text := strings.Repeat("x", 300_000)
	for i := range 63 {
		program(t, fmt.Sprintf(`{"type":"thread.message","thread_id":"t","message_id":"m%d","role":"user","content":"%s"}`+"\n", i, text), "publish", "-", "--nats", server.ClientURL())
	}
	s.scrape(t, 8)
	s.follow = func(t *testing.T) {
		if err := a.UpdateJetStreamLimits(limit(40 << 20)); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// again ends the program in order and starts it.
func (s *scraped) again(t *testing.T) {
	t.Helper()
	s.stop(t)
	s.start(t)
	s.ready(t)
}

// revert gives the streams their settings back, as an operator does while the processor runs.
func (s *scraped) revert(t *testing.T) {
	t.Helper()
	program(t, "", "streams", "--nats", s.url(), "--apply").wants(t, exitDone, "", "")
	s.await(t, func() bool { return s.lag(t) == 0 })
}

// reload has the program read a changed configuration.
func (s *scraped) reload(t *testing.T, config, text, outcome string) {
	t.Helper()
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	count := func() string {
		return s.value(`precis_config_reloads_total{instance="a",job="precis",outcome="` + outcome + `"}`)
	}
	before := count()
	if err := s.process.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	s.await(t, func() bool {
		now := count()
		return now != "" && now != before
	})
}

// lag is how many events wait to be applied.
func (s *scraped) lag(t *testing.T) (sum float64) {
	t.Helper()
	for name, value := range s.read() {
		if strings.HasPrefix(name, "precis_lag_messages") {
			n, err := strconv.ParseFloat(value, 64)
			if err != nil {
				t.Fatal(err)
			}
			sum += n
		}
	}
	return sum
}

func (s *scraped) connection(t *testing.T) *nats.Conn {
	t.Helper()
	nc, err := nats.Connect(s.url())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

func (s *scraped) jetstream(t *testing.T) jetstream.JetStream {
	t.Helper()
	js, err := jetstream.New(s.connection(t))
	if err != nil {
		t.Fatal(err)
	}
	return js
}

// stream changes a stream's settings behind the processor's back.
func (s *scraped) stream(t *testing.T, name string, change func(*jetstream.StreamConfig)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	js := s.jetstream(t)
	stream, err := js.Stream(ctx, name)
	if err != nil {
		t.Fatal(err)
	}
	config := stream.CachedInfo().Config
	change(&config)
	if _, err := js.UpdateStream(ctx, config); err != nil {
		t.Fatal(err)
	}
}

// The alert for a refused reload lasts as long as the fault: hours later it fires, and once a reload succeeds it does not.
func TestReloadRefusedLastsAsLongAsTheFault(t *testing.T) {
	tool := promtool(t)
	config := configured(t, "policies: [{name: default}]")
	s := scrapedProgram(t, nil, "--config", config)
	s.reload(t, config, "policies: none", "refused")
	s.scrape(t, 180)
	if fired := s.firing(t, tool); !fired["PrecisReloadRefused"] {
		t.Errorf("fired: %v", fired)
	}
	refused := s.minutes[0]
	s.reload(t, config, "policies: [{name: default}]", "done")
	s.scrape(t, 1)
	const series = `precis_config_refused{instance="a",job="precis"}`
	if was, is := refused[series], s.minutes[len(s.minutes)-1][series]; was != "1" || is != "0" {
		t.Errorf("the gauge was %q, and is %q", was, is)
	}
	rules, err := filepath.Abs(rulesFile)
	if err != nil {
		t.Fatal(err)
	}
	for at, fires := range map[string]int{"0m": 0, "1m": 1, "3h": 1, "3h1m": 0} {
		text := fmt.Sprintf("rule_files: [%q]\nevaluation_interval: 1m\ntests:\n  - interval: 1m\n    input_series:\n      - {series: '%s', values: '0 1x179 0x10'}\n"+
			"    promql_expr_test:\n      - expr: 'count(ALERTS{alertname=\"PrecisReloadRefused\",alertstate=\"firing\"}) or vector(0)'\n        eval_time: %s\n        exp_samples: [{labels: '{}', value: %d}]\n",
			rules, series, at, fires)
		if out, err := exec.CommandContext(t.Context(), tool, "test", "rules", file(t, text)).CombinedOutput(); err != nil {
			t.Errorf("after %s: %v\n%s", at, err, out)
		}
	}
}

// Each alert fires on its fault; none has no fault here, and no fault sets off an alert that says something else is wrong.
func TestAlertsFire(t *testing.T) {
	tool := promtool(t)
	for _, name := range alerts(t) {
		fault := faulty[name]
		if fault == nil {
			t.Errorf("%s: no fault shows that it fires", name)
			continue
		}
		t.Run(name, func(t *testing.T) {
			s := fault(t)
			fired := s.firing(t, tool)
			if !fired[name] {
				t.Errorf("fired: %v\n%s", fired, s.logs)
			}
			t.Logf("fired: %v", fired)
		})
	}
	for _, m := range regexp.MustCompile(`\b(?:process|go)_[a-z_]+`).FindAllString(projectFile(t, "deploy/prometheus/precis.rules.yaml"), -1) {
		t.Errorf("%s depends on files of /proc that a hardened unit hides", m)
	}
	operations := projectFile(t, "docs/operations.md")
	for _, name := range alerts(t) {
		if !strings.Contains(operations, "\n### "+name+"\n") {
			t.Errorf("docs/operations.md has no runbook for %s", name)
		}
	}
}

// A healthy hour with events, requests and a summary sets off nothing.
func TestAlertsAreQuietOnAHealthyHour(t *testing.T) {
	tool := promtool(t)
	s := scrapedProgram(t, nil)
	for i := range 20 {
		s.publish(t, messages(10*i, 10, "t"), "--wait")
		if i%5 == 0 {
			program(t, "", "doctor", "--nats", s.url()).wants(t, exitDone, "Healthy", "")
		}
		s.scrape(t, 3)
	}
	if fired := s.firing(t, tool); len(fired) > 0 || len(s.minutes) != 60 {
		t.Errorf("fired in %d minutes: %v", len(s.minutes), fired)
	}
	if out, err := exec.CommandContext(t.Context(), tool, "check", "rules", rulesFile).CombinedOutput(); err != nil || bytes.Contains(out, []byte("FAILED")) {
		t.Errorf("%v\n%s", err, out)
	}
}

// A first failure makes a new series, whose increase is none: its alert fires however much more often it is scraped than evaluated.
func TestAlertsFireOnFirstFailure(t *testing.T) {
	tool := promtool(t)
	rules, err := filepath.Abs(rulesFile)
	if err != nil {
		t.Fatal(err)
	}
	for name, series := range map[string]string{
		"PrecisSummaryFailures": `precis_summary_failures_total{instance="a",job="precis",kind="tool_result",code="provider",policy="default"}`,
	} {
		for at, fires := range map[string]int{"4m": 1, "10m": 1, "25m": 0} { // it is 15 minutes old at most
			text := fmt.Sprintf("rule_files: [%q]\nevaluation_interval: 1m\ntests:\n  - interval: 15s\n    input_series:\n      - {series: '%s', values: '_x9 1x120'}\n"+
				"    promql_expr_test:\n      - expr: 'count(ALERTS{alertname=\"%s\",alertstate=\"firing\"}) or vector(0)'\n        eval_time: %s\n        exp_samples: [{labels: '{}', value: %d}]\n",
				rules, series, name, at, fires)
			if out, err := exec.CommandContext(t.Context(), tool, "test", "rules", file(t, text)).CombinedOutput(); err != nil {
				t.Errorf("%s after %s: %v\n%s", name, at, err, out)
			}
		}
	}
}
