package main

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"precis/cmd/processor/ask"
	"precis/cmd/processor/console"
	"precis/cmd/processor/feed"
	"precis/cmd/processor/history"
	"precis/cmd/processor/operate"
	"precis/internal/config"
	"precis/internal/spelling"
)

// cli is the command line. run is what happens without a command.
type cli struct {
	Version kong.VersionFlag `help:"Print the version."`

	Run  operate.Run  `cmd:"" default:"withargs" help:"Run the processor (the default command)."`
	Demo operate.Demo `cmd:"" help:"Run the whole path on samples and explain each step."`

	Gateway operate.Gateway `cmd:"" help:"Pass agents' requests on to their model provider, and publish what they say."`
	MCP     ask.MCP         `cmd:"" name:"mcp" help:"Give a model tools that read what its compacted prompt leaves out."`

	Publish feed.Publish   `cmd:"" help:"Publish event files."`
	Watch   feed.Watch     `cmd:"" help:"Follow the sessions of an agent on this machine and publish them."`
	Tail    ask.Tail       `cmd:"" help:"Follow events, summaries and rejections."`
	Export  history.Export `cmd:"" help:"Write a thread's events as an event file."`

	Threads   ask.Threads   `cmd:"" help:"List threads, by size, cost, age or stale summaries."`
	Thread    ask.Thread    `cmd:"" help:"Show a thread's counters."`
	Context   ask.Context   `cmd:"" help:"Show the prompt that an agent would get."`
	Message   ask.Message   `cmd:"" help:"Show a message's original text."`
	Summary   ask.Summary   `cmd:"" help:"Show a summary and its sources."`
	Summarize ask.Summarize `cmd:"" help:"Summarize a thread now."`
	Rejected  ask.Rejected  `cmd:"" help:"List rejected events, or publish one again."`
	Check     history.Check `cmd:"" help:"Check a store at rest and compare it with the log."`

	Audit   history.Audit   `cmd:"" help:"Show a thread's history: what was summarized, from what, how and at what cost."`
	Replay  history.Replay  `cmd:"" help:"Fold the log again and verify every decision."`
	Savings history.Savings `cmd:"" help:"Show what summaries saved, at the prices of the agents' models, and what they cost."`

	Recover history.Recover `cmd:"" help:"Report applied events that EVENTS has lost, and continue without them."`
	Doctor  operate.Doctor  `cmd:"" help:"Check an installation: settings, connection, rights, versions, clocks, disk, and a whole round trip."`
	Backup  operate.Backup  `cmd:"" help:"Copy the streams into a directory."`
	Restore operate.Restore `cmd:"" help:"Make the streams anew from a backup."`
	Streams operate.Streams `cmd:"" help:"Compare the streams with the configuration, or change them."`

	Config   operate.Config `cmd:"" help:"Print the configuration in force and the origin of each value."`
	Versions versionCmd     `cmd:"" name:"version" help:"Print the versions of the program, its rules and its data."`

	Completion completionCmd `cmd:"" help:"Print the script by which a shell completes this command line."`
	Man        manCmd        `cmd:"" help:"Print the manual page."`
}

const description = `precis summarizes what AI agents read: events go in over NATS, summaries come out, and the log proves both.

Exit status: 0 done, 1 found something wrong, 2 wrong usage or configuration, 3 can't reach what it needs.`

// helpWidth keeps help the same on every terminal.
const helpWidth = 100

// parse finds the command. done is true where there is none to run: after help, or a mistake.
func parse(a *console.App, args []string) (command console.Runner, status int, done bool) {
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
	parsed, err := newParser(a, &c).Parse(args)
	var parseErr *kong.ParseError
	switch {
	case errors.As(err, &parseErr):
		parsed = parseErr.Context
	case err == nil:
		err = emptyFlag(parsed)
	}
	if err != nil {
		return nil, usageError(a, args, parsed, err), true
	}
	return parsed.Selected().Target.Addr().Interface().(console.Runner), 0, false
}

// newParser reads the command line into c, and knows its model.
func newParser(a *console.App, c *cli) *kong.Kong {
	parser, err := kong.New(c, kong.Name("processor"), kong.Description(description),
		kong.Writers(a.Stdout, a.Stderr), kong.Exit(func(code int) { panic(exitCode(code)) }),
		kong.Vars{"version": console.Version()},
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: helpWidth}))
	if err != nil {
		panic(fmt.Sprintf("the command line is broken: %v", err))
	}
	const help = "Show this help." // Kong's own text names a property of its parser
	parser.Model.HelpFlag.Help, parser.Model.HelpFlag.OrigHelp = help, help
	return parser
}

// emptyFlag finds a flag that is given and says nothing, as a script's unset variable does: what it was to narrow would
// not be narrowed. Where empty has a meaning, the flag is a pointer; login flags may be empty.
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
func usageError(a *console.App, args []string, parsed *kong.Context, err error) int {
	hint := "processor --help"
	if parsed != nil {
		if command := parsed.Selected(); command != nil && len(args) > 0 && args[0] == command.Name {
			hint = "processor " + command.Name + " --help"
		}
	}
	a.Note("processor: %s\nSee %s.", mistake(parsed, args, err), hint)
	return console.ExitUsage
}

