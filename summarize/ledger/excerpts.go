package ledger

import (
	"slices"
	"strings"
)

// between parts two excerpts of one file's or one output's lines.
const between = "; "

// excerpts are what is said of one file or one output: stretches of it, the names that it declares, and others.
type excerpts struct{ quoted, defined, named []string }

func (e excerpts) with(l Line) excerpts {
	switch l.Kind {
	case kindDefined:
		e.defined = append(e.defined, l.Text)
	case kindName:
		e.named = append(e.named, l.Text)
	default:
		e.quoted = append(e.quoted, strings.TrimRight(l.Text, ",;"))
	}
	return e
}

func (e excerpts) String() string {
	parts := slices.Clone(e.quoted)
	named := strings.Join(e.named, ", ")
	if len(e.defined) > 0 {
		parts = append(parts, "defines "+strings.Join(e.defined, ", "))
		if named != "" {
			named = "uses " + named
		}
	}
	if named != "" {
		parts = append(parts, named)
	}
	return strings.Join(parts, between)
}
