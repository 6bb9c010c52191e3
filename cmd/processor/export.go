package main

import (
	"bufio"
	"context"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/nats-io/nats.go/jetstream"

	"precis/events"
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
