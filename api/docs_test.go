package api_test

import (
	"bytes"
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"precis/internal/config"
	"precis/internal/processor"
	"precis/internal/rest"
	"precis/schemas"
)

func page(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// serve runs a processor with a server of its own, and returns the server's address.
func serve(t *testing.T) string { return serveAPI(t, "") }

// serveAPI has it listen for HTTP, too.
func serveAPI(t *testing.T, address string) string {
	t.Helper()
	cfg := config.Default()
	cfg.DataDir, cfg.NATS.Listen, cfg.NATS.Sync, cfg.HTTP.Listen, cfg.API.Listen = t.TempDir(), "127.0.0.1:0", "2m", "", address
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	started, done := make(chan *processor.Processor, 1), make(chan error, 1)
	go func() {
		o := processor.Options{Config: cfg, Logger: zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.WarnLevel)}
		done <- processor.Serve(ctx, o, func(p *processor.Processor) { started <- p })
	}()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	select {
	case p := <-started:
		// The page is for a processor that is ready: before that, requests are answered with 503.
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for deadline := time.After(time.Minute); !p.CaughtUp(); {
			select {
			case <-tick.C:
			case <-deadline:
				t.Fatal("not ready within a minute")
			}
		}
		return p.Broker().URL()
	case err := <-done:
		done <- nil
		t.Fatal(err)
		return ""
	}
}

// The program of docs/api.md builds in a module of its own, and prints what the page says.
func TestDocumentedProgram(t *testing.T) {
	m := regexp.MustCompile("(?s)```go\n(package main.*?)```.*?It prints\n\n```\n(.*?)```").FindStringSubmatch(page(t))
	if m == nil {
		t.Fatal("docs/api.md has no program with its output")
	}
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"main.go": m[1], "go.sum": string(sums),
		"go.mod": "module outside\n\ngo 1.26\n\nrequire precis v0.0.0\n\nreplace precis => " + root + "\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var problems strings.Builder
	cmd := exec.CommandContext(t.Context(), "go", "run", "-mod=mod", ".")
	cmd.Dir, cmd.Env, cmd.Stderr = dir, append(os.Environ(), "NATS_URL="+serve(t), "GOPROXY=off", "GOFLAGS="), &problems
	out, err := cmd.Output()
	if err != nil || string(out) != m[2] {
		t.Errorf("%v: it prints\n%s\n%s", err, out, problems.String())
	}
}

// Every request and reply that docs/api.md shows is one.
func TestDocumentedReplies(t *testing.T) {
	c := jsonschema.NewCompiler()
	for _, name := range append(schemas.Types(), "defs", "service") {
		file, err := schemas.Files.ReadFile(name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(file))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.AddResource(name+".json", doc); err != nil {
			t.Fatal(err)
		}
	}
	shown := regexp.MustCompile("(?s)\n`([A-Z][A-Za-z]+(?:Request|Reply))`[^`]*(?:`[^`]+`[^`]*)*?:\n\n```json\n(.*?)```").FindAllStringSubmatch(page(t), -1)
	if len(shown) != 10 {
		t.Errorf("%d requests and replies, want 10", len(shown))
	}
	for _, m := range shown {
		schema, err := c.Compile("service.json#/$defs/" + m[1])
		if err != nil {
			t.Fatal(err)
		}
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(m[2]))
		if err == nil {
			err = schema.Validate(doc)
		}
		if err != nil {
			t.Errorf("%s: %v", m[1], err)
		}
	}
}

// The curl commands of docs/api.md succeed, in their order, and its tokens file is one.
func TestDocumentedCommands(t *testing.T) {
	for _, tool := range []string{"curl", "openssl", "sha256sum"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_ = l.Close()
	serveAPI(t, address)
	blocks := regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(page(t), -1)
	if len(blocks) != 2 {
		t.Fatalf("docs/api.md has %d blocks of commands", len(blocks))
	}
	dir := t.TempDir()
	run := func(script string) string {
		var problems strings.Builder
		cmd := exec.CommandContext(t.Context(), "sh", "-ec", script)
		cmd.Dir, cmd.Stderr = dir, &problems
		out, err := cmd.Output()
		if err != nil {
			t.Errorf("%v: %s%s", err, out, problems.String())
		}
		return string(out)
	}
	script := strings.ReplaceAll(blocks[0][1], "http://127.0.0.1:8088", "http://"+address)
	out := run(strings.ReplaceAll(script, "curl -sS", "curl -sS --fail-with-body"))
	for _, want := range []string{`"event_seqs":[1,2]`, `"tool_results":1`, `"Which test fails?"`, `"kind":"history"`, `"--- FAIL: TestTotal (0.00s)\n"`, `"rejections":[]`, `"openapi":"3.1.0"`} {
		if !strings.Contains(out, want) {
			t.Errorf("no %s in %.3000s", want, out)
		}
	}
	run(blocks[1][1])
	if _, err := rest.LoadTokens(filepath.Join(dir, "tokens.yaml"), zerolog.Nop()); err != nil {
		t.Error(err)
	}
}
