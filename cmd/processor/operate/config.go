package operate

import (
	"context"
	"slices"
	"strings"

	"precis/cmd/processor/console"
	"precis/internal/config"
)

// configFlags are the flags that set configuration keys; what is not given leaves the key to the layers
// below.
type configFlags struct {
	Config     string  `type:"path" placeholder:"FILE" help:"Configuration file ($$PRECIS_CONFIG)."`
	Data       *string `placeholder:"DIR" help:"Data directory (data_dir, $$PRECIS_DATA_DIR; ./data)."`
	NATS       *string `name:"nats" placeholder:"URL" help:"External NATS server (nats.url, $$PRECIS_NATS_URL). Default: a server inside this process."`
	NATSListen *string `name:"nats-listen" placeholder:"ADDR" help:"Address of the embedded server (nats.listen, $$PRECIS_NATS_LISTEN; 127.0.0.1:4222)."`
	HTTP       *string `name:"http" placeholder:"ADDR" help:"Address of /healthz, /readyz and /metrics (http.listen, $$PRECIS_HTTP_LISTEN; 127.0.0.1:8080)."`
	API        *string `name:"api" placeholder:"ADDR" help:"Address of the HTTP API; empty turns it off (api.listen, $$PRECIS_API_LISTEN; 127.0.0.1:8088)."`
	Gateway    *string `name:"gateway" placeholder:"ADDR" help:"Address of the gateway to model providers (gateway.listen, $$PRECIS_GATEWAY_LISTEN). Default: none."`
	Insecure   bool    `name:"insecure" help:"Let the embedded server, HTTP, the API and the gateway listen beyond this machine without credentials (nats.insecure, http.insecure, api.insecure, gateway.insecure)."`

	Creds       *string `placeholder:"FILE" group:"Server" help:"Credentials file (nats.creds)."`
	User        *string `placeholder:"NAME" group:"Server" help:"User; for the embedded server, the user that its clients present (nats.user)."`
	PasswordEnv *string `name:"password-env" placeholder:"VAR" group:"Server" help:"Variable that holds the user's password (nats.password_env)."`
	TokenEnv    *string `name:"token-env" placeholder:"VAR" group:"Server" help:"Variable that holds a token (nats.token_env)."`
	Password    *string `placeholder:"WORD" group:"Server" help:"The user's password; prefer --password-env."`
	Token       *string `placeholder:"WORD" group:"Server" help:"A token; prefer --token-env."`
	TLSCA       *string `name:"tlsca" placeholder:"FILE" group:"Server" help:"Certificate authority of the server (nats.tls.ca)."`
	TLSCert     *string `name:"tlscert" placeholder:"FILE" group:"Server" help:"Client certificate; for the embedded server, its own (nats.tls.cert)."`
	TLSKey      *string `name:"tlskey" placeholder:"FILE" group:"Server" help:"Key of the certificate (nats.tls.key)."`
}

// setFlag is a flag that sets a key, and its value; nil where it is not given.
type setFlag struct {
	name  string
	value *string
}

// keys are the keys that flags set, with the flags' names.
func (f configFlags) keys() map[string]setFlag {
	keys := map[string]setFlag{
		"data_dir": {"--data", f.Data}, "nats.url": {"--nats", f.NATS}, "nats.listen": {"--nats-listen", f.NATSListen}, "http.listen": {"--http", f.HTTP},
		"api.listen": {"--api", f.API}, "gateway.listen": {"--gateway", f.Gateway},
		"nats.creds": {"--creds", f.Creds}, "nats.user": {"--user", f.User}, "nats.password_env": {"--password-env", f.PasswordEnv},
		"nats.token_env": {"--token-env", f.TokenEnv},
		"nats.tls.ca":    {"--tlsca", f.TLSCA}, "nats.tls.cert": {"--tlscert", f.TLSCert}, "nats.tls.key": {"--tlskey", f.TLSKey},
	}
	if f.Insecure {
		yes := "true"
		for _, key := range []string{"nats.insecure", "http.insecure", "api.insecure", "gateway.insecure"} {
			keys[key] = setFlag{"--insecure", &yes}
		}
	}
	return keys
}

// load makes the configuration in force.
func (f configFlags) load(a *console.App) (*config.Config, error) {
	src := config.Sources{File: f.Config, Env: a.Env, Flags: map[string]string{}, FlagNames: map[string]string{}}
	if src.File == "" {
		src.File = a.Getenv(config.ConfigFileVariable)
	}
	for key, given := range f.keys() {
		src.FlagNames[key] = given.name
		if given.value != nil {
			src.Flags[key] = *given.value
		}
	}
	for name, given := range map[string]*string{"--password": f.Password, "--token": f.Token} {
		if given != nil { // stands in for a variable, since the configuration names those for secrets
			key := "nats." + strings.TrimPrefix(name, "--") + "_env"
			src.Env, src.Flags[key], src.FlagNames[key] = append(slices.Clone(src.Env), name+"="+*given), name, name
		}
	}
	cfg, err := config.Load(src)
	if err != nil {
		return nil, &console.ExitError{Status: console.ExitUsage, Err: err}
	}
	return cfg, nil
}

// Config prints what is in force.
type Config struct {
	configFlags
	JSON bool `name:"json" help:"Print one value per line as JSON."`
}

// Help shows the command used.
func (Config) Help() string {
	return `The output is a configuration file. Each value has its origin as a comment: default, file and line, variable or flag. Takes the flags of run. Secrets are not printed.

Example:

    processor config --config precis.yaml`
}

// Run prints it.
func (c *Config) Run(_ context.Context, a *console.App) error {
	cfg, err := c.load(a)
	if err != nil {
		return err
	}
	if c.JSON {
		return cfg.WriteJSON(a.Stdout)
	}
	return cfg.WriteYAML(a.Stdout)
}
