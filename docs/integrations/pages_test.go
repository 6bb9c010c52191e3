package integrations

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"precis/internal/e2e/program"
)

// printed is what a page says that its program prints.
func printed(t *testing.T, page program.Page) string { return page.Blocks(t, "")[0] }

func TestPages(t *testing.T) {
	p := program.Start(t, "")
	t.Run("go", func(t *testing.T) {
		page := program.Open(t, "docs/integrations/go.md")
		dir := t.TempDir()
		root := program.Root(t)
		sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "go.sum"), sums, 0o600); err != nil {
			t.Fatal(err)
		}
		blocks := page.Blocks(t, "sh")
		setup := strings.NewReplacer("../precis", root, "go mod tidy", "").Replace(blocks[0]) // go run -mod=mod adds what is missing
		p.Shell(t, "cd "+dir+"\n"+setup)
		t.Setenv("GOFLAGS", "-mod=mod")
		t.Setenv("GOPROXY", "off")
		source := strings.TrimPrefix(page.Blocks(t, "go")[0], "\n")
		if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(p.Local(source)), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := p.Shell(t, "cd "+dir+"; go run ."); got != printed(t, page) {
			t.Errorf("it prints %q", got)
		}
		if got := p.Shell(t, blocks[1]); !strings.Contains(got, "--- FAIL: TestTotal (0.00s)") {
			t.Errorf("the commands print %s", got)
		}
	})
	t.Run("python", func(t *testing.T) {
		python, err := exec.LookPath("python3")
		if err != nil {
			t.Skip(err)
		}
		page := program.Open(t, "docs/integrations/python.md")
		t.Setenv("PYTHONPATH", filepath.Join(program.Root(t), "clients/python/src"))
		t.Setenv("PYTHONDONTWRITEBYTECODE", "1")
		file := filepath.Join(t.TempDir(), "page.py")
		if err := os.WriteFile(file, []byte(p.Local(page.Blocks(t, "python")[0])), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := p.Shell(t, python+" "+file); got != printed(t, page) {
			t.Errorf("it prints %q", got)
		}
	})
	t.Run("curl", func(t *testing.T) {
		if _, err := exec.LookPath("curl"); err != nil {
			t.Skip(err)
		}
		page := program.Open(t, "docs/integrations/curl.md")
		got := p.Shell(t, page.Blocks(t, "sh")[0])
		for line := range strings.Lines(printed(t, page)) {
			for part := range strings.SplitSeq(strings.TrimSpace(line), "…") {
				if !strings.Contains(got, part) {
					t.Errorf("it does not print %q but\n%s", part, got)
				}
			}
		}
	})
}

// An index names every page: this directory's, or that of all pages.
func TestIndex(t *testing.T) {
	index, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	all, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob("*.md")
	if err != nil || len(pages) < 10 {
		t.Fatal(pages, err)
	}
	for _, page := range slices.DeleteFunc(pages, func(name string) bool { return name == "README.md" }) {
		if !strings.Contains(string(index), "]("+page+")") && !strings.Contains(string(all), "integrations/"+page+")") {
			t.Errorf("the index lacks %s", page)
		}
	}
}
