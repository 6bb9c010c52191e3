package operate

import (
	"context"
	"fmt"
	"time"

	"precis/cmd/processor/console"
	"precis/cmd/processor/remote"
)

// Doctor examines an installation from its client's side.
type Doctor struct {
	remote.Flags
	Config   string        `type:"existingfile" env:"PRECIS_CONFIG" placeholder:"FILE" help:"Configuration of the processor: check it, and compare it with the streams and with what is in force."`
	Data     string        `type:"path" placeholder:"DIR" help:"Data directory on this machine: check the disk that has it."`
	HTTP     string        `name:"http" placeholder:"URL" help:"HTTP address of the processor, such as http://127.0.0.1:8080: ask whether it is ready."`
	ReadOnly bool          `name:"read-only" help:"Publish nothing: skip the round trip."`
	Timeout  time.Duration `default:"10s" help:"How long to wait for each step (${default})."`
}

// Help shows the command used.
func (Doctor) Help() string {
	return `Checks, in this order: the settings, the connection, the server's version and limits, the streams, the rights of this user, the processor and its version, clocks, the disk, and a whole round trip. For each it prints ok, warning, wrong or skipped, and what to do.

The round trip publishes a message and a large tool output to a thread of its own, waits for the summary, asks for counters, prompt and original, edits the output and waits for the invalidation. It deletes its messages at the end. The log keeps all events, so the thread stays in it, with a stale summary; its name is printed. Where the policy that matches the agent "doctor" uses a model, the round trip costs a call or two.

The exit status is 0 if nothing is wrong, else that of the first thing that is: 1 wrong, 2 settings, 3 can't be reached.

Examples:

    processor doctor
    processor doctor --config precis.yaml --data /var/lib/precis --http http://127.0.0.1:8080
    processor doctor --nats nats://nats.internal:4222 --user agent --json`
}

// States of a finding.
const (
	isOK      = "ok"
	isWarning = "warning"
	isWrong   = "wrong"
	isSkipped = "skipped"
)

// finding is what a check came to.
type finding struct {
	Check  string `json:"check"`
	State  string `json:"state"`
	Detail string `json:"detail"`
	Action string `json:"action,omitempty"` // what to do; empty: nothing
}

// diagnosis is what --json prints.
type diagnosis struct {
	Healthy  bool      `json:"healthy"`
	ThreadID *string   `json:"thread_id"` // of the round trip; null: there was none
	Findings []finding `json:"findings"`
}

// examination collects findings.
type examination struct {
	app     *console.App
	flags   *Doctor
	result  diagnosis
	failure error // of the first check that failed: it decides on the exit status
}

// Run examines, and reports all of it at the end: what is wrong first may be the cause of the rest.
func (c *Doctor) Run(ctx context.Context, a *console.App) error {
	x := &examination{app: a, flags: c, result: diagnosis{Findings: []finding{}}}
	x.examine(ctx)
	x.result.Healthy = x.failure == nil
	if c.JSON {
		a.JSON(x.result)
	} else {
		x.print()
	}
	return x.verdict(ctx)
}

func (x *examination) ok(check, format string, args ...any) {
	x.add(finding{Check: check, State: isOK, Detail: fmt.Sprintf(format, args...)})
}

func (x *examination) warn(check, action, format string, args ...any) {
	x.add(finding{Check: check, State: isWarning, Detail: fmt.Sprintf(format, args...), Action: action})
}

func (x *examination) skip(check, format string, args ...any) {
	x.add(finding{Check: check, State: isSkipped, Detail: fmt.Sprintf(format, args...)})
}

// fail records what is wrong. The status of err is the command's if nothing failed before.
func (x *examination) fail(check, action string, err error) {
	x.add(finding{Check: check, State: isWrong, Detail: err.Error(), Action: action})
	if x.failure == nil {
		x.failure = err
	}
}

func (x *examination) add(f finding) {
	f.Detail, f.Action = console.Printable(f.Detail), console.Printable(f.Action)
	x.result.Findings = append(x.result.Findings, f)
}

func (x *examination) print() {
	out := x.app.Columns()
	for _, f := range x.result.Findings {
		fmt.Fprintf(out, "%s\t%s\t%s\n", f.State, f.Check, f.Detail)
		if f.Action != "" {
			fmt.Fprintf(out, "\t\t→ %s\n", f.Action)
		}
	}
	_ = out.Flush() // Results remember a failed write
}

// verdict is an error with the status of the first failure; the findings have been printed.
func (x *examination) verdict(ctx context.Context) error {
	if ctx.Err() != nil {
		return console.Unreachable("stopped")
	}
	count := map[string]int{}
	for _, f := range x.result.Findings {
		count[f.State]++
	}
	if x.failure == nil {
		if !x.flags.JSON {
			x.app.Printf("\nHealthy: %s.\n", console.List(console.Counted(count[isOK], "check")+" ok", console.Counted(count[isWarning], "warning"), console.Grouped(count[isSkipped])+" skipped"))
		}
		return nil
	}
	return &console.ExitError{Status: console.Status(x.failure), Err: fmt.Errorf("%s failed", console.Counted(count[isWrong], "check"))}
}
