// Command processor is precis: it runs the stream processor, and holds the commands that publish to it,
// follow it and ask it.
//
// Every command is a file of its own: a struct whose fields are its flags, with a Run that does the work
// and a Help that shows it used. The commands are in packages by whom they serve (operate, feed, ask, history), above
// two that they share (console, remote). run ties them together and returns the exit status, so that tests call
// the whole program without starting it:
//
//	0  done
//	1  it found something wrong: a rejected line, an unknown thread, a damaged store
//	2  wrong usage or configuration
//	3  it can't reach what it needs
//
// Results go to standard output, everything else to standard error. What comes from events is cleaned of
// control characters before it reaches a terminal: a tool's output must not be able to move its cursor.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"

	"precis/cmd/processor/console"
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
	a := console.New(stdin, stdout, stderr)
	command, status, done := parse(a, args)
	if done {
		return status
	}
	return a.Report(command.Run(ctx, a))
}
