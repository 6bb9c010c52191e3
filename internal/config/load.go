package config

import (
	"fmt"
)

// Sources is where Load looks.
type Sources struct {
	File  string            // a YAML file; empty for none
	Env   []string          // as os.Environ gives it
	Flags map[string]string // what flags set, by key
	// FlagNames are the names that people know the flags by ("data_dir" → "--data"), for messages.
	FlagNames map[string]string
}

// Load makes the configuration: flags beat variables beat the file beat the defaults. What is wrong is
// an *Error that names every key in question; only an unreadable file is another one.
func Load(src Sources) (*Config, error) {
	cfg, env, err := load(src)
	if err != nil {
		return nil, err
	}
	return cfg, asError(resolveSecrets(cfg, env))
}

// LoadWithoutSecrets is Load for who calls nobody: it needs no key.
func LoadWithoutSecrets(src Sources) (*Config, error) {
	cfg, _, err := load(src)
	return cfg, err
}

func load(src Sources) (*Config, map[string]string, error) {
	cfg := Default()
	problems, err := loadFile(cfg, src.File)
	if err != nil {
		return nil, nil, err
	}
	env := environment(src.Env)
	problems = append(problems, applyEnv(cfg, env)...)
	problems = append(problems, applyFlags(cfg, src)...)
	if len(problems) > 0 {
		// A value that could not be read left its default in place: judging that one would mislead.
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
