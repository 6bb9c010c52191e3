package config_test

import (
	"reflect"
	"testing"
	"time"

	"precis/internal/config"
	"precis/summarize"
)

func load(t *testing.T, src config.Sources) *config.Config {
	t.Helper()
	cfg, err := config.Load(src)
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

func TestDefaultsAreValid(t *testing.T) {
	cfg := load(t, config.Sources{})
	if !reflect.DeepEqual(cfg.Policies, []summarize.Policy{summarize.Default()}) {
		t.Errorf("policies: %+v", cfg.Policies)
	}
	if len(cfg.Origins) != 0 {
		t.Errorf("origins of defaults: %v", cfg.Origins)
	}
}

func TestPrecedence(t *testing.T) {
	file := write(t, "data_dir: from-file\npartitions: 8\n")
	fileAndEnv := []string{"PRECIS_DATA_DIR=from-env"}
	flags := map[string]string{"data_dir": "from-flag"}
	names := map[string]string{"data_dir": "--data"}
	for _, c := range []struct {
		name, want, origin string
		src                config.Sources
	}{
		{"default", "./data", "default", config.Sources{}},
		{"file", "from-file", file + ":1", config.Sources{File: file}},
		{"variable", "from-env", "env PRECIS_DATA_DIR", config.Sources{File: file, Env: fileAndEnv}},
		{"flag", "from-flag", "flag --data", config.Sources{File: file, Env: fileAndEnv, Flags: flags, FlagNames: names}},
		{"an empty variable is none", "from-file", file + ":1", config.Sources{File: file, Env: []string{"PRECIS_DATA_DIR="}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := load(t, c.src)
			if cfg.DataDir != c.want || cfg.Origins.Of("data_dir").String() != c.origin {
				t.Errorf("got %q from %s, want %q from %s", cfg.DataDir, cfg.Origins.Of("data_dir"), c.want, c.origin)
			}
		})
	}
}

func TestVariablesReachEveryDepth(t *testing.T) {
	cfg := load(t, config.Sources{Env: []string{
		"PRECIS_NATS_TLS_CA=ca.pem",
		"PRECIS_LIMITS_EVENT_BYTES=5000",
		"PRECIS_RETENTION_EVENTS=24h",
		"PRECIS_POLICIES_0_TOOL_OUTPUT_OVER_CHARS=10",
		"PRECIS_POLICIES_0_COMPACTION_TRIGGER_ANY_0_TOKENS=7",
		"PRECIS_POLICIES_0_STALENESS_ON=source, ttl",
		"PRECIS_POLICIES_0_TOOL_OUTPUT_PRESERVE_ERRORS=false",
		"PRECIS_PROVIDERS_MAIN_MODEL=some-model",
		"PRECIS_PROVIDERS_MAIN_BUDGET_USD_PER_DAY=0.5",
	}})
	policy := cfg.Policies[0]
	got := []any{
		cfg.NATS.TLS.CA, cfg.Limits.EventBytes, cfg.Retention.Events, policy.ToolOutput.OverChars,
		policy.Compaction.Trigger.Any[0].Tokens, policy.Staleness.On, policy.ToolOutput.PreserveErrors,
		cfg.Providers["main"].Model, cfg.Providers["main"].BudgetUSDPerDay,
	}
	want := []any{"ca.pem", 5000, 24 * time.Hour, 10, 7, []string{"source", "ttl"}, false, "some-model", 0.5}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestVariablesThatAreNoKeysButAllowed(t *testing.T) {
	file := write(t, "nats: {user: u, password_env: PRECIS_PASSWORD}\n")
	cfg := load(t, config.Sources{File: file, Env: []string{
		"PRECIS_CONFIG=" + file,
		"PRECIS_PASSWORD=secret",
		"PRECIS_SERVICE_HOST=10.0.0.1", "PRECIS_SERVICE_PORT_CLIENT=4222", "PRECIS_PORT=tcp://10.0.0.1:4222",
		"PRECIS_NATS_PORT_4222_TCP_ADDR=10.0.0.1",
	}})
	if cfg.NATS.Password != "secret" {
		t.Errorf("password %q", cfg.NATS.Password)
	}
}

// A non-local listener needs credentials, or an explicit opt-out.
func TestOpenAddresses(t *testing.T) {
	for _, src := range []config.Sources{
		{Env: []string{"PRECIS_NATS_LISTEN=0.0.0.0:4222", "PRECIS_NATS_USER=me", "PRECIS_NATS_PASSWORD_ENV=WORD", "WORD=secret"}},
		{Env: []string{"PRECIS_NATS_LISTEN=0.0.0.0:4222", "PRECIS_NATS_TOKEN_ENV=WORD", "WORD=secret"}},
		{Env: []string{"PRECIS_NATS_LISTEN=0.0.0.0:4222", "PRECIS_NATS_INSECURE=true"}},
		{Env: []string{"PRECIS_NATS_LISTEN=0.0.0.0:4222", "PRECIS_NATS_URL=nats://nats:4222"}}, // no listener
		{Env: []string{"PRECIS_NATS_LISTEN=localhost:4222", "PRECIS_HTTP_LISTEN=[::1]:8080"}},
		{Env: []string{"PRECIS_HTTP_LISTEN=10.0.0.1:8080", "PRECIS_HTTP_INSECURE=true"}},
		{File: write(t, "http: {listen: ''}\n")},
	} {
		load(t, src)
	}
}

func TestPolicyStartsFromDefault(t *testing.T) {
	cfg := load(t, config.Sources{File: write(t, `
policies:
  - name: small
    tool_output: {over_chars: 9}
    compaction:
      trigger: {all: [{fraction: 0.8}, {idle: 5m}]}
      keep: {tokens: 4000}
  - {name: rest, enabled: false}
`)})
	want := summarize.Default()
	want.Name = "small"
	want.ToolOutput.OverChars = 9
	want.Compaction.Trigger = summarize.Condition{All: []summarize.Condition{{Fraction: 0.8}, {Idle: 5 * time.Minute}}}
	want.Compaction.Keep = summarize.Keep{Tokens: 4000}
	rest := summarize.Default()
	rest.Name, rest.Enabled = "rest", false
	if !reflect.DeepEqual(cfg.Policies, []summarize.Policy{want, rest}) {
		t.Errorf("got %+v", cfg.Policies)
	}
}

func TestAnchorsAndMerges(t *testing.T) {
	cfg := load(t, config.Sources{File: write(t, `
policies:
  - &base
    name: base
    tool_output: {over_chars: 9, over_tokens: 3}
    history: &history {enabled: true}
  - <<: *base
    name: other
    tool_output: {over_chars: 10}
    history: *history
`)})
	other := cfg.Policies[1]
	if other.Name != "other" || !other.History.Enabled {
		t.Errorf("got %+v", other)
	}
	// A merge key replaces whole values, as in YAML: over_tokens has its default again.
	if other.ToolOutput.OverChars != 10 || other.ToolOutput.OverTokens != 0 {
		t.Errorf("got %+v", other.ToolOutput)
	}
}

// A map's own keys take precedence wherever its merge key stands, and the first of several merged maps does.
func TestMergePrecedence(t *testing.T) {
	cfg := load(t, config.Sources{File: write(t, `
policies:
  - &base {name: base, mode: rules, on_failure: fail}
  - name: other
    on_failure: fallback
    <<: *base
  - name: last
    <<: [{tokenizer: claude}, {tokenizer: estimate, provider: main}]
`)})
	other, last := cfg.Policies[1], cfg.Policies[2]
	if other.Name != "other" || other.OnFailure != "fallback" {
		t.Errorf("own keys: %+v", other)
	}
	if last.Tokenizer != "claude" || last.Provider != "main" {
		t.Errorf("several maps: %+v", last)
	}
	if got := cfg.Origins.Of("policies[2].provider").Line; got != 7 {
		t.Errorf("a merged key comes from line %d, want its policy's, 7", got)
	}
}

func TestEmptySectionsAreNotGiven(t *testing.T) {
	cfg := load(t, config.Sources{File: write(t, "nats:\npolicies:\nproviders:\n# all commented out\n")})
	if len(cfg.Policies) != 1 || len(cfg.Providers) != 2 {
		t.Errorf("got %d policies, %d providers", len(cfg.Policies), len(cfg.Providers))
	}
	load(t, config.Sources{File: write(t, "")})
}
