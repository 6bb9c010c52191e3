package audit_test

import (
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"precis/events"
	"precis/internal/broker"
)

// eventFile is the log as processor tail --json prints it.
func (w *world) eventFile(streams ...[]broker.Stored) []byte {
	w.t.Helper()
	var out bytes.Buffer
	file := events.NewFileWriter(&out)
	for _, m := range slices.Concat(streams...) {
		typ, token, ok := events.ParseSubject(m.Subject)
		data, rej := events.Data(events.Raw{Subject: m.Subject, Header: m.Header, Body: m.Data})
		if !ok || rej != nil {
			continue
		}
		name, err := events.ThreadOf(token)
		if err != nil {
			name = "" // a partition's
		}
		if err := file.Write(typ, name, data); err != nil && typ != events.ToolResult { // the story has one that is no JSON
			w.t.Fatal(err)
		}
	}
	return out.Bytes()
}

// verified runs the verifier of the examples.
func verified(t testing.TB, log []byte) (report string, status int) {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skipf("no python3: %v", err)
	}
	run := exec.CommandContext(within(t), python, "../../examples/wire/verify.py")
	run.Stdin = bytes.NewReader(log)
	out, err := run.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(out), run.ProcessState.ExitCode()
}

// The recipes of schemas/README.md, as written down in another language, verify what a processor published: tool outputs,
// compactions, edits, rejections and a model's texts. They name one record that was altered.
func TestRecipesInPython(t *testing.T) {
	w := newWorld(t)
	w.story()
	log, rejected, records := w.messages(broker.StreamEvents), w.messages(broker.StreamRejected), w.messages(broker.StreamSummaries)
	report, status := verified(t, w.eventFile(log, rejected, records))
	created := 0
	for _, m := range records {
		if strings.HasPrefix(m.Subject, string(events.SummaryCreated)) {
			created++
		}
	}
	want := fmt.Sprintf("%d records in 8 chains; %d of %d summaries match their sources, 0 not checked for missing or ambiguous sources; problems: 0\n",
		len(records), created, created)
	if status != 0 || report != want {
		t.Errorf("status %d: %s, want %s", status, report, want)
	}

	at := nth(t, records, events.SummaryCreated, "rules", 1)
	id := summaryIn(records, at)
	for name, c := range map[string]struct {
		change map[string]any
		reseal bool
		want   string
	}{
		"a text":                            {map[string]any{"content": "Nothing happened."}, false, "(" + id + ") does not follow on the record before"},
		"a source digest, the chain anew":   {map[string]any{"source_digest": "sha256:00"}, true, id + " has a source_digest that its sources never had"},
		"a policy, the chain made anew":     {map[string]any{"policy_fingerprint": "sha256:00"}, true, id + " is not the id of what the record says"},
		"a place in its thread, not sealed": {map[string]any{"chain_seq": 9}, false, "chain_seq 9 where"},
	} {
		t.Run(name, func(t *testing.T) {
			altered := slices.Clone(records)
			altered[at].Data = set(t, altered[at].Data, c.change)
			if c.reseal {
				reseal(t, altered)
			}
			report, status := verified(t, w.eventFile(log, rejected, altered))
			if status != 1 || !strings.Contains(report, c.want) {
				t.Errorf("status %d, want 1 and %q:\n%s", status, c.want, report)
			}
		})
	}
	t.Run("a source", func(t *testing.T) {
		altered := slices.Clone(log)
		for i, m := range altered {
			if strings.Contains(string(m.Data), `"message_id":"m2"`) {
				altered[i].Data = []byte(output("m2", 86, ""))
			}
		}
		report, status := verified(t, w.eventFile(altered, rejected, records))
		of := slices.IndexFunc(records, func(m broker.Stored) bool { // the model's jobs end in any order
			return m.Subject == string(events.SummaryCreated)+".model" && strings.Contains(string(m.Data), `"source_message_ids":["m2"]`)
		})
		if want := summaryIn(records, of) + " has a source_digest that its sources never had"; status != 1 || !strings.Contains(report, want) {
			t.Errorf("status %d, want 1 and %q:\n%s", status, want, report)
		}
	})
}
