package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/rs/zerolog"

	"precis/internal/broker"
	"precis/internal/processor"
	"precis/state"
)

// backupFixture is a backup of the first format, which every later program has to restore. UPDATE_FIXTURE=1 makes it anew; that is for a new
// format alone, beside this one.
const backupFixture = "testdata/backup-1"

func TestBackupFixture(t *testing.T) {
	if os.Getenv("UPDATE_FIXTURE") != "" {
		p := startProcessor(t, t.TempDir())
		p.do(t, sampleThread(), "publish", "-").wants(t, exitDone, "", "")
		p.awaits(t, "summary.invalidated", 1)
		p.awaits(t, "event.rejected", 1)
		p.do(t, "", "backup", backupFixture).wants(t, exitDone, "EVENTS     up to 7", "")
		p.stop()
	}
	dir := filepath.Join(t.TempDir(), "data")
	program(t, "", "restore", backupFixture, "--data", dir).wants(t, exitDone, "EVENTS     7 messages, up to 7", "")
	alone := program(t, "", "replay", "--data", dir)
	alone.wants(t, exitDone, "No discrepancies", "No store in")
	if strings.Contains(alone.stdout, "compared with the log") {
		t.Errorf("no store was compared: %s", alone.stdout)
	}
	program(t, "", "savings", "--data", dir).wants(t, exitDone, "", "the log is all that is needed.")
	p := startProcessor(t, dir)
	p.awaitThread(t, "t 1", "2 messages, 1 tool result, 2 edits")
	p.stop()
	program(t, "", "check", "--data", dir).wants(t, exitDone, " 0 problems", "")
	program(t, "", "replay", "--data", dir).wants(t, exitDone, "No discrepancies", "")
}

// A backup that is taken while agents publish is restored to a state that every check finds right, again and again.
func TestBackupWhileRunning(t *testing.T) {
	data, backup := t.TempDir(), filepath.Join(t.TempDir(), "backup")
	p := startProcessor(t, data)
	published := make(chan struct{})
	go func() {
		defer close(published)
		for i := range 30 {
			thread := strings.ReplaceAll(sampleThread(), `"t 1"`, fmt.Sprintf(`"t%d"`, i))
			p.do(t, thread, "publish", "-").wants(t, exitDone, "7 events", "")
		}
	}()
	for running := true; running; {
		select {
		case <-published:
			running = false
		default:
		}
		p.do(t, "", "backup", backup, "--json").wants(t, exitDone, `"missing":[]`, "")
	}
	p.stop()
	program(t, "", "backup", backup, "--data", data, "--json").wants(t, exitDone, `"missing":[]`, "")
	p = startProcessor(t, data)
	whole := threads(t, p)
	p.stop()
	var manifest struct {
		Points []struct {
			At      string `json:"at"`
			Streams []struct {
				LastSeq int `json:"last_seq"`
			} `json:"streams"`
		} `json:"points"`
	}
	text, err := os.ReadFile(filepath.Join(backup, "backup.json"))
	if err != nil || json.Unmarshal(text, &manifest) != nil || len(manifest.Points) < 3 {
		t.Fatalf("%v: %.1000s", err, text)
	}
	last := len(manifest.Points) - 1
	for _, i := range []int{0, last / 3, last * 2 / 3, last - 1, last} {
		at := manifest.Points[i]
		dir := filepath.Join(t.TempDir(), "data")
		program(t, "", "restore", backup, "--data", dir, "--at", at.At).wants(t, exitDone, "Restored", "")
		program(t, "", "replay", "--data", dir).wants(t, exitDone, "No discrepancies", "")
		again := startProcessor(t, dir)
		if i == last && threads(t, again) != whole {
			t.Error("a thread is not what it was")
		}
		again.stop() // in order: it has caught up
		program(t, "", "check", "--data", dir).wants(t, exitDone, " 0 problems", "")
		program(t, "", "replay", "--data", dir).wants(t, exitDone, "No discrepancies", "")
	}
}

// threads is what a processor says of those of TestBackupWhileRunning.
func threads(t *testing.T, p running) string {
	t.Helper()
	var all strings.Builder
	for i := range 30 {
		got := p.do(t, "", "thread", fmt.Sprintf("t%d", i), "--json")
		got.wants(t, exitDone, `"tool_results":1`, "")
		all.WriteString(got.stdout)
	}
	return all.String()
}

