package main

import (
	"testing"

	"github.com/rs/zerolog"

	"precis/internal/broker"
)

// An address that other machines reach takes credentials, or a word that none are wanted.
func TestOpenAddressesAreRefused(t *testing.T) {
	t.Setenv("WORD", "secret")
	for _, c := range []struct {
		args   []string
		status int
		stderr string
	}{
		{[]string{"run", "--data", t.TempDir(), "--nats-listen", "0.0.0.0:0"}, exitUsage, "allow it with --insecure"},
		{[]string{"run", "--data", t.TempDir(), "--http", "0.0.0.0:0"}, exitUsage, "flag --http: http.listen: 0.0.0.0:0 is open to other machines"},
		{[]string{"config", "--nats-listen", "0.0.0.0:0", "--http", "0.0.0.0:0", "--insecure"}, exitDone, ""},
		{[]string{"config", "--nats-listen", "0.0.0.0:0", "--user", "me", "--password-env", "WORD"}, exitDone, ""},
		{[]string{"config", "--nats-listen", "0.0.0.0:0", "--token-env", "WORD"}, exitDone, ""},
		{[]string{"config", "--nats-listen", "0.0.0.0:0", "--user", "me", "--password", "word"}, exitDone, ""},
		{[]string{"config", "--nats-listen", "0.0.0.0:0", "--token", "word"}, exitDone, ""},
	} {
		program(t, "", c.args...).wants(t, c.status, "", c.stderr)
	}
}

// A server that refuses the processor is an error that says whom it refuses, and what to set.
func TestRunIsRefused(t *testing.T) {
	t.Setenv("WORD", "guess")
	b, err := broker.Open(t.Context(), broker.Options{
		Listen: "127.0.0.1:0", User: "me", Password: "secret", StoreDir: t.TempDir(), Sync: "1m", Logger: zerolog.Nop(),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { shut(t, b) })
	for _, c := range []struct {
		args   []string
		stderr string
	}{
		{nil, "credentials refused: the server requires credentials; set nats.user and nats.password_env, nats.creds or nats.token_env (--user and --password-env, --creds, --token-env)"},
		{[]string{"--user", "me", "--password-env", "WORD"}, `credentials refused: the server rejects user "me" with this password`},
		{[]string{"--user", "me", "--password", "guess"}, `credentials refused: the server rejects user "me" with this password`},
		{[]string{"--token-env", "WORD"}, "credentials refused: the server rejects the token"},
		{[]string{"--token", "guess"}, "credentials refused: the server rejects the token"},
	} {
		args := append([]string{"run", "--data", t.TempDir(), "--http", "", "--api", "", "--nats", b.URL()}, c.args...)
		program(t, "", args...).wants(t, exitUnreachable, "", c.stderr)
	}
}
