package config

import (
	"fmt"
	"slices"

	"precis/internal/natsurl"
)

// secretVariables lists the variables that the configuration names for secrets.
func secretVariables(cfg *Config) []string {
	names := []string{cfg.NATS.PasswordEnv, cfg.NATS.TokenEnv, cfg.NATS.Service.PasswordEnv, cfg.NATS.Service.TokenEnv}
	for _, p := range cfg.Providers {
		names = append(names, p.APIKeyEnv)
	}
	return names
}

// Secrets returns the secret values of the configuration and of the files and variables that it names, in no order: keys,
// passwords, tokens and the contents of credentials files, used or not. Mask them wherever they occur.
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

// keepValues keeps the values of the variables that are named for secrets.
func (c *Config) keepValues(env map[string]string) {
	for _, name := range secretVariables(c) {
		if value := env[name]; value != "" {
			c.values = append(c.values, value)
		}
	}
}

// resolveSecrets reads the required secrets: the server's whenever named, a provider's only if a policy in force uses
// it, so that an unused model needs no key.
func resolveSecrets(cfg *Config, env map[string]string) []Problem {
	var problems []Problem
	need := func(key, variable string, into *string) {
		if variable == "" {
			return
		}
		if *into = env[variable]; *into == "" {
			problems = append(problems, Problem{
				Key: key, Origin: cfg.Origins.Of(key),
				Message: fmt.Sprintf("environment variable %s is not set; set it, or change the key", variable),
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
	// main is the fallback of other providers if its key is set, but the key is optional.
	if p, ok := cfg.Providers[ProviderMain]; ok && p.APIKey == "" && len(usedProviders(cfg)) > 0 {
		p.APIKey = env[p.APIKeyEnv]
		cfg.Providers[ProviderMain] = p
	}
	return problems
}
