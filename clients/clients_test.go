package clients_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

const token = "a-token-of-the-clients-tests"

// The clients do what their tests say, against one running program.
func TestClients(t *testing.T) {
	url := run(t)
	t.Run("python", func(t *testing.T) {
		t.Parallel()
		python := require(t, "python3")
		check(t, "python", []string{"PYTHONPATH=src", "PYTHONDONTWRITEBYTECODE=1", "PRECIS_URL=" + url, "PRECIS_TOKEN=" + token},
			python, "-W", "error", "-m", "unittest", "discover", "-s", "tests")
		program, want := documented(t, "python/README.md", "python")
		address := `"http://127.0.0.1:8088"`
		program = strings.Replace(program, address, fmt.Sprintf("%q, token=%q", url, token), 1)
		cmd := exec.CommandContext(t.Context(), python, "-c", program)
		cmd.Dir, cmd.Env = "python", append(os.Environ(), "PYTHONPATH=src", "PYTHONDONTWRITEBYTECODE=1")
		if out, err := cmd.CombinedOutput(); err != nil || string(out) != want {
			t.Errorf("the program of the README: %v: %s", err, out)
		}
	})
}

// Every page with a program in TypeScript says what to install and has its test, and both indexes name it.
func TestProgramsOfPagesAreRun(t *testing.T) {
	pages, err := filepath.Glob("../docs/integrations/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("no pages: %v", err)
	}
	read := func(path string) string {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	tests, index, table := read("typescript/test/pages.test.ts"), read("../docs/README.md"), read("../docs/integrations/README.md")
	for _, page := range pages {
		text := read(page)
		if !strings.Contains(text, "```ts\n") {
			continue
		}
		name := filepath.Base(page)
		if !strings.Contains(text, "\nnpm install ./clients/typescript ") {
			t.Errorf("%s does not say what to install", page)
		}
		if !strings.Contains(tests, "docs/integrations/"+name) || !strings.Contains(index, "integrations/"+name) || !strings.Contains(table, "]("+name+")") {
			t.Errorf("%s has a program: clients/typescript/test/pages.test.ts runs it, docs/README.md and docs/integrations/README.md name it", page)
		}
	}
}

// The lock file holds digests alone, so that any mirror of the registry serves it.
func TestLockNamesNoRegistry(t *testing.T) {
	lock, err := os.ReadFile("typescript/package-lock.json")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(lock), `"resolved"`) || !strings.Contains(string(lock), `"integrity"`) {
		t.Error("typescript/package-lock.json names where packages come from: run npm install in clients/typescript, where .npmrc says not to")
	}
}

// documented returns the program of a page and what the page says that it prints.
func documented(t *testing.T, page, language string) (program, output string) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile("(?s)```" + language + "\n(.*?)```.*?It prints\n\n```\n(.*?)```").FindStringSubmatch(string(text))
	if m == nil {
		t.Fatalf("%s has no program with its output", page)
	}
	return m[1], m[2]
}

// require returns the path of a tool. CI has all of them.
func require(t *testing.T, tool string) string {
	t.Helper()
	path, err := exec.LookPath(tool)
	if err != nil && os.Getenv("CI") == "" {
		t.Skipf("%s is missing: the client that needs it is not tested", tool)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// check runs a command in a directory and wants it to succeed.
func check(t *testing.T, dir string, env []string, name string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %v\n%s", cmd.Args, err, out)
	}
}

// run starts the program, waits until it is ready and returns the URL of its API.
func run(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	program, api, probes := filepath.Join(dir, "processor"), free(t), free(t)
	if runtime.GOOS == "windows" {
		t.Skip("the program is ended by a signal")
	}
	check(t, ".", nil, "go", "build", "-o", program, "precis/cmd/processor")
	for name, text := range map[string]string{
		"tokens.yaml": fmt.Sprintf("tokens:\n  - {name: tests, token: %q, role: agent}\n", token),
		"config.yaml": fmt.Sprintf("nats: {listen: \"127.0.0.1:0\", sync: 2m}\ndata_dir: %q\nhttp: {listen: %q}\napi: {listen: %q, tokens_file: tokens.yaml}\n", filepath.Join(dir, "data"), probes, api),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), program, "run", "--config", "config.yaml")
	cmd.Dir, cmd.Stderr, cmd.Env = dir, log, []string{"HOME=" + dir}
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
	await(t, "http://"+probes+"/readyz", ended)
	return "http://" + api
}

// free returns an address that nothing listens on.
func free(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// await returns when a URL answers 200.
func await(t *testing.T, url string, ended chan error) {
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
			t.Fatal("the program ended before it was ready")
		case <-deadline:
			t.Fatal("not ready within a minute")
		}
	}
}