// Streams and a store that hold something stay, or are renamed where that is asked for.
func TestRestoreIntoData(t *testing.T) {
	dir, backup := filepath.Join(t.TempDir(), "kept"), filepath.Join(t.TempDir(), "backup")
	program(t, "", "demo", "--keep", dir).wants(t, exitDone, "", "")
	program(t, "", "backup", backup, "--data", filepath.Join(dir, "none")).wants(t, exitUsage, "", "no streams in")
	program(t, "", "restore", t.TempDir(), "--data", dir).wants(t, exitUsage, "", "no backup in")
	first := program(t, "", "backup", backup, "--data", dir)
	first.wants(t, exitDone, "EVENTS", "")
	program(t, "", "backup", dir, "--data", dir).wants(t, exitUsage, "", "has other files")

	for _, refused := range [][]string{{}, {"--at", "2020-01-01T00:00:00Z", "--overwrite"}} {
		program(t, "", append([]string{"restore", backup, "--data", dir}, refused...)...).wants(t, exitUsage, "", "processor: restore: ")
	}
	program(t, "", "restore", backup, "--data", dir, "--nats", "nats://127.0.0.1:1").wants(t, exitUsage, "", "can't be used together")
	program(t, "", "restore", backup, "--data", dir, "--at", "noon").wants(t, exitUsage, "", "is not a time")
	program(t, "", "restore", backup, "--data", dir, "--all-events").wants(t, exitUsage, "", "requires --at")
	program(t, "", "restore", backup, "--dry-run").wants(t, exitDone, "It was not restored.", "")
	// The point is found by the time as it was printed in the last line.
	_, last, _ := strings.Cut(first.stdout, "Backup of ")
	when, _, _ := strings.Cut(last, " in ")
	program(t, "", "restore", backup, "--dry-run", "--at", when).wants(t, exitDone, "The backup of "+when+" is complete.", "")
	program(t, "", "check", "--data", dir).wants(t, exitDone, " 0 problems", "")

	// What a killed restore has left is taken away; a store without streams is that of others.
	if err := os.MkdirAll(filepath.Join(dir, "nats.restoring", "jetstream"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(processor.BrokerDir(dir)); err != nil {
		t.Fatal(err)
	}
	program(t, "", "restore", backup, "--data", dir).wants(t, exitUsage, "", "is the store of other streams")
	program(t, "", "restore", backup, "--data", dir, "--overwrite", "--json").wants(t, exitDone, "state-before-", "")
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if e.Name() == "nats.restoring" || e.Name() == "state" {
			t.Errorf("%s is there", e.Name())
		}
	}
	if err != nil {
		t.Fatal(err)
	}

	// A store in use is kept, also where its streams are on a server elsewhere.
	store, err := state.Open(processor.StoreDir(dir), state.Options{Logger: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	program(t, "", "restore", backup, "--data", dir, "--overwrite").wants(t, exitUnreachable, "", "is in use")
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	// So are streams that a start would find while the restore is under way.
	release, err := broker.LockStreams(processor.BrokerDir(dir))
	if err != nil {
		t.Fatal(err)
	}
	program(t, "", "run", "--data", dir, "--nats-listen", "127.0.0.1:0", "--http", "", "--api", "").wants(t, exitUnreachable, "", "is held by process")
	release()

	// A running processor keeps its streams.
	p := startProcessor(t, dir)
	program(t, "", "restore", backup, "--data", dir, "--overwrite").wants(t, exitUnreachable, "", "stop the processor")
	p.do(t, "", "restore", backup, "--overwrite").wants(t, exitUsage, "", "a processor answers there: stop it first (its id as a service is \"")
	p.do(t, "", "backup", backup).wants(t, exitDone, "0 messages copied", "")
	p.stop()
}

// A streams' file that can't be read is worth a restore, which keeps it.
func TestRestoreOverDamage(t *testing.T) {
	dir, backup := filepath.Join(t.TempDir(), "kept"), filepath.Join(t.TempDir(), "backup")
	program(t, "", "demo", "--keep", dir).wants(t, exitDone, "", "")
	program(t, "", "backup", backup, "--data", dir).wants(t, exitDone, "", "")
	blocks, err := filepath.Glob(filepath.Join(processor.BrokerDir(dir), "jetstream", "*", "streams", "*", "msgs", "*.blk"))
	if err != nil || len(blocks) == 0 {
		t.Fatal(err)
	}
	for _, block := range blocks {
		if err := os.WriteFile(block, []byte("worn out"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	program(t, "", "restore", backup, "--data", dir, "--overwrite").wants(t, exitDone, "nats-before-", "")
	program(t, "", "replay", "--data", dir).wants(t, exitDone, "No discrepancies", "")
}
