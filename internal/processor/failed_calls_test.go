package processor_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"precis/internal/processor"
)

// A record of a call that failed has a code alone. The log has the status and the provider's names for the error, and at the
// debug level what it says besides, which may repeat the request.
func TestFailedCallsAreLogged(t *testing.T) {
	const names, message = `"status":404,"said":"invalid_request_error: model_not_found"`, "no such model for: compiled pkg/part1.go"
	for level, wants := range map[zerolog.Level]bool{zerolog.InfoLevel: false, zerolog.DebugLevel: true} {
		m := newModel(t, func(_ int64, w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"error":{"type":"invalid_request_error","code":"model_not_found","message":"`+message+`"}}`)
		})
		var said bytes.Buffer
		b := openBroker(t, t.TempDir())
		p, stop := servingUntil(t, processor.Options{Config: byModel(t, m), Logger: zerolog.New(zerolog.SyncWriter(&said)).Level(level), Broker: b})
		put(t, b.Conn(), "tool.result.t1", toolResult("m1", 200))
		ended(t, p, "t1", 2) // summary.started, summary.created by rules
		stop()
		if log := said.String(); !strings.Contains(log, names) || !strings.Contains(log, `"code":"bad_request"`) || strings.Contains(log, message) != wants {
			t.Errorf("level %s:\n%s", level, log)
		}
	}
}
