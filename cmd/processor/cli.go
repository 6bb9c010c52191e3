package main

import (
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"

	"github.com/alecthomas/kong"
)

// cli is the command line. run is what happens without a command.
type cli struct {
	Version kong.VersionFlag `help:"Print the version."`

	Run  runCmd  `cmd:"" default:"withargs" help:"Run the processor (the default command)."`
	Demo demoCmd `cmd:"" help:"Run the whole path on samples and explain each step."`

	Publish publishCmd `cmd:"" help:"Publish event files."`
	Tail    tailCmd    `cmd:"" help:"Follow events, summaries and rejections."`
	Export  exportCmd  `cmd:"" help:"Write a thread's events as an event file."`

	Thread    threadCmd    `cmd:"" help:"Show a thread's counters."`
	Context   contextCmd   `cmd:"" help:"Show the prompt that an agent would get."`
	Message   messageCmd   `cmd:"" help:"Show a message's original text."`
	Summary   summaryCmd   `cmd:"" help:"Show a summary and its sources."`
	Summarize summarizeCmd `cmd:"" help:"Summarize a thread now."`
	Rejected  rejectedCmd  `cmd:"" help:"List rejected events, or publish one again."`
	Check     checkCmd     `cmd:"" help:"Check a store at rest and compare it with the log."`

	Audit  auditCmd  `cmd:"" help:"Show a thread's history: what was summarized, from what, how and at what cost."`
	Replay replayCmd `cmd:"" help:"Fold the log again and verify every decision."`

	Recover recoverCmd `cmd:"" help:"Report applied events that EVENTS has lost, and continue without them."`
	Streams streamsCmd `cmd:"" help:"Compare the streams with the configuration, or change them."`

	Config   configCmd  `cmd:"" help:"Print the configuration in force and the origin of each value."`
	Versions versionCmd `cmd:"" name:"version" help:"Print the versions of the program, its rules and its data."`
}

const description = `precis summarizes what AI agents read: events go in over NATS, summaries come out, and the log proves both.

Exit status: 0 done, 1 found something wrong, 2 wrong usage or configuration, 3 can't reach what it needs.`

// helpWidth keeps help the same on every terminal.
const helpWidth = 100

// parse finds the command. done is true where there is none to run: after help, or a mistake.
func parse(a *app, args []string) (command runner, status int, done bool) {
	var c cli
	defer func() {
		// Kong ends the program after help and version: here it ends the parse.
		if r := recover(); r != nil {
			code, ok := r.(exitCode)
			if !ok {
				panic(r)
			}
			command, status, done = nil, int(code), true
		}
	}()
	parser, err := kong.New(&c, kong.Name("processor"), kong.Description(description),
		kong.Writers(a.stdout, a.stderr), kong.Exit(func(code int) { panic(exitCode(code)) }),
		kong.Vars{"version": version()},
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: helpWidth}))
	if err != nil {
		panic(fmt.Sprintf("the command line is broken: %v", err))
	}
	parsed, err := parser.Parse(args)
	var parseErr *kong.ParseError
	switch {
	case errors.As(err, &parseErr):
		parsed = parseErr.Context
	case err == nil:
		err = emptyFlag(parsed)
	}
	if err != nil {
		return nil, a.usageError(args, parsed, err), true
	}
	return parsed.Selected().Target.Addr().Interface().(runner), 0, false
}

// emptyFlag finds a flag that is given and says nothing, as a script's unset variable does: what it was to narrow would
// not be narrowed. Where empty means something, the flag is a pointer; who asks which server may be nobody.
func emptyFlag(parsed *kong.Context) error {
	for _, part := range parsed.Path {
		f := part.Flag
		if f == nil || f.Group != nil {
			continue
		}
		if kind := f.Target.Kind(); (kind == reflect.String || kind == reflect.Slice) && f.Target.Len() == 0 {
			return fmt.Errorf("--%s is empty", f.Name)
		}
	}
	return nil
}

type exitCode int

// usageError says what is wrong with the command line and where to look.
func (a *app) usageError(args []string, parsed *kong.Context, err error) int {
	hint := "processor --help"
	if parsed != nil {
		if command := parsed.Selected(); command != nil && len(args) > 0 && args[0] == command.Name {
			hint = "processor " + command.Name + " --help"
		}
	}
	a.note("processor: %s\nSee %s.", mistake(parsed, args, err), hint)
	return exitUsage
}

// version is the module's, where the program was built as one, else the commit's.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" {
			return info.Main.Version + " " + setting.Value
		}
	}
	return info.Main.Version
}
