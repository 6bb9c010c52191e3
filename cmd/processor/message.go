package main

import (
	"context"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
)

// messageCmd shows what a message said before anybody summarized it.
type messageCmd struct {
	serverFlags
	Thread      string `arg:"" help:"The thread's id."`
	Message     string `arg:"" help:"The message's id."`
	Revision    *int   `placeholder:"N" help:"Text after N edits; 0 is the original. Default: the current one."`
	Lines       string `placeholder:"A-B" help:"Only lines A to B, counted from 1."`
	MinEventSeq uint64 `name:"min-event-seq" placeholder:"SEQ" help:"Wait until the event with this sequence (of a publish ack) is applied."`
}

// Help shows the command used.
func (messageCmd) Help() string {
	return `Prints the original text. Omission marks in summaries name the message to ask for.

Example:

    processor message demo-1 m17 --lines 40-80`
}

// messageRequest is what precis.message.get is asked.
type messageRequest struct {
	MessageID   string  `json:"message_id"`
	Revision    *int    `json:"revision,omitempty"`
	Lines       *[2]int `json:"lines,omitempty"`
	MinEventSeq uint64  `json:"min_event_seq,omitzero"`
}

// messageReply is what it answers.
type messageReply struct {
	Content    string `json:"content"`
	Deleted    bool   `json:"deleted"`
	LinesTotal int    `json:"lines_total"`
}

// Run prints the text alone, so that it can be piped on.
func (c *messageCmd) Run(ctx context.Context, a *app) error {
	request := messageRequest{MessageID: c.Message, Revision: c.Revision, MinEventSeq: c.MinEventSeq}
	if c.Lines != "" {
		lines, err := lineRange(c.Lines)
		if err != nil {
			return err
		}
		request.Lines = &lines
	}
	return c.withServer(ctx, a, func(ctx context.Context, s *server) error {
		reply, err := s.ask(ctx, messageEndpoint, c.Thread, request)
		if err != nil {
			return err
		}
		return c.print(a, reply, request.Lines)
	})
}

// print shows the text, or the answer; what is not there is something wrong, in either form.
func (c *messageCmd) print(a *app, reply []byte, lines *[2]int) error {
	var m messageReply
	if err := json.Unmarshal(reply, &m); err != nil {
		return unreachable("read the answer: %w", err)
	}
	if c.JSON {
		a.printf("%s\n", reply)
	}
	if m.Deleted {
		return wrong("the message %q is deleted; --revision N shows what it said", printable(c.Message))
	}
	if lines != nil && m.LinesTotal > 0 && lines[0] > m.LinesTotal {
		return wrong("the message %q ends with line %d", printable(c.Message), m.LinesTotal)
	}
	if !c.JSON {
		m.print(a)
	}
	return nil
}

func (m messageReply) print(a *app) {
	text := m.Content
	if isTerminal(a.stdout.Writer) {
		text = printableLines(text)
	} else {
		a.stdout.raw = true // a file gets what the agent published, byte for byte
	}
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	a.printf("%s", text)
}

// lineRange reads "A-B", or "A" for one line.
func lineRange(text string) ([2]int, error) {
	first, last, ok := strings.Cut(text, "-")
	if !ok {
		last = first
	}
	from, err := strconv.Atoi(first)
	if err != nil || from < 1 {
		return [2]int{}, usage("--lines %q: want A-B, counted from 1, such as 40-80", text)
	}
	to, err := strconv.Atoi(last)
	if err != nil || to < from {
		return [2]int{}, usage("--lines %q: want A-B, counted from 1, such as 40-80", text)
	}
	return [2]int{from, to}, nil
}
