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

// Exit statuses, as the processor's commands have them.
const (
	exitWrong       = 1 // it ran, and found something wrong
	exitUsage       = 2
	exitUnreachable = 3 // no server, or no processor beside it
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(status) //nolint:forbidigo // this is main
}

// run is the whole program: the report goes to stdout, all else to stderr.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
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
