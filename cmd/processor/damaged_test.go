package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"precis/internal/broker"
	"precis/internal/processor"
)

// A log that its server can't read whole any more: every command that reads it ends, says which sequences are
// missing, and does not blame the store; the processor works on, and says it.
func TestDamagedLog(t *testing.T) {
	dir := t.TempDir()
	p := startProcessor(t, dir)
	for n := range 30 {
		p.do(t, strings.ReplaceAll(sampleThread(), "t 1", fmt.Sprint("t", n)), "publish", "-").wants(t, exitDone, "", "")
	}
	p.awaits(t, "summary.invalidated", 30)
	p.stop()
	seq := overwrite(t, dir, broker.StreamSummaries)
	gap := fmt.Sprintf("the log has a gap: SUMMARIES %d is deleted or unreadable", seq)

	check := program(t, "", "check", "--data", dir)
	check.wants(t, exitWrong, gap, "the log is damaged: restore it")
	if strings.Contains(check.stderr, "state in the data directory") {
		t.Errorf("the store is blamed:\n%s", check.stderr)
	}
	program(t, "", "check", "--data", dir, "--json").wants(t, exitWrong, fmt.Sprintf(`"missing":["SUMMARIES %d"]`, seq), "")
	program(t, "", "replay", "--data", dir).wants(t, exitWrong, fmt.Sprintf("record %d", seq), "")

	if err := os.RemoveAll(processor.StoreDir(dir)); err != nil {
		t.Fatal(err)
	}
	v := newVictim(t, build(t))
	v.dir, v.args = dir, []string{"--http", freeAddress(t)}
	v.start(t)
	v.awaitRunning(t)
	tail := program(t, "", "tail", "--from", "start", "--until-caught-up", "--json", "--nats", v.url())
	tail.wants(t, exitWrong, `"type":"summary.created"`, gap)
	response, err := http.Get("http://" + v.args[1] + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	metrics, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(metrics), "precis_log_missing_total{stream=\"SUMMARIES\"} 1\n") {
		t.Error("no metric tells the gap")
	}
	v.stop(t)
	if !strings.Contains(v.logs.String(), fmt.Sprintf(`"missing":"SUMMARIES %d"`, seq)) {
		t.Errorf("the gap is not in the processor's log:\n%s", v.logs)
	}
}

// overwrite damages the middle of a stream's only file, and says which message can't be read any more.
func overwrite(t *testing.T, dir, stream string) uint64 {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(processor.BrokerDir(dir), "jetstream", "*", "streams", stream, "msgs", "*.blk"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v %v", files, err)
	}
	f, err := os.OpenFile(files[0], os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte("XXXX"), info.Size()/2); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	b := open(t, processor.BrokerDir(dir), "")
	defer shut(t, b)
	var missing []broker.Missing
	log := broker.NewLogReader(b.JetStream(), stream).Watch(func(m broker.Missing) { missing = append(missing, m) })
	err = log.Scan(t.Context(), 1, nil, func(broker.Stored) error { return nil }, nil)
	if err != nil || len(missing) != 1 || missing[0].Messages() != 1 {
		t.Fatalf("missing %v, %v", missing, err)
	}
	return missing[0].From
}
