package e2e_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"precis/internal/config"
	"precis/internal/processor"
)

// The program serves the API with tokens, and reads them again at a signal; what it can't use ends the start.
func TestAPIOfTheProgram(t *testing.T) {
	address, dir := freeAddress(t), t.TempDir()
	file := filepath.Join(dir, "tokens.yaml")
	tokens := func(word string) {
		text := fmt.Sprintf("tokens: [{name: a, role: agent, sha256: %x}]", sha256.Sum256([]byte(word)))
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tokens("first")
	cfg := load(t, "partitions: 2\n", map[string]string{
		"data_dir": dir, "nats.listen": "127.0.0.1:0", "nats.sync": "2m", "http.listen": "", "api.listen": address, "api.tokens_file": file,
	})
	reload := make(chan os.Signal, 1)
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	defer stop()
	started, done := make(chan *processor.Processor, 1), make(chan error, 1)
	go func() {
		done <- processor.Serve(ctx, processor.Options{
			Config: cfg, Logger: logger(t), Reload: reload, Load: func() (*config.Config, error) { return cfg, nil },
		}, func(p *processor.Processor) { started <- p })
	}()
	select {
	case <-started:
	case err := <-done:
		t.Fatal(err)
	}
	status := func(word string) int {
		req, err := http.NewRequestWithContext(within(t), "GET", "http://"+address+"/v1/threads/nobody", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+word)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		return res.StatusCode
	}
	w := &world{t: t}
	w.eventually("caught up", func() error {
		if got := status("first"); got != http.StatusNotFound {
			return fmt.Errorf("%d", got)
		}
		return nil
	})
	tokens("second")
	reload <- os.Interrupt // any signal
	w.eventually("reloaded", func() error {
		if got := status("first"); got != http.StatusUnauthorized {
			return fmt.Errorf("%d", got)
		}
		return nil
	})
	if got := status("second"); got != http.StatusNotFound {
		t.Errorf("the new token: %d", got)
	}
	http.DefaultClient.CloseIdleConnections()
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
