package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
)

// metricName is what stands in a query where a metric does: the label and function names of PromQL have none of these beginnings.
var metricName = regexp.MustCompile(`\b(?:precis_|precis:|process_|gnatsd_|jetstream_)[a-z0-9_:]+`)

// Every query of the dashboards parses, and names metrics that the program has; those of the server's exporter are not ours.
func TestDashboards(t *testing.T) {
	tool := promtool(t)
	s := scrapedProgram(t, nil)
	known := map[string]bool{}
	for series := range s.read() {
		name, _, _ := strings.Cut(series, "{")
		known[name] = true
	}
	for _, file := range []string{"internal/processor/metrics.go", "internal/processor/probes.go", "internal/gateway/metrics.go"} { // vectors without a series yet
		for _, name := range metric.FindAllString(projectFile(t, file), -1) {
			known[name], known[name+"_bucket"] = true, true
		}
	}
	files, err := filepath.Glob(projectRoot + "/deploy/grafana/*.json")
	if err != nil || len(files) < 4 {
		t.Fatalf("%d dashboards, %v", len(files), err)
	}
	var rules strings.Builder
	rules.WriteString("groups:\n  - name: dashboards\n    rules:\n")
	queries := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var board struct {
			Title  string `json:"title"`
			UID    string `json:"uid"`
			Panels []struct {
				Title   string `json:"title"`
				Targets []struct {
					Expr string `json:"expr"`
				} `json:"targets"`
			} `json:"panels"`
		}
		if err := json.Unmarshal(text, &board); err != nil || board.Title == "" || board.UID == "" || len(board.Panels) == 0 {
			t.Errorf("%s: %v", file, err)
		}
		for _, panel := range board.Panels {
			for _, target := range panel.Targets {
				expr := strings.ReplaceAll(target.Expr, "$__rate_interval", "5m")
				queries++
				rules.WriteString("      - {record: 'a:b:c', expr: '" + strings.ReplaceAll(expr, "'", "''") + "', labels: {n: '" + strings.Repeat("x", queries) + "'}}\n")
				for _, name := range metricName.FindAllString(expr, -1) {
					if strings.HasPrefix(name, "gnatsd_") || strings.HasPrefix(name, "jetstream_") {
						continue
					}
					if !known[name] {
						t.Errorf("%s, %s: the program has no metric %s", filepath.Base(file), panel.Title, name)
					}
				}
			}
		}
	}
	name := file(t, rules.String())
	if out, err := exec.CommandContext(t.Context(), tool, "check", "rules", name).CombinedOutput(); err != nil {
		t.Errorf("%d queries: %v\n%s", queries, err, out)
	}
}
