package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"go.uber.org/goleak"

	"precis/internal/broker/brokertest"
)

func TestMain(m *testing.M) {
	if what := os.Getenv(otherProcess); what != "" {
		serveOther(what)
		return
	}
	goleak.VerifyTestMain(m, append(brokertest.Leftovers(), goleak.Cleanup(func(status int) {
		removeBuilt()
		os.Exit(status) //nolint:forbidigo // as goleak does without a cleanup
	}))...)
}

func TestHelp(t *testing.T) {
	parser, err := kong.New(&cli{}, kong.Vars{"version": "v0"})
	if err != nil {
		t.Fatal(err)
	}
	commands := []string{""}
	for _, command := range parser.Model.Children {
		commands = append(commands, command.Name)
	}
	var all strings.Builder
	for _, name := range commands {
		got := program(t, "", append(strings.Fields(name), "--help")...)
		if got.status != exitDone || got.stderr != "" {
			t.Errorf("%s --help: status %d, stderr %s", name, got.status, got.stderr)
		}
		if name != "" && !strings.Contains(got.stdout, "    processor "+name) {
			t.Errorf("%s --help shows no example", name)
		}
		all.WriteString("$ processor " + strings.TrimSpace(name+" --help") + "\n" + got.stdout + "\n")
	}
	golden(t, "help.txt", all.String())
}

