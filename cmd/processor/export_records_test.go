package main

import (
	"bytes"
	"encoding/csv"
	"strings"
	"testing"
	"time"

	"precis/events"
	"precis/internal/audit"
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

func TestUsageAddsUp(t *testing.T) {
	var out bytes.Buffer
	rows, err := exportRecords{Records: "usage", CSV: true, By: "day,agent"}.writer(&out)
	if err != nil {
		t.Fatal(err)
	}
	cost := int64(7)
	day := time.Date(2026, 11, 17, 23, 0, 0, 0, time.UTC)
	for i, u := range []*events.UsageRecord{
		{Usage: events.Usage{InputTokens: 10, OutputTokens: 1}, Cost: events.Cost{AmountMicroUSD: &cost}},
		{Usage: events.Usage{InputTokens: 20, OutputTokens: 2}, Cost: events.Cost{AmountMicroUSD: &cost}},
		{Usage: events.Usage{InputTokens: 40, OutputTokens: 4}},
	} {
		at := day.Add(time.Duration(i) * 50 * time.Minute)
		if err := rows.row(audit.Row{Time: at, Agent: "=a", Record: u}); err != nil {
			t.Fatal(err)
		}
	}
	if err := rows.end(); err != nil {
		t.Fatal(err)
	}
	want := "day,agent,calls,input_tokens,output_tokens,cached_input_tokens,cost_microusd,calls_of_unknown_cost\n" +
		"2026-11-17,'=a,2,30,3,0,14,0\n2026-11-18,'=a,1,40,4,0,0,1\n"
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

func TestCSVCells(t *testing.T) {
	for text, want := range map[string]string{"": "", "plain": "plain", "-12": "-12", "=1+1": "'=1+1", "@x": "'@x", "-x": "'-x", "+x": "'+x", "\n=1": "'\n=1", "+5": "+5", " =1": "' =1", "\u200b=1": "'\u200b=1", "\uff1d1": "'\uff1d1", "a\r\nb": "a\nb", " ": " ", `-1+cmd|" /C calc"!A0`: `'-1+cmd|" /C calc"!A0`} {
		if got := csvCell(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}
