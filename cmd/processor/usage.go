package main

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/alecthomas/kong"

	"precis/internal/spelling"
)

// Kong's messages that say too little, or speak of the parser.
var (
	noValue    = regexp.MustCompile(`^--([a-z-]+): expected .* but got "EOL"`)
	noNumber   = regexp.MustCompile(`^--([a-z-]+): expected a valid .* (?:int|uint) but got "(.*)"$`)
	noArgument = regexp.MustCompile(`^expected "(<.*>.*)"$`)
	unexpected = regexp.MustCompile(`^unexpected argument (.*)$`)
	suggestion = regexp.MustCompile(`^(unknown flag .*), did you mean "(.*)"\?$`)
)

// samples are values of flags by their placeholder.
var samples = map[string]string{
	"URL": "nats://127.0.0.1:4222", "ADDR": "127.0.0.1:4222", "DIR": "./data", "FILE": "precis.yaml",
	"TIME": "2026-01-02T15:04:05Z", "SEQ": "42", "N": "8000", "A-B": "40-80",
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
	if m := noArgument.FindStringSubmatch(text); m != nil {
		return "missing argument: " + m[1]
	}
	if m := suggestion.FindStringSubmatch(text); m != nil {
		return fmt.Sprintf("%s; did you mean %s?", m[1], m[2])
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

// sampleOf is an example of a flag's value.
func sampleOf(parsed *kong.Context, name string) string {
	if parsed == nil {
		return ""
	}
	for _, f := range parsed.Flags() {
		if sample, ok := samples[f.PlaceHolder]; ok && f.Name == name {
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
