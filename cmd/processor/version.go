package main

import (
	"context"
	"runtime"

	"precis/events"
	"precis/internal/broker"
	"precis/state"
	"precis/summarize/rules"
)

// versionCmd prints what this program is, and what its data is compatible with.
type versionCmd struct {
	JSON bool `name:"json" help:"Print JSON."`
}

// Help shows the command used.
func (versionCmd) Help() string {
	return `"processor --version" prints the first line alone.

Example:

    processor version
    processor version --json`
}

// versions is what --json prints.
type versions struct {
	Version    string `json:"version"`
	Rules      string `json:"rules_version"`  // of summaries by rules: another one may make other texts
	Config     int    `json:"config_version"` // of config.applied; a program refuses a newer one
	Store      string `json:"store_format"`   // a program refuses any other one
	NATSServer string `json:"nats_server"`    // the embedded one
	Go         string `json:"go"`
	Platform   string `json:"platform"`
}

// Run prints the versions.
func (c *versionCmd) Run(_ context.Context, a *app) error {
	v := versions{
		Version: version(), Rules: rules.Version, Config: events.ConfigVersion, Store: state.Format(), NATSServer: broker.ServerVersion,
		Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
	if c.JSON {
		a.json(v)
		return nil
	}
	out := &table{}
	out.add("processor", v.Version)
	out.add("rules", v.Rules)
	out.add("configuration", number(float64(v.Config)))
	out.add("store", v.Store)
	out.add("nats-server", v.NATSServer)
	out.add("go", v.Go+" "+v.Platform)
	a.printf("%s", out)
	return nil
}
