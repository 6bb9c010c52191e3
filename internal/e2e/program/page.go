package program

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Page is a page of the documentation whose code is run.
type Page struct{ text string }

// Open reads a page by its path in the project.
func Open(t testing.TB, path string) Page {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(Root(t), path))
	if err != nil {
		t.Fatal(err)
	}
	return Page{string(text)}
}

// Blocks are the code blocks of a language, in order; "" has those without one.
func (p Page) Blocks(t testing.TB, language string) (blocks []string) {
	t.Helper()
	for _, m := range regexp.MustCompile("(?sm)^```([a-z]*)\n(.*?)^```$").FindAllStringSubmatch(p.text, -1) {
		if m[1] == language {
			blocks = append(blocks, m[2])
		}
	}
	if len(blocks) == 0 {
		t.Fatalf("the page has no block of %q", language)
	}
	return blocks
}

// Local replaces the addresses that pages name by those of the program.
func (r *Running) Local(code string) string {
	return strings.NewReplacer("nats://127.0.0.1:4222", r.NATS, "http://127.0.0.1:8088", r.API).Replace(code)
}

// Shell runs commands of a page, with the program on the path, and returns what they print.
func (r *Running) Shell(t testing.TB, script string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-euc", r.Local(script))
	return r.output(t, cmd)
}

// Go runs a program of a page in the module of a directory, and returns what it prints.
func (r *Running) Go(t testing.TB, module, source string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(file, []byte(r.Local(source)), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", "run", file)
	cmd.Dir = module
	return r.output(t, cmd)
}

// output runs a command beside the program.
func (r *Running) output(t testing.TB, cmd *exec.Cmd) string {
	t.Helper()
	var problems strings.Builder
	cmd.Stderr = &problems
	cmd.Env = append(os.Environ(), "NATS_URL="+r.NATS, "PATH="+filepath.Dir(r.Path)+string(os.PathListSeparator)+os.Getenv("PATH"))
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s%s", cmd.Args, err, out, problems.String())
	}
	return string(out)
}
