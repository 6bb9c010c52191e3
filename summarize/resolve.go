package summarize

import (
	"path"
	"strings"
)

// Resolve finds the policy that serves a thread: the one of the requested name, else the first whose
// globs match the thread's first event. unresolved is the requested name where no policy has it. Where
// nothing matches, the policy is one that is not enabled.
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

// matches is path.Match, but that "*" and "?" take slashes too, since ids are no paths, and that an empty glob
// takes everything.
func matches(glob, id string) bool {
	if glob == "" || glob == "*" {
		return true
	}
	ok, err := path.Match(unslashed(glob), unslashed(id))
	return err == nil && ok
}

// unslashed puts a byte that no id has a use for where path.Match would see a separator.
func unslashed(s string) string { return strings.ReplaceAll(s, "/", "\x00") }
