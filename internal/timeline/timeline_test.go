package timeline_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"precis/api"
	"precis/events"
	"precis/internal/audit"
	"precis/internal/timeline"
)

func TestNumbers(t *testing.T) {
	micro := int64(1_234_560_000)
	for got, want := range map[string]string{
		timeline.Number(0): "0", timeline.Number(999): "999", timeline.Number(-1234567): "−1,234,567", timeline.Number(uint64(1000)): "1,000",
		timeline.Dollars(0): "$0", timeline.Dollars(int64(12)): "$0.000012", timeline.Dollars(int64(500_000)): "$0.5000", timeline.Dollars(&micro): "$1,234.56", timeline.Dollars(int64(-2_500_000)): "−$2.50",
		timeline.Dollars(int64(-12)): "−$0.000012", timeline.Less(0, 5): "", timeline.Less(100, 25): "−75 %", timeline.Less(100, 150): "+50 %", timeline.Less(1000, 1001): "0 %", timeline.Less(100000, 1): "−100.00 %", timeline.Less(7, 0): "−100 %",
		timeline.Plural(1, "edit", "edits"): "1 edit", timeline.Plural(0, "edit", "edits"): "0 edits", timeline.Short("sum_0123456789abcdef"): "sum_01234567…",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// story has an entry of a message, a summary that stands on it, and a record that can't be read.
func story() *audit.Story {
	at := time.Date(2026, 11, 17, 9, 30, 0, 0, time.UTC)
	record := jsontext.Value(`{"id":"sum_1","kind":"tool_result","slot":"tool:r","version":2,"source_message_ids":["r"],"source_summary_ids":[],"content":"short","token_count_before":100,"token_count_after":10,"method":"rules","trigger":{"reason":"tool_output_chars","threshold":1500,"value":2000},"cost":{"amount_microusd":0}}`)
	return &audit.Story{Thread: "t", Log: audit.Extent{Whole: true}, Entries: []*audit.Entry{
		{EventSeq: 1, Time: at, Type: events.ToolResult, Outcome: "accepted", MessageID: "r", Tool: "bash", Text: "all of <it>"},
		{EventSeq: 1, Time: at, Type: events.SummaryCreated, Summary: "sum_1", Record: record},
		{EventSeq: 2, Time: at, Type: events.SummaryCreated, Summary: "sum_2", Record: jsontext.Value(`{"id":7}`)},
		{EventSeq: 3, Time: at, Type: events.MessageEdited, Outcome: "rejected", Code: "unknown_message", MessageID: "none", Deleted: true},
	}, Summaries: []*audit.Standing{{ID: "sum_1", Kind: "tool_result", Slot: "tool:r", Status: "active", EventSeq: 1, Record: record}}}
}

func TestView(t *testing.T) {
	v := timeline.New(story(), timeline.Options{Contents: true, Last: 3})
	if v.First != 1 || len(v.Rows) != 3 || v.Active != 1 || v.Cards[0].Sources != `[]` || v.Cards[0].Trigger != "tool_output_chars 2,000 > 1,500" {
		t.Errorf("%+v", v)
	}
	if v := timeline.New(story(), timeline.Options{Contents: true, Last: 10}); len(v.Rows[0].Chips) != 1 || v.Rows[0].Chips[0].Label != "summary v2" || v.Cards[0].Sources != `["r"]` || !strings.Contains(v.Rows[1].Lines, "100 → 10 tokens (−90 %)") ||
		!strings.Contains(v.Rows[2].Lines, "can't be read") || v.Rows[3].Result != "rejected: unknown_message" {
		t.Errorf("%+v", v.Rows)
	}
	if v := timeline.New(story(), timeline.Options{Last: 10, Find: "all of"}); v.Matches != 0 {
		t.Error("a search finds what is not shown")
	}
	if v := timeline.New(story(), timeline.Options{Last: 10}); v.Rows[0].Lines != "" || v.Cards[0].Record.Content != "" {
		t.Error("contents are there without Contents")
	}
}

// A page of a story is bounded by what its entries say, and has the summaries that belong to them before others.
func TestViewIsBounded(t *testing.T) {
	s := &audit.Story{}
	for i := range 300 {
		id := fmt.Sprint("r", i)
		record := jsontext.Value(fmt.Sprintf(`{"id":"sum_%s","kind":"tool_result","slot":"tool:%[1]s","source_message_ids":[%[1]q],"content":"short"}`, id))
		s.Entries = append(s.Entries, &audit.Entry{Type: events.ToolResult, Outcome: "accepted", MessageID: id, Text: strings.Repeat("x", 10_000)})
		s.Summaries = append(s.Summaries, &audit.Standing{ID: "sum_" + id, Kind: "tool_result", Slot: "tool:" + id, Status: "active", Record: record})
	}
	v := timeline.New(s, timeline.Options{Contents: true, Last: 200, Before: 100, Summary: "sum_r150"})
	if len(v.Rows) != 30 || v.First != 70 || v.Rows[29].MessageID != "r99" {
		t.Errorf("%d rows behind %d", len(v.Rows), v.First)
	}
	var cards []string
	for _, c := range v.Cards {
		cards = append(cards, c.ID)
	}
	if len(cards) != 100 || v.More != 200 || cards[0] != "sum_r299" || !slices.Contains(cards, "sum_r150") || !slices.Contains(cards, "sum_r70") || !slices.Contains(cards, "sum_r99") {
		t.Errorf("%d more than %v", v.More, cards)
	}
	if v := timeline.New(s, timeline.Options{Contents: true, Whole: true}); len(v.Rows) != 300 || len(v.Cards) != 300 || v.More != 0 || v.First != 0 {
		t.Errorf("%d rows, %d cards", len(v.Rows), len(v.Cards))
	}
	if v := timeline.New(s, timeline.Options{Contents: true, Last: 10, Find: "R29"}); v.Matches != 11 || v.First != 1 || v.Rows[9].MessageID != "r299" {
		t.Errorf("%d entries match", v.Matches)
	}
}

func TestPageWithAPrompt(t *testing.T) {
	s := story()
	s.Context = api.ContextReply{System: jsontext.Value(`[{"type":"text","text":"be <brief>"}]`), Messages: jsontext.Value(`[{"role":"user","content":"hi"},{"role":"assistant","content":null,"tool_calls":[{"name":"bash"}]}]`)}
	var b bytes.Buffer
	if err := timeline.WritePage(&b, s); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"The context at event", "be &lt;brief&gt;", ">hi<", "tool_calls", "all of &lt;it&gt;"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %s", want)
		}
	}
}
