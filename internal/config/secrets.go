package config

import (
	"fmt"
	"slices"

	"precis/internal/natsurl"
)

// secretVariables lists the variables that the configuration names as holders of secrets.
func secretVariables(cfg *Config) []string {
	names := []string{cfg.NATS.PasswordEnv, cfg.NATS.TokenEnv, cfg.NATS.Service.PasswordEnv, cfg.NATS.Service.TokenEnv}
	for _, p := range cfg.Providers {
		names = append(names, p.APIKeyEnv)
	}
	return names
}

// Secrets are the values that the configuration and what it names hold, in no order: keys, passwords and tokens,
// whoever needs them, and what a credentials file says. They are to be masked wherever they stand.
func (c *Config) Secrets() ([]string, error) {
	list := append(slices.Clone(c.values), c.NATS.Password, c.NATS.Token)
	list = append(list, natsurl.Secrets(c.NATS.URL)...)
	for _, p := range c.Providers {
		list = append(list, p.APIKey)
	}
	if c.NATS.Creds != "" {
		text, err := readBounded(c.NATS.Creds)
		if err != nil {
			return nil, fmt.Errorf("read nats.creds: %w", err)
		}
		list = append(list, string(text))
	}
	return list, nil
}

// keepValues notes what the variables hold that are named as holders of secrets.
func (c *Config) keepValues(env map[string]string) {
	for _, name := range secretVariables(c) {
		if value := env[name]; value != "" {
			c.values = append(c.values, value)
		}
	}
}

// resolveSecrets reads the secrets that are needed: the server's wherever they are named, a provider's
// only where a policy in force uses it, so that nobody needs a key for a model that nobody calls.
func resolveSecrets(cfg *Config, env map[string]string) []Problem {
	var problems []Problem
	need := func(key, variable string, into *string) {
		if variable == "" {
			return
		}
		if *into = env[variable]; *into == "" {
			problems = append(problems, Problem{
				Key: key, Origin: cfg.Origins.Of(key),
				Message: fmt.Sprintf("the variable %s is not set, and what it holds is needed; set it, or change the key", variable),
			})
		}
	}
	need("nats.password_env", cfg.NATS.PasswordEnv, &cfg.NATS.Password)
	need("nats.token_env", cfg.NATS.TokenEnv, &cfg.NATS.Token)
	need("nats.service.password_env", cfg.NATS.Service.PasswordEnv, &cfg.NATS.Service.Password)
	need("nats.service.token_env", cfg.NATS.Service.TokenEnv, &cfg.NATS.Service.Token)
	for _, name := range usedProviders(cfg) {
		p := cfg.Providers[name]
		need("providers."+name+".api_key_env", p.APIKeyEnv, &p.APIKey)
		cfg.Providers[name] = p
	}
	// main serves where another fails, if it has its key: nobody has to have one for that.
	if p, ok := cfg.Providers[ProviderMain]; ok && p.APIKey == "" && len(usedProviders(cfg)) > 0 {
		p.APIKey = env[p.APIKeyEnv]
		cfg.Providers[ProviderMain] = p
	}
	return problems
}
