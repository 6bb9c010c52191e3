package main

import (
	"context"
	"strings"

	"precis/cmd/processor/console"
	"precis/cmd/processor/manual"
)

// completionCmd prints what lets a shell complete this command line.
type completionCmd struct {
	Shell string   `arg:"" enum:"bash,zsh,fish" help:"The shell: ${enum}."`
	Words bool     `hidden:"" help:"Print what the last of the words may become, as the scripts ask."`
	Typed []string `arg:"" optional:"" hidden:"" help:"The words that are typed."`
}

// Help shows where each shell looks.
func (completionCmd) Help() string {
	return `Prints a script. It asks the program itself for commands, flags and values, and need not be made again for a new version.

Examples:

    source <(processor completion bash)                        # in ~/.bashrc
    processor completion zsh > "${fpath[1]}/_processor"
    processor completion fish > ~/.config/fish/completions/processor.fish`
}

// Run prints the script, or the candidates that it asked for.
func (c *completionCmd) Run(_ context.Context, a *console.App) error {
	if !c.Words {
		a.Printf("%s", manual.Scripts[c.Shell])
		return nil
	}
	for _, candidate := range manual.Complete(newParser(a, &cli{}).Model, c.Typed) {
		a.Printf("%s\n", strings.TrimSuffix(candidate.Word+"\t"+console.Printable(candidate.Help), "\t"))
	}
	return nil
}

// manCmd prints the manual page.
type manCmd struct{}

// Help shows the command used.
func (manCmd) Help() string {
	return `Prints the manual page processor(1), with every command and flag.

Examples:

    processor man | man -l -
    processor man > /usr/local/share/man/man1/processor.1`
}

// Run prints it.
func (manCmd) Run(_ context.Context, a *console.App) error {
	return manual.Man(a.Stdout, newParser(a, &cli{}).Model, console.Version(), console.VersionDate())
}
