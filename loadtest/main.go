package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// Exit statuses, the same as those of the processor's commands.
const (
	exitWrong       = 1 // the run found errors
	exitUsage       = 2
	exitUnreachable = 3 // no server, or no processor on it
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(status) //nolint:forbidigo // this is main
}

// run is the whole program: the report goes to stdout, everything else to stderr.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if len(args) > 0 && args[0] == "cluster" {
		return runCluster(ctx, args[1:], stdout, stderr)
	}
	if len(args) > 0 && args[0] == yardstickChild {
		return runYardstick(args[1:], os.Stdin, stdout, stderr)
	}
	opts, err := parse(args, stderr)
	if errors.Is(err, errHelp) {
		return 0
	}
	if err != nil {
		fmt.Fprintf(stderr, "loadtest: %v\n", err)
		return exitUsage
	}
	report, err := measure(ctx, opts, stderr)
	if err != nil {
		fmt.Fprintf(stderr, "loadtest: %v\n", err)
		return exitUnreachable
	}
	if err := report.write(stdout, opts.JSON); err != nil {
		fmt.Fprintf(stderr, "loadtest: %v\n", err)
		return exitUnreachable
	}
	if len(report.Problems) > 0 {
		return exitWrong
	}
	return 0
}
