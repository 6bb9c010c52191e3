package main

import (
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

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
		{[]string{"nonsense"}, "unexpected argument nonsense\nSee processor --help."},
		{[]string{"tail", "--nonsense"}, "unknown flag --nonsense"},
		{[]string{"tail", "--from", "yesterday"}, "--from must be one of \"start\",\"now\""},
		{[]string{"tail", "--type", "thread.created"}, "--type: \"thread.created\" is not known; allowed: thread.message, tool.result"},
		{[]string{"tail", "--thread", ""}, "--thread: thread id must be 1 to 256 bytes"},
		{[]string{"thread"}, "expected \"<thread>\"\nSee processor thread --help."},
		{[]string{"export", strings.Repeat("x", 300)}, "thread id must be 1 to 256 bytes"},
		{[]string{"message", "t", "m", "--lines", "9-3"}, "want A-B, counted from 1"},
		{[]string{"message", "t", "m", "--lines", "0"}, "want A-B, counted from 1"},
		{[]string{"publish", "no-such-file.jsonl"}, "no-such-file.jsonl"},
		{[]string{"publish", "."}, ". is a directory"},
		{[]string{"--config", "no-such-file.yaml"}, "no-such-file.yaml"},
		{[]string{"run", "--nats-listen", "nowhere"}, "flag --nats-listen: nats.listen: \"nowhere\" is no address"},
		{[]string{"run", "--log-level", "loud"}, "--log-level must be one of"},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			program(t, "", c.args...).wants(t, exitUsage, "", c.stderr)
		})
	}
}

func TestNoServer(t *testing.T) {
	t.Setenv("NATS_URL", "nats://127.0.0.1:1")
	for _, args := range [][]string{{"tail"}, {"thread", "t"}, {"export", "t"}, {"rejected"}, {"publish", "-"}} {
		program(t, "", args...).wants(t, exitUnreachable, "", "connect to nats://127.0.0.1:1: no server there")
	}
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
	t.Setenv("PRECIS_PARTITIONS", "four")
	program(t, "", "config").wants(t, exitUsage, "", `env PRECIS_PARTITIONS: partitions: "four" is not a whole number`)
}
