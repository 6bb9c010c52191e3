package secrets

import (
	"fmt"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/zricethezav/gitleaks/v8/config"
)

// gitleaksRules are gitleaks's rules, except those that need a file name or a second finding nearby.
func gitleaksRules() ([]rule, error) {
	var raw config.ViperConfig
	if err := toml.Unmarshal([]byte(config.DefaultConfig), &raw); err != nil {
		return nil, fmt.Errorf("read gitleaks rules: %w", err)
	}
	c, err := raw.Translate()
	if err != nil {
		return nil, fmt.Errorf("read gitleaks rules: %w", err)
	}
	var out []rule
	for _, id := range c.OrderedRules {
		r := c.Rules[id]
		if r.Regex == nil || r.Path != nil || r.SkipReport || len(r.Keywords) == 0 || len(r.RequiredRules) > 0 {
			continue
		}
		out = append(out, ruleOf(r, anyOf(allowedWhole(c.Allowlists), allowedBy(r.Allowlists))))
	}
	return out, nil
}

// named are the prefixes of gitleaks's `name = value` rules: what may precede the keyword in the name. Searching
// them in the whole text is nine tenths of the work, and only allow lists use them, so they are matched after
// a finding (nameStart).
var named = []struct{ prefix, flags string }{
	{`(?i)[\w.-]{0,50}?`, `(?i)`},
	{`[\w.-]{0,50}?(?i:[\w.-]{0,50}?`, `(?i:`},
}

const nameLength = 50

func ruleOf(r config.Rule, allowed func(secret, match, line string) bool) rule {
	out := rule{id: r.RuleID, keywords: r.Keywords, group: r.SecretGroup, entropy: r.Entropy, allowed: allowed}
	for _, n := range named {
		if rest, is := strings.CutPrefix(r.Regex.String(), n.prefix); is {
			out.named, out.assigns = true, !strings.Contains(rest, `|\b`)
			out.looksFor(n.flags + rest)
			return out
		}
	}
	out.looksFor(unended(r.Regex.String()))
	return out
}

// gitleaks's rules end with what may follow a token in a source file. In tool outputs and truncated text anything may
// follow: a token known by its beginning ends at the first character that can't be part of it.
const (
	ending    = "(?:[\\x60'\"\\s;]|\\\\[nr]|$)"
	anyEnding = `(?:[^0-9A-Za-z_]|$)`
)

func unended(expression string) string {
	if head, is := strings.CutSuffix(expression, ending); is {
		return head + anyEnding
	}
	return expression
}

func nameStart(text string, at int) int {
	start := at
	for start > 0 && at-start < nameLength && isNameByte(text[start-1]) {
		start--
	}
	return start
}

func isNameByte(c byte) bool {
	return c == '.' || c == '-' || c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

func anyOf(allowed ...func(secret, match, line string) bool) func(secret, match, line string) bool {
	return func(secret, match, line string) bool {
		for _, f := range allowed {
			if f(secret, match, line) {
				return true
			}
		}
		return false
	}
}

// allowedWhole applies the lists of all rules, whose expressions describe whole secrets. One of them lacks parentheses,
// (?i)^true|false|null$, and would allow each random token with "false" in it.
func allowedWhole(lists []*config.Allowlist) func(secret, match, line string) bool {
	return func(secret, _, _ string) bool {
		for _, a := range lists {
			for _, r := range a.Regexes {
				if at := r.FindStringIndex(secret); at != nil && at[1]-at[0] == len(secret) {
					return true
				}
			}
			if has, _ := a.ContainsStopWord(secret); has {
				return true
			}
		}
		return false
	}
}

// allowedBy applies allow lists as gitleaks does without a commit and a path.
func allowedBy(lists []*config.Allowlist) func(secret, match, line string) bool {
	return func(secret, match, line string) bool {
		for _, a := range lists {
			if allows(a, secret, match, line) {
				return true
			}
		}
		return false
	}
}

func allows(a *config.Allowlist, secret, match, line string) bool {
	target := secret
	switch a.RegexTarget {
	case "match":
		target = match
	case "line":
		target = line
	}
	byRegex := a.RegexAllowed(target)
	byWord, _ := a.ContainsStopWord(secret)
	if a.MatchCondition != config.AllowlistMatchAnd {
		return byRegex || byWord
	}
	if len(a.Paths) > 0 || len(a.Commits) > 0 {
		return false // it requires a commit or a path
	}
	return (byRegex || len(a.Regexes) == 0) && (byWord || len(a.StopWords) == 0)
}
