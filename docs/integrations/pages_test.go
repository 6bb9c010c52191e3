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
		setup := strings.NewReplacer("../precis", root, "mkdir -p ../shop-go && cd ../shop-go", "").Replace(blocks[0]) // go run -mod=mod adds what go mod tidy would, without a network
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
		source := filepath.Join(program.Root(t), "clients/python/src")
		if more := os.Getenv("PYTHONPATH"); more != "" {
			source += string(os.PathListSeparator) + more
		}
		t.Setenv("PYTHONPATH", source)
		t.Setenv("PYTHONDONTWRITEBYTECODE", "1")
		for i, text := range page.Blocks(t, "python") {
			if strings.Contains(text, "import nats\n") && exec.CommandContext(t.Context(), python, "-c", "import nats").Run() != nil {
				t.Skip("nats-py is missing: the program over NATS is not run")
			}
			file := filepath.Join(t.TempDir(), "page.py")
			if err := os.WriteFile(file, []byte(p.Local(text)), 0o600); err != nil {
				t.Fatal(err)
			}
			if got := p.Shell(t, python+" "+file); got != page.Blocks(t, "")[i] {
				t.Errorf("it prints %q", got)
			}
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

// The program of the README's first screen follows the summary of what it publishes.
func TestReadme(t *testing.T) {
	p := program.Start(t, "")
	got := p.Go(t, program.Root(t), `package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"strings"

	"precis/events"
)

func main() {
	ctx, cancel := context.WithCancel(context.Background())
	output := strings.Repeat("ok  shop/cart\n", 500)
	use := func(record events.Record, err error) error {
		if s, ok := record.(*events.Summary); ok {
			fmt.Println(s.Kind, err)
			cancel()
		}
		return err
	}
	`+program.Open(t, "README.md").Blocks(t, "go")[0]+`
	if err != nil && !errors.Is(err, context.Canceled) {
		log.Fatal(err)
	}
}
`)
	if got != "tool_result <nil>\n" {
		t.Errorf("it prints %q", got)
	}
}

// Sessions on a machine are read, followed and written as the pages say.
func TestSessionPages(t *testing.T) {
	p := program.Start(t, "")
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CACHE_HOME", filepath.Join(home, ".cache"))
	samples := filepath.Join(program.Root(t), "internal/sessions/testdata")
	const session = "5e551011-0000-4000-8000-000000000001"
	p.Shell(t, `cd "$HOME"
mkdir -p .claude/projects/-src-shop .codex/sessions/2026 .crush .openhands/conversations/c1/events
cp `+samples+`/claude-code.jsonl .claude/projects/-src-shop/`+session+`.jsonl
cp `+samples+`/codex.jsonl .codex/sessions/2026/rollout-1.jsonl
cp `+samples+`/anthropic.json request.json
gzip -c `+samples+`/codex.jsonl > rollout.jsonl.gz
n=0
while read -r line; do n=$((n + 1)); printf '%s\n' "$line" > .openhands/conversations/c1/events/$(printf 'event-%05d-x.json' $n); done < `+samples+`/openhands.jsonl`)
	page := program.Open(t, "docs/integrations/sessions.md").Blocks(t, "sh")
	read := strings.NewReplacer("processor run ", "true ").Replace(page[0])
	if _, err := exec.LookPath("sqlite3"); err != nil {
		read = strings.Replace(read, "processor publish --format crush", "true", 1)
	} else {
		p.Shell(t, `cd "$HOME"; sqlite3 .crush/crush.db "create table sessions (id text, created_at integer); create table messages (id text, session_id text, role text, parts text, created_at integer);
insert into sessions values ('c', 1770285600); insert into messages values ('m', 'c', 'user', '[{\"type\":\"text\",\"data\":{\"text\":\"Hi\"}}]', 1770285600)"`)
	}
	got := p.Shell(t, `cd "$HOME"`+"\n"+read+"\nwc -l < events.jsonl")
	for _, want := range []string{"events of 3 threads from 1 file published", "no event stands for: ", "1 × progress", "11 events of 1 thread from 1 file published"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	got = p.Shell(t, `cd "$HOME"; T=`+session+"\n"+page[1]+"\ncat request.json session.jsonl")
	for _, want := range []string{`"input": [`, `"sessionId":"` + session + `"`, `"isCompactSummary":true`} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	for agent, thread := range map[string]string{"claude-code": session, "codex": "c0dec0de-0000-4000-8000-000000000002"} {
		blocks := program.Open(t, "docs/integrations/"+agent+".md").Blocks(t, "sh")
		// The page's commands follow until they are stopped; the agent itself is not there.
		commands := strings.NewReplacer("processor run ", "true ", "processor watch "+agent+" ", "processor watch "+agent+" --since 1000000h --until-caught-up ",
			"\nclaude ", "\ntrue ", ":8089 claude ", ":8089 true ", "\ncodex ", "\ntrue ", "--from start ", "--from start --until-caught-up ").Replace(strings.Join(blocks, "\n"))
		if got := p.Shell(t, `SESSION=`+thread+"\n"+commands); !strings.Contains(got, "in all") || !strings.Contains(got, thread) {
			t.Errorf("%s: the commands print\n%s", agent, got)
		}
	}
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
