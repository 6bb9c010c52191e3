package main

import (
	"bufio"
	"context"
	"fmt"

	"precis/events"
	"precis/internal/audit"
)

// exportRecords are the flags of an export for auditors.
type exportRecords struct {
	Records string `enum:",summaries,invalidations,usage" default:"" placeholder:"WHAT" help:"Write summaries, invalidations or usage instead of events."`
	CSV     bool   `name:"csv" help:"With --records: CSV instead of JSON lines."`
	By      string `placeholder:"KEYS" help:"With --records usage: group by day or hour, agent, model, provider, policy, thread, outcome."`
	From    string `placeholder:"TIME" help:"With --records: from this time."`
	To      string `placeholder:"TIME" help:"With --records: up to this time."`
	Agent   string `placeholder:"ID" help:"With --records: threads that this agent started."`
	Model   string `placeholder:"NAME" help:"With --records: made by this model."`
	Only    string `name:"policy-name" placeholder:"NAME" help:"With --records: decided under this policy."`
}

func (f exportRecords) given() bool {
	return f.CSV || f.By != "" || f.From != "" || f.To != "" || f.Agent != "" || f.Model != "" || f.Only != ""
}

// exportTypes are the records of each export.
var exportTypes = map[string]events.Type{
	"summaries": events.SummaryCreated, "invalidations": events.SummaryInvalidated, "usage": events.UsageRecorded,
}

// records replays the log and writes the records that the flags take.
func (c *exportCmd) records(ctx context.Context, a *app) error {
	filter := audit.Filter{Thread: c.Thread, Agent: c.Agent, Policy: c.Only}
	var err error
	if filter.From, filter.To, err = spanFlags(c.From, c.To); err != nil {
		return err
	}
	if c.CSV && c.JSON {
		return usage("give --csv or --json, not both")
	}
	if c.Model != "" && c.Records == "invalidations" {
		return usage("--model goes with summaries and usage: an invalidation names no model")
	}
	out := bufio.NewWriterSize(a.stdout, 1<<16)
	rows, err := c.writer(out)
	if err != nil {
		return err
	}
	return logFlags{serverFlags: c.serverFlags}.withLog(ctx, a, func(ctx context.Context, l *logAtHand) error {
		rep, err := c.pass(ctx, a, l, filter, rows)
		if err == nil {
			err = out.Flush()
		}
		if err != nil {
			return err
		}
		switch {
		case !rep.Clean():
			return wrong("%s: the log contradicts the records; see processor replay", counted(len(rep.Findings), "discrepancy"))
		case filter.Named() && !rep.Known:
			return wrong("the log has no %s", asked(filter))
		}
		return nil
	})
}

// pass goes through the records once.
func (c *exportCmd) pass(ctx context.Context, a *app, l *logAtHand, filter audit.Filter, rows rowWriter) (*audit.Report, error) {
	bar := newLogProgress(a, "folding the log")
	defer bar.done()
	o := l.options(bar)
	o.Filter = filter
	count := 0
	rep, err := audit.Export(ctx, o, []events.Type{exportTypes[c.Records]}, func(r audit.Row) error {
		if c.Model != "" && c.Model != modelOf(r.Record) {
			return nil
		}
		count++
		return rows.row(r)
	})
	bar.clear()
	if err == nil {
		err = rows.end()
	}
	if err != nil {
		return nil, fmt.Errorf("export: %w", err)
	}
	a.note("%s", counted(count, oneOf[c.Records]))
	return rep, nil
}

// modelOf is the model that a record is about; empty where none is.
func modelOf(rec events.Record) string {
	switch rec := rec.(type) {
	case *events.Summary:
		if rec.Model != nil {
			return *rec.Model
		}
	case *events.UsageRecord:
		return rec.Model
	}
	return ""
}

// oneOf is what a single record of a kind is called.
var oneOf = map[string]string{"summaries": "summary", "invalidations": "invalidation", "usage": "usage record"}
