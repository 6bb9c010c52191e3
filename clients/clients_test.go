package clients_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"precis/internal/e2e/program"
)

// The client in Python does what its tests say, against the real program.
func TestPython(t *testing.T) {
	python := require(t, "python3")
	p := program.Start(t, "")
	check(t, "python", []string{"PYTHONPATH=" + sources("src"), "PYTHONDONTWRITEBYTECODE=1", "PROCESSOR_UNDER_TEST=" + p.Path},
		python, "-W", "error", "-m", "unittest", "discover", "-s", "tests")
	text, want := documented(t, "python/README.md", "python")
	cmd := exec.CommandContext(t.Context(), python, "-c", p.Local(text))
	cmd.Dir, cmd.Env = "python", append(os.Environ(), "PYTHONPATH=src", "PYTHONDONTWRITEBYTECODE=1")
	if out, err := cmd.CombinedOutput(); err != nil || string(out) != want {
		t.Errorf("the program of the README: %v: %s", err, out)
	}
}

// sources is a path of Python with the one that is set, which may have nats-py.
func sources(dir string) string {
	if more := os.Getenv("PYTHONPATH"); more != "" {
		return dir + string(os.PathListSeparator) + more
	}
	return dir
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
		if !strings.Contains(text, "\nnpm pack ../precis/clients/typescript ") || !strings.Contains(text, "\nnpm install ./precis-0.1.0.tgz ") || !strings.Contains(text, "\nmkdir -p ../shop-"+strings.TrimSuffix(name, ".md")+" && ") {
			t.Errorf("%s does not say what to install", page)
		}
		if !strings.Contains(tests, "docs/integrations/"+name) || !strings.Contains(index, "integrations/"+name) || !strings.Contains(table, "]("+name+")") {
			t.Errorf("%s has a program: clients/typescript/test/pages.test.ts runs it, docs/README.md and docs/integrations/README.md name it", page)
		}
	}
}

// npm pack works where nothing was installed, as in a fresh clone.
func TestPackOfAFreshClone(t *testing.T) {
	npm := require(t, "npm")
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "src"), os.DirFS("typescript/src")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"package.json", "package-lock.json", "tsconfig.json", ".npmrc", "README.md"} {
		data, err := os.ReadFile(filepath.Join("typescript", name))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	pack := exec.CommandContext(t.Context(), npm, "pack", "--json")
	pack.Dir = dir
	var problems strings.Builder
	pack.Stderr = &problems
	out, err := pack.Output()
	if err != nil && os.Getenv("CI") == "" && regexp.MustCompile("ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT").MatchString(problems.String()) {
		t.Skip("no registry is reached, from which the compiler comes")
	}
	for _, want := range []string{"dist/index.js", "dist/index.d.ts", "dist/nats.js", "dist/adapters/langchain.d.ts", "dist/adapters/claude-agent-sdk.js"} {
		if err != nil || !strings.Contains(string(out), `"`+want+`"`) {
			t.Fatalf("npm pack: %v, lacks %s\n%s%s", err, want, out, problems.String())
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
