package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"

	"precis/internal/umask"
)

func main() {
	umask.Private()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// A second signal ends the program at once, should stopping in order hang.
	context.AfterFunc(ctx, stop)
	status := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}

// run is the whole program: it parses args, does what they ask for and returns the exit status.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := newApp(stdin, stdout, stderr)
	command, status, done := parse(a, args)
	if done {
		return status
	}
	return a.report(command.Run(ctx, a))
}