func TestUsage(t *testing.T) {
	for _, c := range []struct {
		args   []string
		stderr string
	}{
		{[]string{"nonsense"}, "unknown command \"nonsense\"\nSee processor --help."},
		{[]string{"tail", "--nonsense"}, "unknown flag --nonsense"},
		{[]string{"tail", "--from", "yesterday"}, "--from must be one of \"start\",\"now\""},
		{[]string{"tail", "--type", "thread.created"}, "--type: \"thread.created\" is not known; allowed: thread.message, tool.result"},
		{[]string{"tail", "--thread", ""}, "--thread: thread id must be 1 to 256 bytes"},
		{[]string{"thread"}, "missing argument: <thread>\nSee processor thread --help."},
		{[]string{"export", strings.Repeat("x", 300)}, "thread id must be 1 to 256 bytes"},
		{[]string{"message", "t", "m", "--lines", "9-3"}, "want A-B, counted from 1"},
		{[]string{"message", "t", "m", "--lines", "0"}, "want A-B, counted from 1"},
		{[]string{"publish", "no-such-file.jsonl"}, "no-such-file.jsonl"},
		{[]string{"publish", "."}, ". is a directory"},
		{[]string{"--config", "no-such-file.yaml"}, "no-such-file.yaml"},
		{[]string{"run", "--http", "", "--api", "", "--data", t.TempDir(), "--config", configured(t, "nats: {creds: no-such.creds}")}, "no-such.creds"},
		{[]string{"config", "--config", configured(t, "pricing: {file: no-such-prices.json}")}, "pricing.file: open no-such-prices.json"},
		{[]string{"config", "--config", configured(t, "nats: {url: \"nats://ann:s3cret@:4222\"}")}, `nats.url: "nats://ann:xxxxx@:4222" is not a server address`},
		{[]string{"thread", "t", "--tlscert", "cli_test.go"}, "--tlscert and --tlskey must be given together\nSee processor thread --help."},
		{[]string{"check", "--nats", "nats://127.0.0.1:1", "--tlskey", "cli_test.go"}, "--tlscert and --tlskey must be given together"},
		{[]string{"check", "--user", "ann"}, "--user requires --nats"},
		{[]string{"thread", "t", "--password", "word"}, "--password requires --user"},
		{[]string{"backup", "nats://127.0.0.1:1/b", "--user", "u", "--password", "word", "--place-password", "other"}, "--place-password requires --place-user"},
		{[]string{"thread", "t", "--nats", "nats://ann:s3cret@[h"}, `--nats: "nats://ann:xxxxx@[h" is not a server address`},
		{[]string{"summary", ""}, "the summary's id is empty"},
		{[]string{"rejected", "--retry", "0"}, "--retry 0: rejections count from 1"},
		{[]string{"context", "t", "--max-tokens=-1"}, "--max-tokens -1: give a number of tokens, or 0 for no limit"},
		{[]string{"audit", "t", "--at", "5", "--max-tokens=-1"}, "--max-tokens -1: give a number of tokens, or 0 for no limit"},
		{[]string{"audit", "t", "--max-tokens", "0"}, "--max-tokens and --format go with --at"},
		{[]string{"audit", "t", "--format", "messages"}, "--max-tokens and --format go with --at"},
		{[]string{"audit", "t", "--at", "5", "--format", "xml"}, "--format must be one of"},
		{[]string{"audit", "t", "--at", ""}, "--at is empty"},
		{[]string{"audit"}, "missing argument: <thread>, --head or --verify-head"},
		{[]string{"audit", "t", "--head"}, "--head and --verify-head cover all threads: omit <thread>"},
		{[]string{"audit", "--head", "--verify-head", "cli_test.go"}, "give --head or --verify-head, not both"},
		{[]string{"audit", "--head", "--html", "x.html"}, "--at, --html, --max-tokens and --format go with <thread>"},
		{[]string{"audit", "t", "--sign", "cli_test.go"}, "--sign goes with --head"},
		{[]string{"audit", "--head", "--sign", "cli_test.go"}, "--sign: read nkey seed"},
		{[]string{"audit", "--head", "--signer", "U"}, "--signer goes with --verify-head"},
		{[]string{"audit", "--verify-head", "cli_test.go", "--signer", "U"}, `--signer: "U" is not a public nkey`},
		{[]string{"audit", "--verify-head", "cli_test.go"}, "cli_test.go: not a head"},
		{[]string{"replay", "--thread", ""}, "--thread is empty\nSee processor replay --help."},
		{[]string{"export", "--records", "usage", "--agent", ""}, "--agent is empty"},
		{[]string{"export", "--records", "usage", "--csv", "--json"}, "give --csv or --json, not both"},
		{[]string{"export", "--records", "usage", "--from", "2026-02-01", "--to", "2026-01-01"}, "--from 2026-02-01 is later than --to 2026-01-01"},
		{[]string{"export", "--records", "invalidations", "--model", "m"}, "--model goes with summaries and usage"},
		{[]string{"tail", "--type", ""}, "--type is empty"},
		{[]string{"tail", "--until-caught-up"}, "--until-caught-up needs --from start"},
		{[]string{"run", "--nats-listen", "nowhere"}, "flag --nats-listen: nats.listen: \"nowhere\" is not a listen address"},
		{[]string{"run", "--log-level", "loud"}, "--log-level must be one of"},
		{[]string{"run", "--gateway", "127.0.0.1:8089", "--mode", "compact"}, "unknown flag --mode: set PRECIS_GATEWAY_MODE, or gateway.mode in the configuration file; \"processor gateway\" has it as a flag\nSee processor run --help."},
		{[]string{"--gateway", "127.0.0.1:8089", "--openai=http://127.0.0.1:1"}, "unknown flag --openai: set PRECIS_GATEWAY_OPENAI"},
		{[]string{"thread", "t", "--mode", "compact"}, "unknown flag --mode\n"},
		{[]string{"run", "--nats"}, "--nats needs a value, such as nats://127.0.0.1:4222\nSee processor run --help."},
		{[]string{"audit", "t", "--html"}, "--html needs a value, such as story.html\n"},
		{[]string{"run", "--tlskey"}, "--tlskey needs a value, such as client-key.pem\n"},
		{[]string{"export", "t", "--records"}, "--records needs a value: summaries, invalidations, usage\n"},
		{[]string{"export", "t", "--records", "events"}, `--records must be one of "summaries","invalidations","usage" but got "events"`},
		{[]string{"summary", "sum_1", "--user"}, "--user needs a value\n"},
		{[]string{"context", "t", "--max-tokens", "many"}, `--max-tokens "many": give a whole number`},
		{[]string{"context", "t", "--max-tokens", "-5"}, `--max-tokens "-5": give a whole number of 0 or more`},
		{[]string{"context", "t", "--frmat", "openai"}, "unknown flag --frmat; did you mean --format?"},
		{[]string{"context", "t", "u"}, `unexpected argument "u"`},
		{[]string{"contxt"}, `unknown command "contxt"; did you mean "context"?`},
		{[]string{"expotr", "t"}, `unknown command "expotr"; did you mean "export"?`},
		{[]string{"xyzzy"}, "unknown command \"xyzzy\"\n"},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			program(t, "", c.args...).wants(t, exitUsage, "", c.stderr)
		})
	}
}

