package main

import (
	"bufio"
	"context"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/nats-io/nats.go/jetstream"

	"precis/events"
	"precis/internal/audit"
	"precis/internal/broker"
)

// exportCmd writes a thread's events as an event file.
type exportCmd struct {
	serverFlags
	Thread string `arg:"" optional:"" help:"The thread's id."`
	exportRecords
}

// Help shows the command used.
func (exportCmd) Help() string {
	return `Writes every readable event of the thread in log order, duplicates and conflicts included: publishing the file into an empty server gives the same thread. Unreadable events were rejected when they came and were never part of the thread.

With --records it writes what precis recorded instead: summaries, invalidations or usage of one thread or of all, with agent and policy, as JSON lines or CSV. The log is replayed for that; the exit status is 1 if the replay contradicts the records. In CSV, a cell that a spreadsheet would take for a formula begins with '.

Examples:

    processor export demo-1 > demo-1.jsonl
    processor export --records summaries --csv > summaries.csv
    processor export --records usage --by day,agent,model --from 2026-11-01 --csv > november.csv`
}

// Run writes the file to standard output; an event file is JSON anyway.
func (c *exportCmd) Run(ctx context.Context, a *app) error {
	if c.Records != "" {
		return c.records(ctx, a)
	}
	if c.given() {
		return usage("--csv, --by, --from, --to, --agent, --model and --policy-name go with --records")
	}
	if c.Thread == "" {
		return usage("export: give a thread, or --records")
	}
	token, err := events.Token(c.Thread)
	if err != nil {
		return usage("thread: %w", err)
	}
	return c.withServer(ctx, a, func(ctx context.Context, s *server) error {
		log, err := s.read(ctx, broker.StreamEvents, []string{threadFilter(token)}, jetstream.DeliverAllPolicy)
		if err != nil {
			return err
		}
		defer log.close()
		return c.export(ctx, a, log)
	})
}

func (c *exportCmd) export(ctx context.Context, a *app, log *source) error {
	buffer := bufio.NewWriterSize(a.stdout, 1<<16)
	file := events.NewFileWriter(buffer)
	written, unreadable := 0, 0
	err := log.rest(ctx, func(e entry) error {
		data, err := exported(e)
		if err != nil {
			unreadable++
			a.note("processor: EVENTS %d left out: %v", e.seq, err)
			return nil
		}
		written++
		return file.Write(e.typ, e.thread, data)
	})
	if err != nil {
		return err
	}
	if err := buffer.Flush(); err != nil {
		return err
	}
	if written+unreadable == 0 {
		return wrong("no event of the thread %q is in the log", printable(c.Thread))
	}
	a.note("%s events, %s left out", grouped(written), grouped(unreadable))
	return nil
}

// exported is an event's data as a file holds it. A file has no envelope; where the envelope's id is what
// tells an edit from another, it becomes the edit's own.
func exported(e entry) ([]byte, error) {
	event, rejection := events.Decode(e.raw, events.Limits{})
	if rejection != nil {
		return nil, rejection
	}
	data := e.data()
	if event.Edit == nil || event.Edit.EditID != "" || event.CloudEventID == "" {
		return data, nil
	}
	return withEditID(data, event.CloudEventID)
}

func withEditID(data []byte, id string) ([]byte, error) {
	members := map[string]jsontext.Value{}
	if err := json.Unmarshal(data, &members); err != nil {
		return nil, fmt.Errorf("read edit: %w", err)
	}
	quoted, err := jsontext.AppendQuote(nil, id)
	if err != nil {
		return nil, fmt.Errorf("quote edit id: %w", err)
	}
	members["edit_id"] = quoted
	return json.Marshal(members, json.Deterministic(true))
}

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
