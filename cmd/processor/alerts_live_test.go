package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// "make alerts" sees the alerts in a Prometheus that runs, and follows their runbooks: the same faults as those that promtool is shown.

var alertsMinute = flag.Duration("alerts.minute", 0, "TestAlertsInPrometheus: how long a minute of the rules takes; 1m is real")

// watcher is a Prometheus that scrapes each program with a fault; nil: none runs, and promtool evaluates.
var watcher *prometheus

type prometheus struct {
	url, targets string
	minute       time.Duration

	mu    sync.Mutex
	files int
}

var inMinutes = regexp.MustCompile(`(\[|for: |offset )(\d+)m\b`)

// startPrometheus runs it with the project's rules. Only their minutes are shorter.
func startPrometheus(t *testing.T, minute time.Duration) *prometheus {
	name, err := exec.LookPath("prometheus")
	if err != nil {
		t.Fatal("no prometheus here (Debian's package prometheus has it)")
	}
	dir := t.TempDir()
	p := &prometheus{url: "http://" + freeAddress(t), targets: filepath.Join(dir, "targets"), minute: minute}
	if err := os.Mkdir(p.targets, 0o700); err != nil {
		t.Fatal(err)
	}
	rules := inMinutes.ReplaceAllStringFunc(projectFile(t, "deploy/prometheus/precis.rules.yaml"), func(s string) string {
		m := inMinutes.FindStringSubmatch(s)
		n, _ := strconv.Atoi(m[2])
		return fmt.Sprintf("%s%dms", m[1], (time.Duration(n) * minute).Milliseconds())
	})
	config := fmt.Sprintf("global: {scrape_interval: %[1]v, scrape_timeout: %[1]v, evaluation_interval: %[1]v}\nrule_files: [%[2]q]\n"+
		"scrape_configs: [{job_name: precis, file_sd_configs: [{files: [%[3]q]}]}]\n", minute, file(t, rules), p.targets+"/*.json")
	log, err := os.Create(filepath.Join(dir, "log")) // #nosec G304 -- the test's own
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd := exec.Command(name, "--config.file", file(t, config), "--storage.tsdb.path", filepath.Join(dir, "data"), "--web.listen-address", strings.TrimPrefix(p.url, "http://"), // #nosec G204
		"--query.lookback-delta", (5 * minute).String())
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	p.await(t, testTimeout, "Prometheus does not answer: "+log.Name(), func() bool {
		res, err := http.Get(p.url + "/-/ready")
		if err != nil {
			return false
		}
		return res.Body.Close() == nil && res.StatusCode == http.StatusOK
	})
	return p
}

func (p *prometheus) await(t *testing.T, limit time.Duration, failure string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(min(p.minute/4, time.Second))
	defer tick.Stop()
	for end := time.Now().Add(limit); !holds(); <-tick.C {
		if time.Now().After(end) {
			t.Fatal(failure)
		}
	}
}

// watch has it scrape a program.
func (p *prometheus) watch(t *testing.T, address string) {
	t.Helper()
	p.mu.Lock()
	p.files++
	name := filepath.Join(p.targets, strconv.Itoa(p.files)+".json")
	p.mu.Unlock()
	if err := os.WriteFile(name, []byte(fmt.Sprintf(`[{"targets":[%q]}]`, address)), 0o600); err != nil {
		t.Fatal(err)
	}
	p.scrapes(t, address, 1)
}

// scrapes waits until it has scraped a program n times more, whether that answered or not.
func (p *prometheus) scrapes(t *testing.T, address string, n int) {
	t.Helper()
	scraped := func() float64 {
		var sum float64
		for _, s := range asked[struct {
			Result []struct{ Value [2]any }
		}](t, p, "query?query="+url.QueryEscape(fmt.Sprintf("count_over_time(up{instance=%q}[1d])", address))).Result {
			sum, _ = strconv.ParseFloat(fmt.Sprint(s.Value[1]), 64)
		}
		return sum
	}
	wanted := scraped() + float64(n)
	p.await(t, time.Duration(10*n)*p.minute+testTimeout, address+" is not scraped", func() bool { return scraped() >= wanted })
}

// asked returns what its API says.
func asked[T any](t *testing.T, p *prometheus, path string) T {
	t.Helper()
	var answer struct {
		Status string
		Data   T
	}
	res, err := http.Get(p.url + "/api/v1/" + path)
	if err == nil {
		defer res.Body.Close()
		err = json.NewDecoder(res.Body).Decode(&answer)
	}
	if err == nil && answer.Status != "success" {
		err = fmt.Errorf("%s: %s %s", path, res.Status, answer.Status)
	}
	if err != nil {
		t.Fatal(err)
	}
	return answer.Data
}

type firingAlert struct {
	Labels, Annotations map[string]string
	State               string
}

// firing are the alerts of a program that fire, by name.
func (p *prometheus) firing(t *testing.T, address string) map[string]firingAlert {
	t.Helper()
	fire := map[string]firingAlert{}
	for _, a := range asked[struct{ Alerts []firingAlert }](t, p, "alerts").Alerts {
		if a.Labels["instance"] == address && a.State == "firing" {
			fire[a.Labels["alertname"]] = a
		}
	}
	return fire
}

// Each alert fires in a Prometheus that runs, on the fault that it is for, and ends once its runbook was followed.
func TestAlertsInPrometheus(t *testing.T) {
	if *alertsMinute == 0 {
		t.Skip("-alerts.minute runs it")
	}
	watcher = startPrometheus(t, *alertsMinute)
	defer func() { watcher = nil }()
	operations := projectFile(t, "docs/operations.md")
	for _, name := range alerts(t) {
		t.Run(name, func(t *testing.T) {
			s := faulty[name](t)
			var a firingAlert
			watcher.await(t, 15*watcher.minute+testTimeout, "it does not fire", func() (fires bool) {
				a, fires = watcher.firing(t, s.http)[name]
				return fires
			})
			page, anchor, _ := strings.Cut(a.Annotations["runbook"], "#")
			if page != "docs/operations.md" || !strings.Contains(strings.ToLower(operations), "\n### "+anchor+"\n") {
				t.Errorf("no runbook is at %q", a.Annotations["runbook"])
			}
			fired := time.Now()
			t.Logf("%s: %s (%s)", a.Labels["severity"], a.Annotations["summary"], a.Annotations["runbook"])
			if s.follow != nil {
				s.follow(t)
				watcher.scrapes(t, s.http, 3) // a program that was stopped meanwhile ends every alert for a moment
			}
			ended := func() bool {
				_, fires := watcher.firing(t, s.http)[name]
				return !fires
			}
			watcher.await(t, 40*watcher.minute+testTimeout, "it does not end", ended)
			if watcher.scrapes(t, s.http, 2); !ended() {
				t.Error("it fires again")
			}
			t.Logf("well again %.1f minutes later; %v are left", time.Since(fired).Seconds()/watcher.minute.Seconds(), watcher.firing(t, s.http))
			s.ready(t)
		})
	}
}
