// Command agent is an agent session that keeps its prompt small with precis: it publishes its events,
// blocks the user's input while a summary is in progress, and replaces large tool outputs by their
// summaries, until an edit makes one stale.
//
// Start "processor run" first, then: go run ./examples/agent
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"precis/events"
)

func main() {
	url := flag.String("nats", "nats://127.0.0.1:4222", "the NATS server")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *url, "example-"+events.NewMessageID(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "agent:", err)
		stop()
		os.Exit(1)
	}
}

// patience bounds every wait of the session.
const patience = 30 * time.Second

// run is one session.
func run(ctx context.Context, url, thread string, out io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	nc, err := events.Connect(url)
	if err != nil {
		return err
	}
	defer nc.Close()
	s, err := newSession(ctx, nc, thread, out)
	if err != nil {
		return err
	}
	return s.work(ctx)
}

// work is a typical sequence: a request, a call, its result, and later a correction.
func (s *session) work(ctx context.Context) error {
	output := testRun()
	call := events.ToolCall{ID: "call_1", Name: "bash", Arguments: jsontext.Value(`{"command":"go test ./..."}`)}
	result := &events.Message{
		ToolCallID: call.ID, ToolName: call.Name, Arguments: call.Arguments,
		Content: events.TextContent(output), CreatedAt: time.Now(),
	}
	if err := s.say(ctx, "user", "Which test fails, and why?"); err != nil {
		return err
	}
	if err := s.call(ctx, call); err != nil {
		return err
	}
	if _, err := s.publisher.ToolResult(ctx, s.thread, result); err != nil {
		return err
	}
	// The next model request must include what has been published: until then the user's input is blocked.
	if err := s.settled(ctx); err != nil {
		return err
	}
	summary, err := s.summaryOf(ctx, result.MessageID)
	if err != nil {
		return err
	}
	fmt.Fprintf(s.out, "The output has %d characters; into the prompt goes its summary:\n\n%s\n\n", len(output), summary.Content)
	return s.correct(ctx, result.MessageID, output)
}

// correct edits the tool output, which makes its summary stale.
func (s *session) correct(ctx context.Context, message, output string) error {
	edit := &events.Edit{MessageID: message, Content: events.TextContent(strings.ReplaceAll(output, "want 3, got 2", "want 4, got 2"))}
	if _, err := s.publisher.Edit(ctx, s.thread, edit); err != nil {
		return err
	}
	stale, err := s.invalidated(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(s.out, "The output was edited: %s is stale (%s).\n", stale.SummaryID, stale.Reason)
	again, err := s.summaryOf(ctx, message)
	if err != nil {
		return err
	}
	fmt.Fprintf(s.out, "Its successor, version %d, is %s.\n", again.Version, again.ID)
	return s.close(ctx)
}

// testRun returns the output of a test run that is too long for a prompt.
func testRun() string {
	var b strings.Builder
	for i := range 100 {
		fmt.Fprintf(&b, "ok  \texample.com/shop/package%02d\t0.%03ds\n", i, i)
	}
	b.WriteString("--- FAIL: TestCartTotal (0.00s)\n    cart_test.go:41: want 3, got 2\nFAIL\nFAIL\texample.com/shop/cart\t0.012s\n")
	return b.String()
}
