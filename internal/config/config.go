package config

import (
	"time"

	"precis/internal/gateway"
	"precis/summarize"
)

// Config is the configuration in force. Its yaml tags are the configuration's keys.
type Config struct {
	NATS       NATS                `yaml:"nats"`
	DataDir    string              `yaml:"data_dir"`
	HTTP       HTTP                `yaml:"http"`
	API        API                 `yaml:"api"`
	UI         UI                  `yaml:"ui"`
	Gateway    Gateway             `yaml:"gateway"`
	Partitions int                 `yaml:"partitions"` // fixed when the EVENTS stream is created
	Cluster    Cluster             `yaml:"cluster"`
	Limits     Limits              `yaml:"limits"`
	Retention  Retention           `yaml:"retention"`
	Parking    Parking             `yaml:"parking"`
	Policies   []summarize.Policy  `yaml:"policies"` // in order; the first match applies
	Providers  map[string]Provider `yaml:"providers"`
	Pricing    Pricing             `yaml:"pricing"`

	// Origins says where each scalar value came from, by key.
	Origins Origins `yaml:"-"`
	// values are the values of the variables that hold secrets.
	values []string
}

// NATS selects the server: an external one if URL is set, else one embedded in this process.
type NATS struct {
	URL         string `yaml:"url"`
	Listen      string `yaml:"listen"` // of the embedded server
	Creds       string `yaml:"creds"`  // a credentials file
	User        string `yaml:"user"`
	PasswordEnv string `yaml:"password_env"`
	TokenEnv    string `yaml:"token_env"`
	TLS         TLS    `yaml:"tls"`
	// Service is the user for the service's connection, who may only publish replies. Empty: the main user.
	Service Login `yaml:"service"`
	// InboxPrefixes are the prefixes of the reply subjects that the service answers to.
	InboxPrefixes []string `yaml:"inbox_prefixes"`
	// Insecure lets the embedded server listen on non-local addresses without credentials.
	Insecure bool `yaml:"insecure"`
	// Sync is when the embedded server's streams are synced to disk: "always", or an interval such as 2m; a power
	// failure may then lose acknowledged events of the last interval.
	Sync string `yaml:"sync"`
	// Replicas is on how many servers of a NATS cluster each stream is; 0: 1 for a stream that is created, and any for one that exists.
	Replicas int `yaml:"replicas"`

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

// TLS names PEM files; an empty CA means the system's.
type TLS struct {
	CA   string `yaml:"ca"`
	Cert string `yaml:"cert"`
	Key  string `yaml:"key"`
}

// HTTP is the address that serves /healthz, /readyz and /metrics; an empty Listen turns it off.
type HTTP struct {
	Listen string `yaml:"listen"`
	// Insecure lets it listen on non-local addresses: HTTP has no authentication.
	Insecure bool `yaml:"insecure"`
}

// API is the HTTP API; an empty Listen turns it off.
type API struct {
	Listen     string  `yaml:"listen"`
	TokensFile string  `yaml:"tokens_file"` // empty: no tokens, and this machine only
	TLS        APICert `yaml:"tls"`
	// Insecure lets it listen on non-local addresses without tokens.
	Insecure          bool `yaml:"insecure"`
	BodyBytes         int  `yaml:"body_bytes"`          // of a request
	RequestsPerSecond int  `yaml:"requests_per_second"` // of a token; 0: no limit
	Streams           int  `yaml:"streams"`             // open at once
}

// UI is the pages of the HTTP API.
type UI struct {
	// Contents shows what messages, summaries and rejected events say to those who may read them.
	Contents bool `yaml:"contents"`
}

// APICert names the PEM files of the API's certificate; empty: no TLS.
type APICert struct {
	Cert string `yaml:"cert"`
	Key  string `yaml:"key"`
}

// Gateway passes agents' requests on to their providers and publishes what they say; an empty Listen turns it off.
type Gateway struct {
	Listen string `yaml:"listen"`
	Mode   string `yaml:"mode"` // observe or compact
	// Compactions answers requests for a compaction in the provider's place; in mode compact.
	Compactions bool `yaml:"compactions"`
	// Originals adds the tool read_original to prompts with summaries, for clients that run it; in mode compact.
	Originals bool `yaml:"originals"`
	// OpenAI and Anthropic are the base URLs of the providers.
	OpenAI    string `yaml:"openai"`
	Anthropic string `yaml:"anthropic"`
	// Insecure lets it listen on non-local addresses: keys pass without TLS, and whoever reaches it publishes.
	Insecure bool `yaml:"insecure"`
}

// DefaultCluster is the cluster of processors that have no name for it, on external servers.
const DefaultCluster = "default"

// Cluster has several processors share the partitions of one set of streams.
type Cluster struct {
	Name      string        `yaml:"name"`      // empty: DefaultCluster for a processor on external servers, else none
	Weight    int           `yaml:"weight"`    // of this processor's share
	Standbys  int           `yaml:"standbys"`  // how many processors follow a partition beside its owner
	Snapshots time.Duration `yaml:"snapshots"` // how often an owner puts its partitions into the object store; 0: never
}

// Limits bound events; an event beyond them is rejected.
type Limits struct {
	EventBytes        int `yaml:"event_bytes"`         // of an event's body
	PendingEditEvents int `yaml:"pending_edit_events"` // how many later events of its thread an edit waits for its message
}

// Retention says how long the log is kept; 0 means no limit.
type Retention struct {
	Events time.Duration `yaml:"events"`
}

// Parking moves the rows of threads that nothing happens to out of the store, into a stream.
type Parking struct {
	After     time.Duration `yaml:"after"`      // without an event; 0: never
	PerSecond int           `yaml:"per_second"` // threads, of this processor
}

// Provider is a model API and its limits.
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

// Pricing names a price file that overrides the built-in table; see [Pricing.Table].
type Pricing struct {
	File string `yaml:"file"`
}

// MaxEventBytes is the largest limits.event_bytes: the embedded server's max_payload.
const MaxEventBytes = 8 << 20

// Default is the configuration without file, variables and flags.
func Default() *Config {
	return &Config{
		NATS:       NATS{Listen: "127.0.0.1:4222", InboxPrefixes: []string{"_INBOX"}, Sync: "always"},
		DataDir:    "./data",
		HTTP:       HTTP{Listen: "127.0.0.1:8080"},
		API:        API{Listen: "127.0.0.1:8088", BodyBytes: 16 << 20, RequestsPerSecond: 1000, Streams: 256},
		Gateway:    Gateway{Mode: gateway.ModeObserve, OpenAI: gateway.OpenAI, Anthropic: gateway.Anthropic},
		Partitions: 16,
		Cluster:    Cluster{Weight: 1, Standbys: 1, Snapshots: 15 * time.Minute},
		Limits:     Limits{EventBytes: 1 << 20, PendingEditEvents: 1000},
		Parking:    Parking{PerSecond: 100},
		Policies:   []summarize.Policy{summarize.Default()},
		Providers: map[string]Provider{
			ProviderMain:       DefaultProvider(KindOpenAI),
			ProviderSummarizer: DefaultProvider(KindAnthropic),
		},
		Origins: Origins{},
	}
}
