package config

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Prefix starts the name of every variable that sets a key.
const Prefix = "PRECIS_"

// ConfigFileVariable names the configuration file, for programs without --config.
const ConfigFileVariable = Prefix + "CONFIG"

// serviceLink matches the variables that Kubernetes sets in every pod for a service whose name begins with "precis".
// They don't count as unknown keys.
var serviceLink = regexp.MustCompile(`^PRECIS_(.*_)?(SERVICE_(HOST|PORT(_.*)?)|PORT(_\d+_(TCP|UDP|SCTP)(_(ADDR|PORT|PROTO))?)?)$`)

var separators = strings.NewReplacer(".", "_", "[", "_", "]", "", "-", "_", " ", "_")

// Variable returns the name of the variable that sets a key.
func Variable(key string) string { return Prefix + strings.ToUpper(separators.Replace(key)) }

// Known reports whether a configuration has a key, as it is without a file.
func Known(key string) bool {
	return slices.ContainsFunc(leaves(Default()), func(l leaf) bool { return l.key == key })
}

// environment converts os.Environ's form to a map without the empty variables.
func environment(list []string) map[string]string {
	env := map[string]string{}
	for _, entry := range list {
		if name, value, ok := strings.Cut(entry, "="); ok && value != "" {
			env[name] = value
		}
	}
	return env
}

// applyEnv applies the variables. It refuses one that matches no key: a failing start is better than a misspelt setting
// that is silently ignored.
func applyEnv(cfg *Config, env map[string]string) []Problem {
	left := ours(env)
	problems := apply(cfg, left, Variable, func(key string) Origin { return Origin{Kind: FromEnv, Name: Variable(key)} })
	for _, secret := range secretVariables(cfg) {
		delete(left, secret)
	}
	for _, name := range slices.Sorted(maps.Keys(left)) {
		problems = append(problems, Problem{
			Origin:  Origin{Kind: FromEnv, Name: name},
			Message: "unknown key; a variable is PRECIS_ and the key in capitals, such as " + Variable("limits.event_bytes"),
		})
	}
	return problems
}

// ours selects the variables that are addressed to precis.
func ours(env map[string]string) map[string]string {
	left := map[string]string{}
	for name, value := range env {
		if strings.HasPrefix(name, Prefix) && name != ConfigFileVariable && !serviceLink.MatchString(name) {
			left[name] = value
		}
	}
	return left
}

// applyFlags applies the flags; an unknown key is a bug in the program, reported as any other problem.
func applyFlags(cfg *Config, src Sources) []Problem {
	origin := func(key string) Origin { return Origin{Kind: FromFlag, Name: cmp.Or(src.FlagNames[key], "--"+key)} }
	left := maps.Clone(src.Flags)
	problems := apply(cfg, left, func(key string) string { return key }, origin)
	for _, key := range slices.Sorted(maps.Keys(left)) {
		problems = append(problems, Problem{Key: key, Origin: origin(key), Message: "unknown key"})
	}
	return problems
}

// apply sets the keys that are given by their names, and removes them from given.
func apply(cfg *Config, given map[string]string, nameOf func(key string) string, origin func(key string) Origin) (problems []Problem) {
	for _, l := range leaves(cfg) {
		text, ok := given[nameOf(l.key)]
		if !ok {
			continue
		}
		delete(given, nameOf(l.key))
		if err := l.set(text); err != nil {
			problems = append(problems, Problem{Key: l.key, Origin: origin(l.key), Message: err.Error()})
			continue
		}
		cfg.Origins[l.key] = origin(l.key)
	}
	return problems
}
