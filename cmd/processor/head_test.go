package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nkeys"
)

// A head that was printed and signed is verified while the log goes on, and not against another log.
func TestAuditHead(t *testing.T) {
	p := startProcessor(t, t.TempDir())
	p.do(t, sampleThread(), "publish", "-").wants(t, exitDone, "7 events", "")
	p.awaits(t, "summary.invalidated", 1)
	pair, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	seed, err := pair.Seed()
	if err != nil {
		t.Fatal(err)
	}
	public, err := pair.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	keep := func(name, text string) string {
		t.Helper()
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	unsigned := p.do(t, "", "audit", "--head")
	unsigned.wants(t, exitDone, `{"stream":"SUMMARIES","stream_created":"`, "")
	signed := p.do(t, "", "audit", "--head", "--json", "--sign", keep("seed.nk", string(seed)+"\n"))
	signed.wants(t, exitDone, `"signer":"`+public+`","signature":"`, "")
	plain, head := keep("plain.json", unsigned.stdout), keep("head.json", signed.stdout)

	p.do(t, strings.ReplaceAll(sampleThread(), `"t 1"`, `"t 2"`), "publish", "-").wants(t, exitDone, "7 events", "")
	p.awaits(t, "summary.invalidated", 2)
	p.do(t, "", "audit", "--verify-head", plain).wants(t, exitDone, "head holds: ", "")
	p.do(t, "", "audit", "--verify-head", plain).wants(t, exitDone, "not signed", "")
	p.do(t, "", "audit", "--verify-head", head, "--signer", public).wants(t, exitDone, "signed by "+public, "")
	p.do(t, "", "audit", "--verify-head", head, "--json").wants(t, exitDone, `{"holds":true,"signer":"`+public+`","differences":[]}`, "")
	p.do(t, "", "audit", "--verify-head", plain, "--signer", public).wants(t, exitWrong, "unsigned", "the head does not hold: 1 difference")
	forged := keep("forged.json", strings.Replace(signed.stdout, `"chains":`, `"chains":1`, 1))
	p.do(t, "", "audit", "--verify-head", forged, "--json").wants(t, exitWrong, `{"what":"signature"`, "the head does not hold: 2 differences")
	p.do(t, "", "audit", "--verify-head", forged).wants(t, exitWrong, "\nchains ", "")

	other := startProcessor(t, t.TempDir())
	other.do(t, "", "audit", "--verify-head", head).wants(t, exitWrong, "\nstream_created ", "")
	other.do(t, "", "audit", "--verify-head", head).wants(t, exitWrong, "the stream ends at ", "")
}

// The verifier among the examples reads what tail prints, and names a record that was altered in it.
func TestVerifyTail(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skipf("no python3: %v", err)
	}
	p := startProcessor(t, t.TempDir())
	p.do(t, sampleThread(), "publish", "-").wants(t, exitDone, "7 events", "")
	p.awaits(t, "summary.invalidated", 1)
	log := p.do(t, "", "tail", "--from", "start", "--until-caught-up", "--json").stdout
	for _, c := range []struct {
		log    string
		status int
		want   string
	}{
		{log, exitDone, "1 of 1 summaries match their sources, 0 not checked for missing or ambiguous sources; problems: 0"},
		{strings.Replace(log, "Matches: 120", "Matches: 12", 1), exitWrong, "summary.created of thread 't 1': record 1 ("},
	} {
		run := exec.CommandContext(t.Context(), python, "../../examples/wire/verify.py")
		run.Stdin = strings.NewReader(c.log)
		out, err := run.CombinedOutput()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		if status := run.ProcessState.ExitCode(); status != c.status || !strings.Contains(string(out), c.want) {
			t.Errorf("status %d, want %d and %q:\n%s", status, c.status, c.want, out)
		}
	}
}
