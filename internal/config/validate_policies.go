package config

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"precis/summarize"
	"precis/summarize/llm"
)

func (j *judge) policies() {
	if len(j.cfg.Policies) == 0 {
		j.wrong("policies", "must have at least one policy; omit the key for the default one, or set enabled: false on it")
	}
	seen := map[string]int{}
	for i, p := range j.cfg.Policies {
		key := fmt.Sprintf("policies[%d]", i)
		problems := p.Validate()
		for _, problem := range problems {
			j.wrong(join(key, problem.Key), "%s", problem.Message)
		}
		if _, err := llm.NewPrompts(p.Prompts); err != nil && len(problems) == 0 {
			j.wrong(join(key, "prompts"), "%v", err)
		}
		if first, twice := seen[p.Name]; twice {
			j.wrong(join(key, "name"), "%q is already the name of policies[%d]; names must be unique", p.Name, first)
			continue
		}
		seen[p.Name] = i
	}
}

func (j *judge) providers() {
	for _, name := range slices.Sorted(maps.Keys(j.cfg.Providers)) {
		j.provider("providers."+name, j.cfg.Providers[name])
	}
	for i, p := range j.cfg.Policies {
		if _, _, ok := j.cfg.ProviderFor(p.Provider); usesModel(p) && !ok {
			j.wrong(fmt.Sprintf("policies[%d].provider", i), "neither provider %q nor %s is configured; configured: %s",
				p.Provider, ProviderMain, strings.Join(slices.Sorted(maps.Keys(j.cfg.Providers)), ", "))
		}
	}
}

func (j *judge) provider(key string, p Provider) {
	j.oneOf(key+".kind", p.Kind, KindOpenAI, KindAnthropic)
	if p.Model == "" && slices.Contains([]string{KindOpenAI, KindAnthropic}, p.Kind) {
		j.wrong(key+".model", "must name a model")
	}
	if u, err := url.Parse(p.BaseURL); p.BaseURL != "" && (err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https")) {
		j.wrong(key+".base_url", "%q is not a URL; allowed: http://… or https://…, or empty for the provider's own", p.BaseURL)
	}
	if p.Timeout <= 0 {
		j.wrong(key+".timeout", "%s is out of range; allowed: more than 0s", p.Timeout)
	}
	j.within(key+".max_concurrency", p.MaxConcurrency, 1, 1024)
	j.within(key+".max_attempts", p.MaxAttempts, 1, 100)
	j.within(key+".requests_per_minute", p.RequestsPerMinute, 0, 1<<20)
	if p.BudgetUSDPerDay < 0 {
		j.wrong(key+".budget_usd_per_day", "%g is out of range; allowed: 0 (no limit) and more", p.BudgetUSDPerDay)
	}
}

// usesModel reports whether a policy calls a provider while in force.
func usesModel(p summarize.Policy) bool { return p.Enabled && p.Mode == summarize.ModeLLM }

// usedProviders lists the providers that the policies in force call, sorted.
func usedProviders(cfg *Config) []string {
	used := map[string]bool{}
	for _, p := range cfg.Policies {
		if name, _, ok := cfg.ProviderFor(p.Provider); ok && usesModel(p) {
			used[name] = true
		}
	}
	return slices.Sorted(maps.Keys(used))
}
