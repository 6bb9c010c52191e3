package main

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
)

// A client that was given the port of probes and metrics learns where the API and the pages are, and that they are off.
func TestPortOfMetricsNamesTheAPI(t *testing.T) {
	for _, c := range []struct{ api, says string }{{"127.0.0.1:0", "(/ui) listen on 127.0.0.1:"}, {"", "(/ui) are off (api.listen, --api)"}} {
		web := freeAddress(t)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		log := newSeen(`"running"`)
		ended := make(chan int, 1)
		go func() {
			ended <- run(ctx, []string{"--data", t.TempDir(), "--nats-listen", "127.0.0.1:0", "--http", web, "--api", c.api, "--log-format", "json"}, strings.NewReader(""), io.Discard, log)
		}()
		select {
		case <-log.there:
		case status := <-ended:
			t.Fatalf("status %d: %s", status, log)
		}
		for path, says := range map[string]string{"/v1/threads/t": c.says, "/ui": c.says, "/ui/threads": c.says, "/mcp": c.says, "/other": "404 page not found"} {
			resp, err := http.Post("http://"+web+path, "application/json", strings.NewReader("{}")) //nolint:noctx // of a test
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if err != nil || resp.StatusCode != http.StatusNotFound || !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/plain") || !strings.Contains(string(text), says) {
				t.Errorf("%s: %d %s, %v", path, resp.StatusCode, text, err)
			}
		}
		http.DefaultClient.CloseIdleConnections()
		cancel()
		if status := <-ended; status != exitDone {
			t.Errorf("status %d: %s", status, log)
		}
	}
}
