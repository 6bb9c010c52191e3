package main

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/rs/zerolog"

	"precis/internal/broker"
	"precis/internal/processor"
)

// A store is held against the log of a server that wants a token; the log in the data directory wants none.
func TestCheckWithToken(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "kept")
	program(t, "", "demo", "--keep", dir).wants(t, exitDone, "", "")
	t.Setenv("NATS_TOKEN", "s3cret")
	program(t, "", "check", "--data", dir).wants(t, exitDone, "0 problems", "")
	program(t, "", "check", "--data", dir, "--nats", "nats://ann:s3cret@[h").wants(t, exitUsage, "", `"nats://ann:xxxxx@[h" is not a server address`)
	t.Setenv("NATS_TOKEN", "")

	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	b, err := broker.Open(ctx, broker.Options{
		Listen: "127.0.0.1:0", StoreDir: processor.BrokerDir(dir), Token: "s3cret", Logger: zerolog.Nop(),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { shut(t, b) })
	check := []string{"check", "--data", dir, "--nats", b.URL()}
	program(t, "", check...).wants(t, exitUnreachable, "", "Authorization Violation")
	program(t, "", append(check, "--token", "s3cret")...).wants(t, exitDone, "compared with the log in nats://", "")
}
