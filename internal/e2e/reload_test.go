package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// SIGHUP has the running program read its configuration again: what is in force is put on record, what it makes
// stale is announced, and one that can't be used changes nothing and is told of.
func TestReload(t *testing.T) {
	file := filepath.Join(t.TempDir(), "precis.yaml")
	write := func(yaml string) {
		if err := os.WriteFile(file, []byte(yaml), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const policy = "partitions: 2\npolicies:\n  - name: own\n    tool_output: {over_chars: 1000, max_summary_chars: %d}\n"
	write(fmt.Sprintf(policy, 700))
	d := launch(t, t.TempDir(), "--config", file)
	d.result("t", "m1", output("first"))
	first := d.records("t", created)
	partition := int(number(t, first[0].data(t), "partition"))
	if n := len(d.configured(partition)); n != 1 {
		t.Fatalf("%d configurations were applied", n)
	}

	write(fmt.Sprintf(policy, 400))
	d.reload("done", 1)
	records := d.records("t", func(s stored) bool { return strings.HasPrefix(s.subject, "summary.invalidated.") })
	stale := records[len(records)-1].data(t)
	equal(t, "invalidation", stale, object{
		"summary_id": text(t, first[0].data(t), "id"), "reason": "policy_changed", "action": "regenerate",
	})
	equal(t, "cause", stale["cause"].(object), object{"setting": "policies.own", "message_id": nil, "summary_id": nil})
	applied := d.configured(partition)
	if len(applied) != 2 || !strings.Contains(string(applied[1].body), `"max_summary_chars":400`) {
		t.Errorf("%d configurations are on record, the last is %.2000s", len(applied), applied[len(applied)-1].body)
	}

	for i, broken := range []string{"policies: [{name: own, tool_output: {over_chars: many}}]\n", "polices: []\n", "policies: [\n"} {
		write(broken)
		d.reload("refused", float64(i+1))
	}
	d.message("t", "m2", "go on") // and the first is made again, as the configuration in force says
	records = d.records("t", func(s stored) bool { return created(s) && number(t, s.data(t), "version") == 2 })
	if n := number(t, records[len(records)-1].data(t), "chars_after"); n > 400 {
		t.Errorf("%d characters, at most 400 are in force", n)
	}
	if n := len(d.configured(partition)); n != 2 {
		t.Errorf("%d configurations are on record", n)
	}
	if status := d.kill(syscall.SIGTERM); status != 0 {
		t.Errorf("it ended with %d", status)
	}
	for _, want := range []string{"configuration reloaded", "the old one stays in force", "over_chars", "polices"} {
		if !strings.Contains(d.stderr.String(), want) {
			t.Errorf("its log does not say %q", want)
		}
	}
}

// reload has the program read its configuration, and returns when so many have had that outcome.
func (d *daemon) reload(outcome string, n float64) {
	d.t.Helper()
	if err := d.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		d.t.Fatal(err)
	}
	d.eventually("a reload", func() error {
		if got := d.metrics("precis_config_reloads_total")[fmt.Sprintf("outcome=%q", outcome)]; got != n {
			return fmt.Errorf("%v were %s, want %v", got, outcome, n)
		}
		return nil
	})
}
