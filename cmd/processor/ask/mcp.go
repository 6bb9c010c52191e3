package ask

import (
	"context"
	"errors"
	"io"

	"precis/cmd/processor/console"
	"precis/cmd/processor/remote"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"precis/api"
	"precis/internal/mcp"
)

// MCP gives a model tools that look behind its compacted prompt.
type MCP struct {
	remote.Login
	NATS         string `name:"nats" env:"NATS_URL" placeholder:"URL" group:"Server" help:"NATS server (nats://127.0.0.1:4222)."`
	Thread       string `placeholder:"ID" help:"The only thread that the model may look at. It need not name it then."`
	ThreadPrefix string `name:"thread-prefix" placeholder:"TEXT" help:"Threads that the model may look at: those whose ids begin with this. Default: all."`
}

// Help shows how an agent starts it.
func (MCP) Help() string {
	return `Serves the Model Context Protocol on standard input and output, as agents start it: the tools read_original, search_thread, explain_prompt and thread_status, by the processor behind the NATS server. The same tools are at /mcp of the HTTP API.

Examples:

    claude mcp add precis -- processor mcp --thread demo-1
    processor mcp --thread-prefix team-a/ --nats nats://nats.internal:4222`
}

// Run serves until the client closes its end.
func (c *MCP) Run(ctx context.Context, a *console.App) error {
	if c.Thread != "" && c.ThreadPrefix != "" {
		return console.Usage("give --thread or --thread-prefix, not both")
	}
	s, err := remote.Flags{NATS: c.NATS, Login: c.Login}.Connect(a)
	if err != nil {
		return err
	}
	defer s.Close()
	client, err := api.NewClient(s.Conn, api.ClientOptions{})
	if err != nil {
		return console.Unreachable("%w", err)
	}
	a.Stdout.Raw = true // JSON for a program; it is not shown as it is
	tools := mcp.New(mcp.Options{Asker: client, Thread: c.Thread, Prefix: c.ThreadPrefix, Version: console.Version()})
	err = tools.Run(ctx, &sdk.IOTransport{Reader: io.NopCloser(a.Stdin), Writer: keptOpen{a.Stdout}})
	if err != nil && ctx.Err() == nil && !errors.Is(err, io.EOF) {
		return console.Wrong("serve MCP: the client sends what is not the protocol: %w", err)
	}
	return nil
}

// keptOpen is an output that the transport does not close.
type keptOpen struct{ io.Writer }

func (keptOpen) Close() error { return nil }
