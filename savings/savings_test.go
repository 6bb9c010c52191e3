package savings_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"precis/events"
	"precis/internal/e2e/program"
	"precis/savings"
)

// A program gets what the command prints, and nothing of it stays on the machine.
func TestCompute(t *testing.T) {
	p := program.Start(t, "")
	p.Shell(t, `{
	echo '{"type":"thread.message","thread_id":"s1","message_id":"m1","role":"user","content":"Which test fails?"}'
	printf '{"type":"tool.result","thread_id":"s1","message_id":"m2","tool_name":"bash","content":"'
	for i in $(seq 300); do printf 'ok  shop/cart\\n'; done
	echo '--- FAIL: TestTotal"}'
	for i in 3 5 7; do echo '{"type":"thread.message","thread_id":"s1","message_id":"u'$i'","role":"user","content":"Sure?"}'; echo '{"type":"thread.message","thread_id":"s1","message_id":"m'$i'","role":"assistant","model":"gpt-4.1-mini","content":"TestTotal."}'; done
	echo '{"type":"thread.message","thread_id":"s2","message_id":"m1","role":"assistant","model":"gpt-4.1-mini","content":"Hi."}'
} | processor publish - --wait`)
	nc, err := events.Connect(p.NATS)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	for _, c := range []struct {
		options savings.Options
		command string
	}{
		{savings.Options{}, "processor savings --json"},
		{savings.Options{Thread: "s1", By: savings.ByModel}, "processor savings --thread s1 --by model --json"},
		{savings.Options{By: savings.ByDay, CacheFor: savings.NoCache, From: time.Now().Add(-time.Hour)}, "processor savings --by day --cache 0s --json"},
	} {
		got, err := savings.Compute(t.Context(), nc, c.options)
		if err != nil {
			t.Fatal(err)
		}
		var want savings.Report
		if err := json.Unmarshal([]byte(p.Shell(t, c.command)), &want); err != nil {
			t.Fatal(err)
		}
		got.Seconds, want.Seconds = 0, 0
		g, _ := json.Marshal(got)
		w, _ := json.Marshal(want)
		if string(g) != string(w) || got.Total.SavedTokens <= 0 {
			t.Errorf("%s\ncommand %s\nprogram %s", c.command, w, g)
		}
	}
	if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
		t.Errorf("%v left, %v", left, err)
	}
	for _, bad := range []savings.Options{{By: "week"}, {Model: "no-such-model"}} {
		if _, err := savings.Compute(t.Context(), nc, bad); err == nil || !strings.HasPrefix(err.Error(), "compute savings: ") {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}