// What can't be written is told, also where the command has done all else.
func TestResultsThatCannotBeWritten(t *testing.T) {
	for _, args := range [][]string{{"config"}, {"config", "--json"}, {"demo"}, {"demo", "--json"}} {
		var stderr bytes.Buffer
		if status := run(t.Context(), args, strings.NewReader(""), full{}, &stderr); status != exitUnreachable || !strings.Contains(stderr.String(), "processor: write: disk full") {
			t.Errorf("%v: status %d, %s", args, status, stderr.String())
		}
	}
}

// full takes nothing.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("disk full") }

// configured writes a configuration file.
func configured(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "precis.yaml")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestNoServer(t *testing.T) {
	t.Setenv("NATS_URL", "nats://127.0.0.1:1")
	for _, args := range [][]string{{"tail"}, {"thread", "t"}, {"export", "t"}, {"rejected"}, {"publish", "-"}} {
		program(t, "", args...).wants(t, exitUnreachable, "", "connect to nats://127.0.0.1:1: no server there")
	}
	got := program(t, "", "run", "--data", t.TempDir(), "--http", "", "--api", "", "--nats", "nats://ann:s3cret@127.0.0.1:1")
	got.wants(t, exitUnreachable, "", "connect to nats://ann:xxxxx@127.0.0.1:1: no server reachable")
	t.Setenv("NATS_URL", "nats://s3cret@127.0.0.1:1")
	program(t, "", "thread", "t").wants(t, exitUnreachable, "", "connect to nats://xxxxx@127.0.0.1:1: no server there")
}

func TestNoStreamsAndNoProcessor(t *testing.T) {
	b := newBareServer(t)
	for _, args := range [][]string{{"tail"}, {"export", "t"}, {"rejected"}, {"rejected", "--retry", "1"}, {"publish", "-"}} {
		command(t, b, "", args...).wants(t, exitUnreachable, "", "has a processor run against it?")
	}
	for _, args := range [][]string{{"thread", "t"}, {"message", "t", "m"}, {"summary", "sum_1"}} {
		command(t, b, "", args...).wants(t, exitUnreachable, "", "no processor answers at "+b.URL())
	}
}

func TestConfig(t *testing.T) {
	t.Setenv("PRECIS_PARTITIONS", "4")
	program(t, "", "config", "--data", "/srv/precis").wants(t, exitDone, "# flag --data", "")
	program(t, "", "config", "--json").wants(t, exitDone, `{"key":"partitions","value":4,"origin":"env PRECIS_PARTITIONS"}`, "")
	for _, form := range [][]string{{"config"}, {"config", "--json"}} {
		t.Setenv("PRECIS_NATS_URL", "nats://ann:s3cret@host:4222")
		program(t, "", form...).wants(t, exitDone, "nats://ann:xxxxx@host:4222", "")
	}
	t.Setenv("PRECIS_PARTITIONS", "four")
	program(t, "", "config").wants(t, exitUsage, "", `env PRECIS_PARTITIONS: partitions: "four" is not a whole number`)
}