// Kong's messages that say too little, or speak of the parser.
var (
	noValue     = regexp.MustCompile(`^--([a-z-]+): expected .* but got "EOL"`)
	negative    = regexp.MustCompile(`^--([a-z-]+): expected u?int(?:64)? value but got "(-[0-9]+)" \(short flag\)`)
	noNumber    = regexp.MustCompile(`^--([a-z-]+): expected a valid .* (?:int|uint) but got "(.*)"$`)
	noArgument  = regexp.MustCompile(`^expected "(<.*>.*)"$`)
	unexpected  = regexp.MustCompile(`^unexpected argument (.*)$`)
	unknownFlag = regexp.MustCompile(`^unknown flag --([a-z-]+)`)
	suggestion  = regexp.MustCompile(`^(unknown flag .*), did you mean "(.*)"\?$`)
)

// samples are values of flags by their placeholder.
var samples = map[string]string{
	"URL": "nats://127.0.0.1:4222", "ADDR": "127.0.0.1:4222", "DIR": "./data", "FILE": "precis.yaml",
	"TIME": "2026-01-02T15:04:05Z", "TIME|SEQ": "42", "SEQ": "42", "N": "8000", "A-B": "40-80",
}

// samplesByName are those of flags of which their placeholder says too little. A file that a flag writes is never one that people have.
var samplesByName = map[string]string{
	"html": "story.html", "keep": "./demo-data", "state": "watch-state.json", "replicas": "3", "retry": "12", "limit": "50", "since": "48h",
	"sign": "auditor.nk", "verify-head": "head.json", "policy": "other.yaml",
	"creds": "precis.creds", "tlsca": "ca.pem", "tlscert": "client.pem", "tlskey": "client-key.pem",
}

// mistake is a parser's error as people read it.
func mistake(parsed *kong.Context, args []string, err error) string {
	text := err.Error()
	if m := noValue.FindStringSubmatch(text); m != nil {
		return fmt.Sprintf("--%s needs a value%s", m[1], sampleOf(parsed, m[1]))
	}
	if m := noNumber.FindStringSubmatch(text); m != nil {
		return fmt.Sprintf("--%s %q: give a whole number", m[1], m[2])
	}
	if m := negative.FindStringSubmatch(text); m != nil {
		return fmt.Sprintf("--%s %q: give a whole number of 0 or more", m[1], m[2])
	}
	if m := noArgument.FindStringSubmatch(text); m != nil {
		return "missing argument: " + m[1]
	}
	if m := unknownFlag.FindStringSubmatch(text); m != nil && m[1] != "listen" && runs(parsed, args) && config.Known("gateway."+m[1]) { // for the address, run has --gateway
		key := "gateway." + m[1]
		return fmt.Sprintf("unknown flag --%s: set %s, or %s in the configuration file; \"processor gateway\" has it as a flag", m[1], config.Variable(key), key)
	}
	if m := suggestion.FindStringSubmatch(text); m != nil {
		return fmt.Sprintf("%s; did you mean %s?", m[1], m[2])
	}
	if rest, ok := strings.CutPrefix(text, "--"); ok { // an empty choice stands for the flag left out
		text = "--" + strings.Replace(rest, ` must be one of "",`, ` must be one of `, 1)
	}
	m := unexpected.FindStringSubmatch(text)
	switch {
	case m == nil:
		return text
	case parsed == nil || len(args) == 0 || m[1] != args[0]:
		return fmt.Sprintf("unexpected argument %q", m[1])
	}
	if near := nearest(parsed.Model, m[1]); near != "" {
		return fmt.Sprintf("unknown command %q; did you mean %q?", m[1], near)
	}
	return fmt.Sprintf("unknown command %q", m[1])
}

// runs reports whether the command line is that of run, or of config, which has its flags. They are few: most keys of the
// configuration have none.
func runs(parsed *kong.Context, args []string) bool {
	if parsed == nil {
		return false
	}
	if command := parsed.Selected(); command != nil {
		return command.Name == "run" || command.Name == "config"
	}
	return len(args) > 0 && strings.HasPrefix(args[0], "-")
}

// sampleOf is an example of a flag's value.
func sampleOf(parsed *kong.Context, name string) string {
	if parsed == nil {
		return ""
	}
	for _, f := range parsed.Flags() {
		if f.Name != name {
			continue
		}
		if f.Enum != "" {
			return ": " + strings.Join(slices.DeleteFunc(f.EnumSlice(), func(v string) bool { return v == "" }), ", ")
		}
		if sample := cmp.Or(samplesByName[name], samples[f.PlaceHolder]); sample != "" {
			return ", such as " + sample
		}
	}
	return ""
}

// nearest is the command that a word is most likely meant to be; empty: none is near.
func nearest(model *kong.Application, word string) string {
	const far = 3 // edits
	best, at := "", far
	for _, command := range model.Children {
		if d := spelling.Distance(word, command.Name); d < at || d == at && d < far && strings.HasPrefix(command.Name, word[:1]) {
			best, at = command.Name, d
		}
	}
	return best
}
