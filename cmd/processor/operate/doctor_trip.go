package operate

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"precis/api"
	"precis/cmd/processor/console"
	"precis/cmd/processor/remote"
	"precis/events"
	"precis/internal/broker"
)

// doctorAgent is the agent_id of the round trip, by which a policy can match it.
const doctorAgent = "doctor"

// farClock is how much a clock may differ before it is worth a warning: ages, idle times and budgets by day depend on it.
const farClock = 2 * time.Second

// trip is a thread of its own that goes the whole path.
type trip struct {
	x      *examination
	s      *remote.Server
	thread string
	// summarized: the thread had a summary.
	summarized bool
	out        *events.Publisher
	client     *api.Client
	in         jetstream.MessagesContext
}

// roundTrip takes the whole path of an agent, step by step, and ends at the first one that fails.
func (x *examination) roundTrip(ctx context.Context, s *remote.Server) {
	t := &trip{x: x, s: s, thread: "doctor-" + nuid.Next()}
	if err := t.open(ctx); err != nil {
		x.fail("round trip", "", remote.Explain("begin the round trip", err))
		return
	}
	defer t.close(ctx)
	begun := time.Now()
	seq, err := t.publish(ctx, "")
	if errors.Is(err, nats.ErrPermissionViolation) {
		x.skip("round trip", "this user may not publish events")
		return
	}
	if err != nil {
		x.fail("publish", "", remote.Explain("publish an event", err))
		return
	}
	x.result.ThreadID = &t.thread
	x.ok("publish", "thread %s, stored as EVENTS %d in %s", t.thread, seq, since(begun))
	if t.answers(ctx, seq) && t.summarizes(ctx, begun) {
		t.invalidates(ctx)
	}
	t.leave(ctx)
}

func since(begun time.Time) string { return time.Since(begun).Round(100 * time.Microsecond).String() }

// open begins to follow the thread's records before there are any.
func (t *trip) open(ctx context.Context) (err error) {
	if t.client, err = api.NewClient(t.s.Conn, api.ClientOptions{Timeout: t.x.flags.Timeout}); err != nil {
		return err
	}
	if t.out, err = events.NewPublisher(t.s.Conn, events.PublisherOptions{}); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, t.x.flags.Timeout)
	defer cancel()
	err = t.s.Refusable(ctx, func(ctx context.Context) error {
		consumer, err := t.s.JS.OrderedConsumer(ctx, broker.StreamSummaries, jetstream.OrderedConsumerConfig{
			FilterSubjects: []string{"*.*." + t.thread}, DeliverPolicy: jetstream.DeliverNewPolicy,
		})
		if err == nil {
			t.in, err = consumer.Messages()
		}
		return err
	})
	if err != nil {
		_ = t.out.Close(context.WithoutCancel(ctx)) // nothing was published
	}
	return err
}

func (t *trip) close(ctx context.Context) {
	t.in.Stop()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), t.x.flags.Timeout)
	defer cancel()
	_ = t.out.Close(ctx) // its last events were waited for
}

// large is a tool output over the threshold of any policy that has not raised it a lot.
func large(first string) string {
	return first + "\n" + strings.Repeat("--- FAIL: TestRoundTrip (0.01s)\n    trip_test.go:42: got 41, want 42\n", 100)
}

// publish sends a message and a tool output; with an edit, the output's new text.
func (t *trip) publish(ctx context.Context, edit string) (seq uint64, err error) {
	ctx, cancel := context.WithTimeout(ctx, t.x.flags.Timeout)
	defer cancel()
	err = t.s.Refusable(ctx, func(ctx context.Context) error {
		send := func() (*events.Receipt, error) {
			return t.out.Edit(ctx, t.thread, &events.Edit{MessageID: "output", Content: events.TextContent(large(edit)), AgentID: doctorAgent})
		}
		if edit == "" {
			if _, err := t.out.Message(ctx, t.thread, &events.Message{
				MessageID: "question", Role: events.RoleUser, AgentID: doctorAgent, Content: events.TextContent("Which test fails?"),
			}); err != nil {
				return err
			}
			send = func() (*events.Receipt, error) {
				return t.out.ToolResult(ctx, t.thread, &events.Message{
					MessageID: "output", ToolName: "bash", AgentID: doctorAgent, Content: events.TextContent(large("go test ./...")),
				})
			}
		}
		receipt, err := send()
		if err != nil {
			return err
		}
		seq, err = receipt.Wait(ctx)
		return err
	})
	return seq, err
}

