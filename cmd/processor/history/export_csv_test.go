package history

import (
	"bytes"
	"testing"
	"time"

	"precis/events"
	"precis/internal/audit"
)

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
