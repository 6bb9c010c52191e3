package main

import (
	"context"
	"runtime"

	"precis/cmd/processor/console"
	"precis/events"
	"precis/internal/broker"
	"precis/schemas"
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
	Rules      string `json:"rules_version"`   // of summaries by rules: another one may make other texts
	Config     int    `json:"config_version"`  // of config.applied; a program refuses a newer one
	Store      string `json:"store_format"`    // a program refuses any other one
	Schemas    string `json:"schemas_version"` // of events, records, requests and replies
	NATSServer string `json:"nats_server"`     // the embedded one
	Go         string `json:"go"`
	Platform   string `json:"platform"`
}

// Run prints the versions.
func (c *versionCmd) Run(_ context.Context, a *console.App) error {
	v := versions{
		Version: console.Version(), Rules: rules.Version, Config: events.ConfigVersion, Store: state.Format(), Schemas: schemas.Version, NATSServer: broker.ServerVersion,
		Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
	if c.JSON {
		a.JSON(v)
		return nil
	}
	out := &console.Table{}
	out.Add("processor", v.Version)
	out.Add("rules", v.Rules)
	out.Add("configuration", console.Number(float64(v.Config)))
	out.Add("store", v.Store)
	out.Add("schemas", v.Schemas)
	out.Add("nats-server", v.NATSServer)
	out.Add("go", v.Go+" "+v.Platform)
	a.Printf("%s", out)
	return nil
}
