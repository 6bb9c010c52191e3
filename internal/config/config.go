package config

import (
	"time"

	"precis/summarize"
)

// Config is what is in force. Its yaml tags are the configuration's keys.
type Config struct {
	NATS       NATS                `yaml:"nats"`
	DataDir    string              `yaml:"data_dir"`
	HTTP       HTTP                `yaml:"http"`
	Partitions int                 `yaml:"partitions"` // fixed when the EVENTS stream is made
	Limits     Limits              `yaml:"limits"`
	Retention  Retention           `yaml:"retention"`
	Policies   []summarize.Policy  `yaml:"policies"` // in order; the first that matches serves
	Providers  map[string]Provider `yaml:"providers"`
	Pricing    Pricing             `yaml:"pricing"`

	// Origins says where each scalar value came from, by key.
	Origins Origins `yaml:"-"`
	// values are those of the variables that are named as holders of secrets.
	values []string
}

// NATS says which server to use: an external one where URL is set, else one in this process.
type NATS struct {
	URL         string `yaml:"url"`
	Listen      string `yaml:"listen"` // of the embedded server
	Creds       string `yaml:"creds"`  // a credentials file
	User        string `yaml:"user"`
	PasswordEnv string `yaml:"password_env"`
	TokenEnv    string `yaml:"token_env"`
	TLS         TLS    `yaml:"tls"`
	// Service is who the service answers as: a user who may publish replies and nothing else. Empty: as the rest.
	Service Login `yaml:"service"`
	// InboxPrefixes are the prefixes of the reply subjects that the service answers to.
	InboxPrefixes []string `yaml:"inbox_prefixes"`
	// Insecure lets the embedded server listen beyond this machine without credentials.
	Insecure bool `yaml:"insecure"`
	// Sync is when the embedded server's streams reach the disk: "always", or an interval such as 2m,
	// within which a power cut loses what was acknowledged.
	Sync string `yaml:"sync"`

	// Password and Token are the values of PasswordEnv and TokenEnv.
	Password string `yaml:"-"`
	Token    string `yaml:"-"`
}

// Login is a user of an external server.
type Login struct {
	Creds       string `yaml:"creds"` // a credentials file
	User        string `yaml:"user"`
	PasswordEnv string `yaml:"password_env"`
	TokenEnv    string `yaml:"token_env"`

	// Password and Token are the values of PasswordEnv and TokenEnv.
	Password string `yaml:"-"`
	Token    string `yaml:"-"`
}

// TLS names PEM files; an empty CA is the system's.
type TLS struct {
	CA   string `yaml:"ca"`
	Cert string `yaml:"cert"`
	Key  string `yaml:"key"`
}

// HTTP is where /healthz, /readyz and /metrics are served; an empty Listen is nowhere.
type HTTP struct {
	Listen string `yaml:"listen"`
	// Insecure lets it listen beyond this machine: it knows no credentials.
	Insecure bool `yaml:"insecure"`
}

// Limits are what an event may be; one beyond them is rejected.
type Limits struct {
	EventBytes        int `yaml:"event_bytes"`         // of an event's body
	PendingEditEvents int `yaml:"pending_edit_events"` // how many later events of its thread an edit waits for its message
}

// Retention says how long the log is kept; 0 keeps all.
type Retention struct {
	Events time.Duration `yaml:"events"`
}

// Provider is a model's API and how it is used.
type Provider struct {
	Kind              string        `yaml:"kind"` // openai or anthropic
	BaseURL           string        `yaml:"base_url"`
	Model             string        `yaml:"model"`
	APIKeyEnv         string        `yaml:"api_key_env"`
	Timeout           time.Duration `yaml:"timeout"` // of one attempt
	MaxConcurrency    int           `yaml:"max_concurrency"`
	MaxAttempts       int           `yaml:"max_attempts"`
	RequestsPerMinute int           `yaml:"requests_per_minute"` // 0: no limit
	BudgetUSDPerDay   float64       `yaml:"budget_usd_per_day"`  // 0: no limit

	// APIKey is the value of APIKeyEnv.
	APIKey string `yaml:"-"`
}

// Pricing names a file of own prices, laid over the built-in table; see [Pricing.Table].
type Pricing struct {
	File string `yaml:"file"`
}

// MaxEventBytes is the largest limits.event_bytes: the embedded server's max_payload.
const MaxEventBytes = 8 << 20

// Default is the configuration where nothing is given.
func Default() *Config {
	return &Config{
		NATS:       NATS{Listen: "127.0.0.1:4222", InboxPrefixes: []string{"_INBOX"}, Sync: "always"},
		DataDir:    "./data",
		HTTP:       HTTP{Listen: "127.0.0.1:8080"},
		Partitions: 16,
		Limits:     Limits{EventBytes: 1 << 20, PendingEditEvents: 1000},
		Policies:   []summarize.Policy{summarize.Default()},
		Providers: map[string]Provider{
			ProviderMain:       DefaultProvider(KindOpenAI),
			ProviderSummarizer: DefaultProvider(KindAnthropic),
		},
		Origins: Origins{},
	}
}
