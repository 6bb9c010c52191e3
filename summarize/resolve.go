package summarize

import (
	"path"
	"strings"
)

// Resolve returns the policy of a thread: the one with the requested name, else the first whose
// globs match the thread's first event. unresolved is the requested name if no policy has it. If
// none matches, it returns a disabled policy.
func Resolve(policies []Policy, requested, agent, thread string) (p *Policy, unresolved string) {
	if requested != "" {
		for i := range policies {
			if policies[i].Name == requested {
				return &policies[i], ""
			}
		}
	}
	for i := range policies {
		m := policies[i].Match
		if matches(m.AgentID, agent) && matches(m.ThreadID, thread) {
			return &policies[i], requested
		}
	}
	off := Default()
	off.Name, off.Enabled = "none", false
	return &off, requested
}

// matches is path.Match, except that "*" and "?" also match slashes, since ids are not paths, and that an empty glob
// matches everything.
func matches(glob, id string) bool {
	if glob == "" || glob == "*" {
		return true
	}
	ok, err := path.Match(unslashed(glob), unslashed(id))
	return err == nil && ok
}

// unslashed replaces the separator of path.Match by a byte that ids don't contain.
func unslashed(s string) string { return strings.ReplaceAll(s, "/", "\x00") }
