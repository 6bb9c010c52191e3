package main

import (
	"context"

	"precis/internal/config"
)

// configFlags are the flags that set configuration keys; what is not given leaves the key to the layers
// below.
type configFlags struct {
	Config     string  `type:"path" placeholder:"FILE" help:"The configuration file ($$PRECIS_CONFIG)."`
	Data       *string `placeholder:"DIR" help:"The data directory (data_dir, $$PRECIS_DATA_DIR; ./data)."`
	NATS       *string `name:"nats" placeholder:"URL" help:"An external NATS server (nats.url, $$PRECIS_NATS_URL). Without: one inside this process."`
	NATSListen *string `name:"nats-listen" placeholder:"ADDR" help:"Where the inner server listens (nats.listen, $$PRECIS_NATS_LISTEN; 127.0.0.1:4222)."`
	HTTP       *string `name:"http" placeholder:"ADDR" help:"Where /healthz, /readyz and /metrics are (http.listen, $$PRECIS_HTTP_LISTEN; 127.0.0.1:8080)."`
}

// load makes the configuration in force.
func (f configFlags) load(a *app) (*config.Config, error) {
	src := config.Sources{
		File: f.Config, Env: a.env, Flags: map[string]string{},
		FlagNames: map[string]string{"data_dir": "--data", "nats.url": "--nats", "nats.listen": "--nats-listen", "http.listen": "--http"},
	}
	if src.File == "" {
		src.File = a.getenv(config.ConfigFileVariable)
	}
	for key, value := range map[string]*string{
		"data_dir": f.Data, "nats.url": f.NATS, "nats.listen": f.NATSListen, "http.listen": f.HTTP,
	} {
		if value != nil {
			src.Flags[key] = *value
		}
	}
	cfg, err := config.Load(src)
	if err != nil {
		return nil, &exitError{status: exitUsage, err: err}
	}
	return cfg, nil
}

// configCmd prints what is in force.
type configCmd struct {
	configFlags
	JSON bool `name:"json" help:"Print one value a line, as JSON."`
}

// Help shows the command used.
func (configCmd) Help() string {
	return `A configuration file again, each value with where it came from: its default, the file and line, a variable or a flag. It takes the flags of run; secrets are not printed.

Example:

    processor config --config precis.yaml`
}

// Run prints it.
func (c *configCmd) Run(_ context.Context, a *app) error {
	cfg, err := c.load(a)
	if err != nil {
		return err
	}
	if c.JSON {
		return cfg.WriteJSON(a.stdout)
	}
	return cfg.WriteYAML(a.stdout)
}
