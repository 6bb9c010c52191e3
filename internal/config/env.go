package config

import (
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// Prefix stands before every variable that sets a key.
const Prefix = "PRECIS_"

// ConfigFileVariable names the configuration file, for programs that take no --config.
const ConfigFileVariable = Prefix + "CONFIG"

// serviceLink matches the variables that Kubernetes sets in every pod beside a service whose name
// begins with "precis": nobody wrote those, so they are no unknown keys.
var serviceLink = regexp.MustCompile(`^PRECIS_(.*_)?(SERVICE_(HOST|PORT(_.*)?)|PORT(_\d+_(TCP|UDP|SCTP)(_(ADDR|PORT|PROTO))?)?)$`)

var separators = strings.NewReplacer(".", "_", "[", "_", "]", "", "-", "_", " ", "_")

// Variable is the name of the variable that sets a key.
func Variable(key string) string { return Prefix + strings.ToUpper(separators.Replace(key)) }

// environment turns os.Environ's form into a map without the empty ones.
func environment(list []string) map[string]string {
	env := map[string]string{}
	for _, entry := range list {
		if name, value, ok := strings.Cut(entry, "="); ok && value != "" {
			env[name] = value
		}
	}
	return env
}

// applyEnv sets what variables set, and refuses one that is no key: a misspelt setting that is silently
// without effect is worse than a start that fails.
func applyEnv(cfg *Config, env map[string]string) []Problem {
	var problems []Problem
	left := ours(env)
	for _, l := range leaves(cfg) {
		name := Variable(l.key)
		text, ok := left[name]
		if !ok {
			continue
		}
		delete(left, name)
		problems = append(problems, apply(cfg, l, text, Origin{Kind: FromEnv, Name: name})...)
	}
	for _, secret := range secretVariables(cfg) {
		delete(left, secret)
	}
	for _, name := range slices.Sorted(maps.Keys(left)) {
		problems = append(problems, Problem{
			Origin:  Origin{Kind: FromEnv, Name: name},
			Message: "no such key; a variable is PRECIS_ and the key in capitals, such as " + Variable("limits.event_bytes"),
		})
	}
	return problems
}

// ours picks the variables that can only be meant for precis.
func ours(env map[string]string) map[string]string {
	left := map[string]string{}
	for name, value := range env {
		if strings.HasPrefix(name, Prefix) && name != ConfigFileVariable && !serviceLink.MatchString(name) {
			left[name] = value
		}
	}
	return left
}

// applyFlags sets what flags set; an unknown key there is a mistake of the program, told like any other.
func applyFlags(cfg *Config, src Sources) []Problem {
	var problems []Problem
	left := maps.Clone(src.Flags)
	for _, l := range leaves(cfg) {
		text, ok := left[l.key]
		if !ok {
			continue
		}
		delete(left, l.key)
		problems = append(problems, apply(cfg, l, text, Origin{Kind: FromFlag, Name: flagName(src, l.key)})...)
	}
	for _, key := range slices.Sorted(maps.Keys(left)) {
		problems = append(problems, Problem{Key: key, Origin: Origin{Kind: FromFlag, Name: flagName(src, key)}, Message: "no such key"})
	}
	return problems
}

func flagName(src Sources, key string) string {
	if name, ok := src.FlagNames[key]; ok {
		return name
	}
	return "--" + key
}

func apply(cfg *Config, l leaf, text string, origin Origin) []Problem {
	err := l.set(func(v reflect.Value) error { return setScalar(v, text) })
	if err != nil {
		return []Problem{{Key: l.key, Origin: origin, Message: fmt.Sprint(err)}}
	}
	cfg.Origins[l.key] = origin
	return nil
}
