package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// provider answers like OpenAI's chat completions.
func provider(t *testing.T) *httptest.Server {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/chat/completions" || r.Header.Get("Authorization") != "Bearer sk-test" {
			http.Error(w, "no", http.StatusUnauthorized)
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"id":"c","model":"gpt-4.1-mini","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"TestTotal."}}],"usage":{"prompt_tokens":11,"completion_tokens":3}}`)
	}))
	t.Cleanup(s.Close)
	return s
}

// The commands of docs/integrations/gateway.md run as they stand there.
func TestGatewayPage(t *testing.T) {
	blocks := regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(projectFile(t, "docs/integrations/gateway.md"), -1)
	if len(blocks) != 3 {
		t.Fatalf("%d blocks", len(blocks))
	}
	dir, nats, gateway := t.TempDir(), freeAddress(t), freeAddress(t)
	if err := os.Symlink(build(t), filepath.Join(dir, "processor")); err != nil {
		t.Fatal(err)
	}
	env := append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "PRECIS_DATA_DIR="+filepath.Join(dir, "data"), "PRECIS_NATS_LISTEN="+nats, "PRECIS_HTTP_LISTEN=",
		"PRECIS_API_LISTEN=", "PRECIS_GATEWAY_OPENAI="+provider(t).URL, "PRECIS_GATEWAY_MODE=compact", "NATS_URL=nats://"+nats, "OPENAI_API_KEY=sk-test")
	shell := func(ctx context.Context, block string) *exec.Cmd {
		cmd := exec.CommandContext(ctx, "sh", "-euc", strings.ReplaceAll(block, "127.0.0.1:8089", gateway))
		cmd.Env = env
		return cmd
	}
	log := newSeen("running")
	serving := shell(context.Background(), "exec "+blocks[0][1])
	serving.Stderr = log
	if err := serving.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- serving.Wait() }()
	t.Cleanup(func() {
		_ = serving.Process.Signal(os.Interrupt)
		if err := <-ended; err != nil {
			t.Errorf("%v: %s", err, log)
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	select {
	case <-log.there:
	case <-ctx.Done():
		t.Fatal(log)
	}
	ask, _, _ := strings.Cut(blocks[1][1], "processor thread")
	out, err := shell(ctx, ask).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "TestTotal.") {
		t.Fatalf("%v: %s", err, out)
	}
	for !strings.Contains(string(out), "2 messages") { // publishing is behind the answer
		if out, _ = shell(ctx, "processor thread shop").CombinedOutput(); ctx.Err() != nil {
			t.Fatalf("%s\n%s", out, log)
		}
	}
	out, err = shell(ctx, blocks[1][1]).CombinedOutput()
	if err != nil || !strings.Contains(string(out), `"content": "Which test fails?"`) {
		t.Errorf("%v: %s", err, out)
	}
	compacted := func() {
		out, err = shell(ctx, "export OPENAI_BASE_URL=http://127.0.0.1:8089/v1\n"+blocks[2][1]).CombinedOutput()
	}
	for compacted(); strings.Contains(string(out), "=behind") && ctx.Err() == nil; compacted() { // on a slow machine
		<-time.After(time.Second)
	}
	said := regexp.MustCompile("prints something like `([^`]*)sent=").FindStringSubmatch(projectFile(t, "docs/integrations/gateway.md"))
	if err != nil || said == nil || !strings.HasPrefix(string(out), said[1]) {
		t.Errorf("%v: %q, and the page says %q", err, out, said)
	}
	if strings.Contains(log.String(), "sk-test") {
		t.Errorf("the log has the key: %s", log)
	}
}

// The command alone passes requests on without a server, publishes when one is there, and ends in order.
func TestGatewayCommand(t *testing.T) {
	up, address, web := provider(t), freeAddress(t), freeAddress(t)
	nats := freeAddress(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	log := newSeen("gateway running")
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, []string{"gateway", "--listen", address, "--openai", up.URL, "--nats", "nats://" + nats, "--http", web}, strings.NewReader(""), io.Discard, log)
	}()
	select {
	case <-log.there:
	case status := <-ended:
		t.Fatalf("status %d: %s", status, log)
	}
	ask := func() {
		t.Helper()
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+address+"/v1/chat/completions",
			strings.NewReader(`{"messages":[{"role":"user","content":"Which test fails?"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer sk-test")
		r.Header.Set("Precis-Thread", "t1")
		r.Close = true
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if body, _ := io.ReadAll(resp.Body); !strings.Contains(string(body), "TestTotal.") {
			t.Fatalf("%s: %s", resp.Status, body)
		}
	}
	ask()
	p := startProcessorAt(t, t.TempDir(), nats)
	p.awaitThread(t, "t1", "2 messages")
	resp, err := http.Get("http://" + web + "/metrics") //nolint:noctx // a scrape
	if err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if want := fmt.Sprintf("precis_gateway_published_events_total{type=%q} 2", "thread.message"); !strings.Contains(string(text), want) {
		t.Errorf("no %s in\n%s", want, text)
	}
	http.DefaultClient.CloseIdleConnections()
	cancel()
	if status := <-ended; status != exitDone {
		t.Errorf("status %d: %s", status, log)
	}
}

// What would let others in, or lead nowhere, is refused before anything listens.
func TestGatewayRefuses(t *testing.T) {
	for _, test := range []struct{ flag, value, says string }{
		{"--listen", ":8089", "--insecure"}, {"--http", "0.0.0.0:1", "--insecure"}, {"--listen", "8089", "not a listen address"},
		{"--openai", "api.openai.com", "flag --openai: gateway.openai: \"api.openai.com\" is not the URL of a provider"}, {"--anthropic", "https://a:b@c", "no user"}, {"--mode", "shrink", "observe"},
		{"--compactions", "--log-level=info", "needs gateway.mode: compact"}, {"--originals", "--log-level=info", "needs gateway.mode: compact"}, {"--listen", "", "not a listen address"}, {"--nats", "nats://a b", "not a server address"},
	} {
		program(t, "", "gateway", test.flag, test.value).wants(t, exitUsage, "", test.says)
	}
}

// The server of the command is that of the environment, whether it is named for commands or for a processor; the name for commands wins.
func TestGatewayServer(t *testing.T) {
	t.Setenv("NATS_URL", "") // put back at the end
	if err := os.Unsetenv("NATS_URL"); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PRECIS_NATS_URL", "nats://for a processor")
	program(t, "", "gateway").wants(t, exitUsage, "", "nats://for a processor")
	t.Setenv("NATS_URL", "nats://for a command")
	program(t, "", "gateway").wants(t, exitUsage, "", "nats://for a command")
}

// The command takes what run takes from the environment and the file: an agent's key and prompts must not go to a provider that the
// environment does not name.
func TestGatewayTakesTheEnvironment(t *testing.T) {
	up := provider(t)
	first := func(t *testing.T, args ...string) string {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		log := newSeen("gateway running")
		ended := make(chan int, 1)
		go func() {
			ended <- run(ctx, append([]string{"gateway", "--log-format", "json", "--nats", "nats://127.0.0.1:1"}, args...), strings.NewReader(""), io.Discard, log)
		}()
		select {
		case <-log.there:
		case status := <-ended:
			t.Fatalf("status %d: %s", status, log)
		}
		cancel()
		if status := <-ended; status != exitDone {
			t.Errorf("status %d: %s", status, log)
		}
		line, _, _ := strings.Cut(log.String(), "\n")
		return line
	}
	says := func(t *testing.T, line string, all ...string) {
		t.Helper()
		for _, want := range all {
			if !strings.Contains(line, want) {
				t.Errorf("no %s in %s", want, line)
			}
		}
	}
	address := freeAddress(t)
	t.Setenv("PRECIS_CONFIG", configured(t, `gateway: {listen: "`+address+`", anthropic: "http://file.internal", openai: "http://file.internal"}
nats: {replicas: 3}
`)) // replicas are valid with an address of servers, which only a variable gives
	t.Setenv("PRECIS_NATS_URL", "nats://nats.internal:4222")
	t.Setenv("PRECIS_GATEWAY_MODE", "compact")
	t.Setenv("PRECIS_GATEWAY_COMPACTIONS", "true")
	t.Setenv("PRECIS_GATEWAY_OPENAI", up.URL)
	t.Setenv("PRECIS_HTTP_LISTEN", "a processor's own") // and no setting of the gateway
	says(t, first(t), `"listen":"`+address+`"`, `"mode":"compact","openai":"`+up.URL+`","anthropic":"http://file.internal","compactions":true,"originals":false`)
	says(t, first(t, "--openai", "http://flag.internal", "--compactions=false", "--originals"), `"openai":"http://flag.internal"`, `"compactions":false,"originals":true`)
	program(t, "", "gateway", "--mode", "observe").wants(t, exitUsage, "", "env PRECIS_GATEWAY_COMPACTIONS: gateway.compactions: needs gateway.mode: compact")
	t.Setenv("PRECIS_GATEWAY_OPENAPI", up.URL)
	program(t, "", "gateway").wants(t, exitUsage, "", "env PRECIS_GATEWAY_OPENAPI: unknown key")
}
