package summarize

import "testing"

func TestResolve(t *testing.T) {
	named := func(name, agent, thread string) Policy {
		p := Default()
		p.Name, p.Match = name, Match{AgentID: agent, ThreadID: thread}
		return p
	}
	policies := []Policy{
		named("reviewers", "review-*", ""),
		named("sessions", "", "session/*/main"),
		named("short", "a?", "*"),
		named("rest", "*", "t[0-9]"),
	}
	for name, c := range map[string]struct{ requested, agent, thread, want, unresolved string }{
		"the first that matches":         {"", "review-7", "t1", "reviewers", ""},
		"a named one beats what matches": {"short", "review-7", "t1", "short", ""},
		"a name nobody knows":            {"gone", "review-7", "t1", "reviewers", "gone"},
		"a star takes slashes":           {"", "b", "session/2026/11/main", "sessions", ""},
		"a star takes one slash":         {"", "b", "session/x/main", "sessions", ""},
		"no slash where one is asked":    {"", "b", "session-x-main", "none", ""},
		"a question mark takes a slash":  {"", "a/", "x", "short", ""},
		"a class":                        {"", "b", "t4", "rest", ""},
		"nothing matches":                {"", "b", "t44", "none", ""},
		"nothing matches, and unknown":   {"gone", "b", "t44", "none", "gone"},
		"no agent":                       {"", "", "t4", "rest", ""},
	} {
		p, unresolved := Resolve(policies, c.requested, c.agent, c.thread)
		if p.Name != c.want || unresolved != c.unresolved {
			t.Errorf("%s: got %s, unresolved %q", name, p.Name, unresolved)
		}
		if p.Enabled == (c.want == "none") {
			t.Errorf("%s: enabled is %v", name, p.Enabled)
		}
	}
}
