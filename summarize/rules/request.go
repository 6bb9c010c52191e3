package rules

import (
	"slices"
	"strings"

	"precis/summarize/envelope"
	"precis/summarize/lex"
	"precis/summarize/rules/call"
)

// Some tools repeat in their JSON what was run. A script of many lines is more than an envelope may have beside its text, and the call has it; of what
// others ran, a job's record, it is a part of the answer.

// requests are the names, squeezed, under which it is repeated.
var requests = []string{"command", "cmd", "commandline", "script", "code", "input"}

// withoutRequest returns the input without its own command in the JSON that it is, if that is long.
func (in Input) withoutRequest(args call.Arguments) Input {
	const least = 200 // bytes; a shorter one may stand beside the text
	own := []string{strings.TrimSpace(args.Typed()), args.Text("script", "code", "input")}
	if max(len(own[0]), len(own[1])) < least {
		return in
	}
	in = in.unframed(args)
	source := proper(in.Content)
	members, ok := envelope.Members([]byte(strings.TrimSpace(source)))
	if !ok {
		return in
	}
	for _, m := range members {
		raw := string(m.Value)
		if len(raw) < least || !slices.Contains(requests, lex.Squeeze(m.Name)) || strings.Count(in.Content, raw) != 1 {
			continue
		}
		if text := strings.TrimSpace(envelope.TextOf(m.Value)); text != "" && slices.Contains(own, text) {
			in.Content = strings.Replace(in.Content, raw, `""`, 1)
			in.without += lex.Runes(raw) - len(`""`)
		}
	}
	return in
}
