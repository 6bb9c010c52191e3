package main

import (
	"encoding/csv"
	"strings"
	"testing"
)

func TestExportRecords(t *testing.T) {
	p := startProcessor(t, t.TempDir())
	p.do(t, sampleThread(), "publish", "-").wants(t, exitDone, "7 events", "")
	p.awaits(t, "summary.invalidated", 1)

	got := p.do(t, "", "export", "--records", "summaries", "--csv")
	got.wants(t, exitDone, "tool_output_chars", "1 summary")
	rows, err := csv.NewReader(strings.NewReader(got.stdout)).ReadAll()
	if err != nil || len(rows) != 2 {
		t.Fatalf("%v: %q", err, rows)
	}
	if rows[0][2] != "thread_id" || rows[1][2] != "t 1" {
		t.Errorf("%q", rows)
	}
	p.do(t, "", "export", "--records", "invalidations").wants(t, exitDone, `"reason":"source_edited"`, "1 invalidation")
	p.do(t, "", "export", "t 1", "--records", "invalidations", "--csv").wants(t, exitDone, "source_edited,m3", "")
	p.do(t, "", "export", "--records", "summaries", "--to", "2001-01-01").wants(t, exitDone, "", "0 summaries")
	p.do(t, "", "export", "--records", "usage", "--by", "day,agent,model,policy", "--csv").wants(t, exitDone, "day,agent,model,policy,calls,input_tokens", "0 usage")
	p.do(t, "", "export", "--records", "summaries", "--agent", "nobody").wants(t, exitWrong, "", `the log has no thread started by agent "nobody"`)
	p.do(t, "", "export", "t 2", "--records", "summaries").wants(t, exitWrong, "", `the log has no thread "t 2"`)
	p.do(t, "", "export", "--records", "usage", "--by", "week").wants(t, exitUsage, "", `--by: "week" is not known`)
	p.do(t, "", "export", "--records", "summaries", "--by", "day").wants(t, exitUsage, "", "--by goes with --records usage")
	p.do(t, "", "export").wants(t, exitUsage, "", "give a thread, or --records")
	p.do(t, "", "export", "t 1", "--csv").wants(t, exitUsage, "", "go with --records")
}