// answers asks for counters, the prompt and an original, as they stand behind the published events.
func (t *trip) answers(ctx context.Context, seq uint64) bool {
	begun := time.Now()
	counters, err := t.client.Thread(ctx, t.thread, api.ThreadRequest{MinEventSeq: seq})
	if err != nil {
		t.x.fail("service", `start a processor with "processor run"; if it runs, its log and /readyz say what it waits for`, console.Unreachable("%w", err))
		return false
	}
	if counters.Messages != 1 || counters.ToolResults != 1 {
		t.x.fail("service", `run "processor check" and "processor replay"`, console.Wrong("the thread has %s and %s, not one each", console.Counted(counters.Messages, "message"), console.Counted(counters.ToolResults, "tool result")))
		return false
	}
	prompt, err := t.client.Context(ctx, t.thread, api.ContextRequest{Format: "messages", MinEventSeq: seq})
	if err == nil {
		_, err = t.client.Message(ctx, t.thread, api.MessageRequest{MessageID: "output"})
	}
	if err != nil {
		t.x.fail("service", "the log of the processor has the cause", console.Unreachable("%w", err))
		return false
	}
	t.x.ok("service", "counters, a prompt of %s and an original in %s", console.Counted(prompt.TokenCount, "token"), since(begun))
	return true
}

// summarizes waits for the summary of the tool output, and compares clocks by the time at which the server stored it.
func (t *trip) summarizes(ctx context.Context, begun time.Time) bool {
	for {
		e, err := t.next(ctx)
		switch {
		case errors.Is(err, context.DeadlineExceeded):
			t.x.warn("summary", `check tool_output and enabled of the policy that matches agent "doctor": "processor config" shows them`, "no summary of a tool output of %s characters in %s", console.Grouped(len(large("go test ./..."))), t.x.flags.Timeout)
			return false
		case err != nil:
			t.x.fail("summary", "", remote.Explain("read SUMMARIES", err))
			return false
		}
		switch record := e.record.(type) {
		case *events.Summary:
			t.x.ok("summary", "%s, by %s, %s after the publish", console.Change(record.TokenCountBefore, record.TokenCountAfter, "tokens"), record.Method, since(begun))
			t.clocks(begun, e.stored)
			t.summarized = true
			return true
		case *events.Failed:
			t.x.fail("summary", "check the provider that the policy names", console.Wrong("%s: %s", record.Code, record.Message))
			return false
		}
	}
}

// clocks holds the server's time against ours before and after.
func (t *trip) clocks(begun, stored time.Time) {
	var off time.Duration
	if now := time.Now(); stored.Before(begun) {
		off = begun.Sub(stored)
	} else if stored.After(now) {
		off = stored.Sub(now)
	}
	if off > farClock {
		t.x.warn("clocks", "synchronize the clocks of both machines (NTP)", "the server's clock and this one differ by %s or more", off.Round(time.Millisecond))
		return
	}
	t.x.ok("clocks", "the server's clock agrees with this one")
}

// invalidates edits the output and waits until its summary is declared stale.
func (t *trip) invalidates(ctx context.Context) {
	begun := time.Now()
	if _, err := t.publish(ctx, "go test ./internal/..."); err != nil {
		t.x.fail("edit", "", remote.Explain("publish an edit", err))
		return
	}
	for {
		e, err := t.next(ctx)
		if err != nil {
			t.x.fail("edit", `run "processor replay": a summary of an edited source must be invalidated`, console.Wrong("no summary.invalidated: %w", err))
			return
		}
		if record, is := e.record.(*events.Invalidated); is {
			t.x.ok("edit", "the summary was invalidated (%s) %s after the edit", record.Reason, since(begun))
			return
		}
	}
}

// leave deletes the messages. The log keeps the events: taking them out would be a gap that every audit reports.
func (t *trip) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), t.x.flags.Timeout)
	defer cancel()
	err := t.s.Refusable(ctx, func(ctx context.Context) error {
		var last *events.Receipt
		for _, id := range []string{"output", "question"} {
			receipt, err := t.out.Edit(ctx, t.thread, &events.Edit{MessageID: id, Deleted: true, AgentID: doctorAgent})
			if err != nil {
				return err
			}
			last = receipt
		}
		_, err := last.Wait(ctx)
		return err
	})
	if err != nil {
		t.x.warn("clean-up", "delete the messages output and question of the thread", "the messages of thread %s stay: %v", t.thread, err)
		return
	}
	stays := "its events stay in the log"
	if t.summarized { // nothing replaces a summary whose output is deleted
		stays += ", and a stale summary in its counters"
	}
	t.x.ok("clean-up", "the messages of thread %s are deleted; %s", t.thread, stays)
}

// told is a record of the thread with the time at which the server stored it.
type told struct {
	record events.Record
	stored time.Time
}

// next waits for the thread's next record.
func (t *trip) next(ctx context.Context) (told, error) {
	ctx, cancel := context.WithTimeout(ctx, t.x.flags.Timeout)
	defer cancel()
	msg, err := t.in.Next(jetstream.NextContext(ctx))
	if err != nil {
		return told{}, err
	}
	meta, err := msg.Metadata()
	if err != nil {
		return told{}, err
	}
	typ, _, _ := events.ParseSubject(msg.Subject())
	record, err := events.Delivery{Type: typ, Data: msg.Data()}.Record()
	if err != nil {
		return told{}, fmt.Errorf("read record: %w", err)
	}
	return told{record: record, stored: meta.Timestamp}, nil
}
