package rules

import (
	"fmt"
	"strings"
	"testing"
)

// TestRecordsShowWhatTheySay: an error record in a long log is shown with its message and its error, wherever they are in it.
func TestRecordsShowWhatTheySay(t *testing.T) {
	line := func(n int, level, more string) string {
		return fmt.Sprintf(`{"level":"%s","ts":"2026-03-02T10:1%d:22.731Z","logger":"worker.consumer","caller":"consumer/loop.go:131","request_id":"req-%08x","region":"eu-west-1","pod":"orders-worker-5f6d9c8b7-c5r7x",%s}`+"\n", level, n%6, n*7919, more)
	}
	var log strings.Builder
	for n := range 60 {
		log.WriteString(line(n, "info", fmt.Sprintf(`"msg":"order processed","order_id":"ord_%06d"`, n*131)))
		if n == 30 {
			log.WriteString(line(n, "error", `"msg":"could not charge the card","order_id":"ord_1","error":"rpc error: deadline exceeded while calling Charge","attempt":3`))
		}
	}
	for name, in := range map[string]Input{
		"among other lines": {ToolName: "bash", Content: "Starting 4 workers\n" + log.String() + "stopped\n"},
		"alone":             {ToolName: "bash", Content: log.String()},
		"with spaces":       {ToolName: "bash", Content: "Starting 4 workers\n" + strings.NewReplacer(`":`, `": `, `,"`, `, "`).Replace(log.String())},
		"behind a name":     {ToolName: "bash", Content: "Attaching to api-1, db-1\n" + strings.ReplaceAll(log.String(), `{"level`, `api-1  | {"level`)},
	} {
		in.MessageID, in.MaxChars, in.PreserveErrors = "m1", 800, true
		out := ToolOutput(in)
		for _, want := range []string{"could not charge the card", "rpc error: deadline exceeded while calling Charge"} {
			if !strings.Contains(out.Text, want) {
				t.Errorf("%s: no %q in\n%s", name, want, out.Text)
			}
		}
	}
}
