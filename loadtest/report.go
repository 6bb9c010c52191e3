package main

import (
	"fmt"
	"io"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// report is the result of a run.
type report struct {
	Run     string `json:"run"`
	Agents  int    `json:"agents"`
	Threads int    `json:"threads"`

	Events         int64   `json:"events"` // published, including duplicates
	Bytes          int64   `json:"bytes"`
	Retried        int64   `json:"retried"`
	PublishSeconds float64 `json:"publish_seconds"`
	EventsPerSec   float64 `json:"events_per_second"`
	SettledSeconds float64 `json:"settled_seconds"` // from the first publish until all records had arrived
	SettledPerSec  float64 `json:"settled_events_per_second"`
	// BacklogPerSec is how fast what publishing left was worked off, until nine tenths of all summaries were there: without the publishers' part of the machine,
	// and without the end, when some processors have nothing left. 0: publishing left three tenths or less.
	BacklogPerSec float64 `json:"backlog_events_per_second,omitzero"`

	Want        totals  `json:"want"`
	Others      int     `json:"other_records"` // compactions and histories, created or invalidated
	Created     latency `json:"created"`
	Invalidated latency `json:"invalidated"`

	Twice        int      `json:"twice"`
	Missing      int      `json:"missing"`
	Rejected     int      `json:"rejected"`
	WrongThreads int      `json:"wrong_threads"`
	WrongPrompts int      `json:"wrong_prompts"`
	Lost         int      `json:"lost"` // acknowledged, and not in EVENTS
	Problems     []string `json:"problems"`
}

// newReport takes the durations of publishing and of settling, both since the first publish.
func newReport(o options, c *published, publishing, settling time.Duration) *report {
	r := &report{
		Run: o.Run, Agents: o.Agents, Threads: o.Threads,
		Events: c.acked.Load(), Bytes: c.bytes.Load(), Retried: c.retried.Load(),
		PublishSeconds: publishing.Seconds(), SettledSeconds: settling.Seconds(),
	}
	r.EventsPerSec = float64(r.Events) / publishing.Seconds()
	r.SettledPerSec = float64(r.Events) / settling.Seconds()
	return r
}

// shown is the number of problems in the text report; the JSON report has all.
const shown = 20

func (r *report) write(w io.Writer, asJSON bool) error {
	if asJSON {
		if err := json.MarshalWrite(w, r, jsontext.WithIndent("  ")); err != nil {
			return fmt.Errorf("write report: %w", err)
		}
		_, err := fmt.Fprintln(w)
		return err
	}
	fmt.Fprintf(w, "run %s: %d agents, %d threads\n", r.Run, r.Agents, r.Threads)
	fmt.Fprintf(w, "published     %d events, %.1f MB, in %.1f s: %.0f events/s (%d retried)\n",
		r.Events, float64(r.Bytes)/1e6, r.PublishSeconds, r.EventsPerSec, r.Retried)
	fmt.Fprintf(w, "all summed up after %.1f s: %.0f events/s\n", r.SettledSeconds, r.SettledPerSec)
	if r.BacklogPerSec > 0 {
		fmt.Fprintf(w, "worked off    %.0f events/s behind publishing, until 9/10 of the summaries were there\n", r.BacklogPerSec)
	}
	fmt.Fprintf(w, "accepted      %d messages, %d tool results, %d edits; the rest are duplicates\n",
		r.Want.Messages, r.Want.ToolResults, r.Want.Edits)
	fmt.Fprintf(w, "created       %s, of %d wanted\n", r.Created, r.Want.Summaries)
	fmt.Fprintf(w, "invalidated   %s, of %d wanted\n", r.Invalidated, r.Want.Invalidations)
	fmt.Fprintf(w, "other records %d\n", r.Others)
	for i, p := range r.Problems {
		if i == shown {
			fmt.Fprintf(w, "  … and %d more (--json has all)\n", len(r.Problems)-shown)
			break
		}
		fmt.Fprintf(w, "  %s\n", p)
	}
	verdict := "as it must be: every counter, every summary once, every message in one place of each prompt, nothing rejected, every acknowledged event in the log"
	if len(r.Problems) > 0 {
		verdict = fmt.Sprintf("WRONG: %d problems (%d acknowledged events that the servers lost, %d missing, %d twice, %d rejected, %d threads with other counters, %d prompts with messages astray)",
			len(r.Problems), r.Lost, r.Missing, r.Twice, r.Rejected, r.WrongThreads, r.WrongPrompts)
	}
	_, err := fmt.Fprintln(w, verdict)
	return err
}

func (l latency) String() string {
	return fmt.Sprintf("%d, p50 %.1f ms, p90 %.1f ms, p99 %.1f ms, max %.1f ms", l.N, l.P50, l.P90, l.P99, l.Max)
}
