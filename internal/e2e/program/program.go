// Package program runs the real program for tests of what speaks to it: adapters of frameworks, and the pages that show them.
package program

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Running is a program that runs until its test ends.
type Running struct {
	Path string // of the binary
	NATS string // URL of its server
	API  string // URL of its HTTP API, without tokens
	Dir  string // its directory, which holds ./data and config.yaml
}

// Start builds the program, starts it with an embedded server, and returns when it is ready. Lines are added to its configuration.
func Start(t testing.TB, lines string) *Running {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the program is ended by a signal")
	}
	dir := t.TempDir()
	listen, api, probes := Free(t), Free(t), Free(t)
	r := &Running{Path: filepath.Join(dir, "processor"), NATS: "nats://" + listen, API: "http://" + api, Dir: dir}
	r.build(t)
	config := fmt.Sprintf("nats: {listen: %q, sync: 2m}\ndata_dir: %q\nhttp: {listen: %q}\napi: {listen: %q}\n%s", listen, filepath.Join(dir, "data"), probes, api, lines)
	if err := os.WriteFile(filepath.Join(dir, "config.yaml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), r.Path, "run", "--config", "config.yaml")
	cmd.Dir, cmd.Stderr, cmd.Env = dir, log, []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH")}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := <-ended; err != nil || t.Failed() {
			text, _ := os.ReadFile(log.Name())
			t.Errorf("the program ended: %v\n%s", err, text)
		}
	})
	r.await(t, "http://"+probes+"/readyz", ended, log.Name())
	return r
}

// build builds the program, or takes the one that PROCESSOR_UNDER_TEST names.
func (r *Running) build(t testing.TB) {
	t.Helper()
	if built := os.Getenv("PROCESSOR_UNDER_TEST"); built != "" {
		if err := os.Symlink(built, r.Path); err != nil {
			t.Fatal(err)
		}
		return
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-o", r.Path, "./cmd/processor")
	build.Dir = Root(t) // an adapter's module has other dependencies
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the program: %v\n%s", err, out)
	}
}

// Root is the project's directory.
func Root(t testing.TB) string {
	t.Helper()
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "precis").Output()
	if err != nil {
		t.Fatalf("find the project: %v", err)
	}
	return strings.TrimSpace(string(dir))
}

// Free returns an address that nothing listens on.
func Free(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// await returns when a URL answers 200.
func (r *Running) await(t testing.TB, url string, ended chan error, log string) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(time.Minute); ; {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		if answer, err := http.DefaultClient.Do(req); err == nil {
			_ = answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return
			}
		}
		select {
		case <-tick.C:
		case err := <-ended:
			ended <- err
			text, _ := os.ReadFile(log)
			t.Fatalf("the program ended before it was ready: %v\n%s", err, text)
		case <-deadline:
			t.Fatalf("%s did not answer 200 within a minute", url)
		}
	}
}
