package main

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/alecthomas/kong"
)

// options determine every byte that is published.
type options struct {
	NATS        string        `name:"nats" placeholder:"URL" help:"The server that the processor works on. Without it, a fresh processor is built and started for the run, and stopped behind it."`
	Agents      int           `default:"200" help:"Agents that publish at once (${default})."`
	Threads     int           `default:"0" help:"Threads, spread over the agents; two for each agent where 0."`
	Events      int           `default:"100000" help:"Events to publish, duplicates and edits among them (${default})."`
	Rate        int           `default:"0" help:"Events a second over all agents; as fast as acks allow where 0. For latencies, choose half of what the processor can do."`
	Window      int           `default:"16" help:"Unacknowledged events an agent may have (${default})."`
	Connections int           `default:"50" help:"Connections the agents share (${default})."`
	Seed        uint64        `default:"1" help:"Of everything random (${default})."`
	Run         string        `placeholder:"NAME" help:"Part of every thread's id; a fresh one where empty. The same name and options again publish the same events, which must change nothing."`
	Timeout     time.Duration `default:"60s" help:"How long to wait with nothing coming any more (${default})."`
	JSON        bool          `name:"json" help:"Print the report as JSON."`

	named  bool            // Run is set: its events may have been published before
	begun  chan<- struct{} // closed once records are followed; nil: nothing waits for that
	faults <-chan struct{} // closed when nothing disturbs the processors any more; nil: nothing does
}

// errHelp ends a run that only requested help.
var errHelp = errors.New("help")

func parse(args []string, out io.Writer) (opts options, err error) {
	helped := false
	parser, err := kong.New(&opts, kong.Name("loadtest"),
		kong.Description("Publishes as many agents at once and validates what the processor makes of it. With \"cluster\" as the first argument it starts servers and processors, and kills some: loadtest cluster --help. Exit status: 0 all as expected, 1 something is wrong, 2 wrong usage, 3 a server or processor is out of reach."),
		kong.Writers(out, out), kong.Exit(func(int) { helped = true }))
	if err != nil {
		return opts, fmt.Errorf("describe the options: %w", err)
	}
	if _, err = parser.Parse(args); helped {
		return opts, errHelp
	}
	if err != nil {
		return opts, err
	}
	return opts.withDefaults().validated()
}

func (o options) withDefaults() options {
	if o.Threads == 0 {
		o.Threads = 2 * o.Agents
	}
	o.Connections = min(o.Connections, o.Agents)
	o.named = o.Run != ""
	if !o.named {
		o.Run = strconv.FormatInt(time.Now().UnixMilli(), 36)
	}
	return o
}

func (o options) validated() (options, error) {
	for _, v := range []struct {
		flag       string
		value, min int
	}{
		{"--agents", o.Agents, 1}, {"--threads", o.Threads, o.Agents}, {"--events", o.Events, 1},
		{"--rate", o.Rate, 0}, {"--window", o.Window, 1}, {"--connections", o.Connections, 1},
	} {
		if v.value < v.min {
			return o, fmt.Errorf("%s is %d, must be at least %d", v.flag, v.value, v.min)
		}
	}
	if o.Timeout <= 0 {
		return o, fmt.Errorf("--timeout is %s, must be more than 0", o.Timeout)
	}
	return o, nil
}
