package config

import (
	"fmt"
)

// Sources are the inputs of Load.
type Sources struct {
	File  string            // a YAML file; empty for none
	Env   []string          // as os.Environ gives it
	Flags map[string]string // what flags set, by key
	// FlagNames are the flags as the command line spells them ("data_dir" → "--data"), for messages.
	FlagNames map[string]string
}

// Load builds the configuration: flags override variables, variables the file, the file the defaults. An invalid
// configuration is an *Error that names every key at fault; any other error means that the file can't be read.
func Load(src Sources) (*Config, error) {
	cfg, env, err := load(src, validate)
	if err != nil {
		return nil, err
	}
	return cfg, asError(resolveSecrets(cfg, env))
}

// LoadWithoutSecrets is Load for programs that call no provider and no server: it needs no secrets.
func LoadWithoutSecrets(src Sources) (*Config, error) {
	cfg, _, err := load(src, validate)
	return cfg, err
}

// LoadGateway is the gateway's part, for a gateway without a processor. The file's other values are not held to anything: they may be a processor's that
// are valid only with its variables.
func LoadGateway(src Sources) (set Gateway, err error) {
	cfg, _, err := load(src, func(cfg *Config) []Problem {
		j := &judge{cfg: cfg}
		j.gateway()
		return j.problems
	})
	if err != nil {
		return set, err
	}
	return cfg.Gateway, nil
}

func load(src Sources, validate func(*Config) []Problem) (*Config, map[string]string, error) {
	cfg := Default()
	problems, err := loadFile(cfg, src.File)
	if err != nil {
		return nil, nil, err
	}
	env := environment(src.Env)
	problems = append(problems, applyEnv(cfg, env)...)
	problems = append(problems, applyFlags(cfg, src)...)
	if len(problems) > 0 {
		// A value that could not be parsed left its default in place: validating that would mislead.
		return nil, nil, asError(problems)
	}
	if err := asError(validate(cfg)); err != nil {
		return nil, nil, err
	}
	cfg.keepValues(env)
	return cfg, env, nil
}

func loadFile(cfg *Config, name string) ([]Problem, error) {
	if name == "" {
		return nil, nil
	}
	text, err := readBounded(name)
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	return decodeFile(cfg, name, text), nil
}
