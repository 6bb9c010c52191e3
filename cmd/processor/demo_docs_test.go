package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"precis/internal/config"
)

// The README and the pages behind it are held to the program: what they leave out, or name and is not there.

const projectRoot = "../.."

func projectFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(projectRoot, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestReadmeHasEveryCommand(t *testing.T) {
	parser, err := kong.New(&cli{}, kong.Vars{"version": "v0"})
	if err != nil {
		t.Fatal(err)
	}
	readme := projectFile(t, "README.md")
	table := ""
	for line := range strings.Lines(readme) {
		if strings.HasPrefix(line, "| `processor ") { // the first cell: `processor check`, `replay`, `audit T`
			table += strings.ReplaceAll(strings.Split(line, "|")[1], "processor ", "")
		}
	}
	known := map[string]bool{}
	for _, command := range parser.Model.Children {
		known[command.Name] = true
		if !regexp.MustCompile("`" + command.Name + "[ `]").MatchString(table) {
			t.Errorf("README.md: the table of commands has no %s", command.Name)
		}
	}
	for _, named := range regexp.MustCompile("(?:`|bin/)processor ([a-z]+)").FindAllStringSubmatch(readme, -1) {
		if !known[named[1]] {
			t.Errorf("README.md: there is no command %s", named[1])
		}
	}
}

var metric = regexp.MustCompile(`precis_[a-z_]+[a-z]`)

func TestOperationsHasEveryMetric(t *testing.T) {
	code, operations := map[string]bool{}, projectFile(t, "docs/operations.md")
	for _, name := range metric.FindAllString(projectFile(t, "internal/processor/metrics.go")+projectFile(t, "internal/processor/probes.go")+projectFile(t, "internal/processor/lag.go")+projectFile(t, "internal/processor/snapshots.go")+projectFile(t, "internal/processor/parking.go")+projectFile(t, "internal/gateway/metrics.go"), -1) {
		code[name] = true
		if !strings.Contains(operations, name) {
			t.Errorf("docs/operations.md has no %s", name)
		}
	}
	for _, name := range metric.FindAllString(operations+projectFile(t, "README.md"), -1) {
		if !code[name] {
			t.Errorf("there is no metric %s", name)
		}
	}
}

// Every configuration that a page shows is one that can be loaded.
func TestShownConfigurationsLoad(t *testing.T) {
	for _, name := range []string{"README.md", "docs/configuration.md", "docs/operations.md", "docs/integrations/gateway.md"} {
		for i, block := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(projectFile(t, name), -1) {
			file := filepath.Join(t.TempDir(), fmt.Sprintf("shown%d.yaml", i))
			if err := os.WriteFile(file, []byte(block[1]), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := config.Load(config.Sources{File: file}); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// Every event line that the README shows is one that is accepted.
func TestShownEventsAreAccepted(t *testing.T) {
	block := regexp.MustCompile("(?s)```json\n(.*?)```").FindStringSubmatch(projectFile(t, "README.md"))
	if block == nil {
		t.Fatal("README.md shows no events")
	}
	p := startProcessor(t, t.TempDir())
	p.do(t, block[1], "publish", "-").wants(t, exitDone, fmt.Sprintf("%d events", strings.Count(block[1], "\n")), "")
	p.awaitThread(t, "t1", "1 message, 1 tool result, 1 edit")
	p.do(t, "", "rejected").wants(t, exitDone, "", "0 rejected")
}

var link = regexp.MustCompile(`\]\(([^)#:]+)(?:#[^)]*)?\)`)

func TestLinksLeadSomewhere(t *testing.T) {
	pages := []string{filepath.Join(projectRoot, "README.md"), filepath.Join(projectRoot, "CHANGELOG.md"), filepath.Join(projectRoot, "CONTRIBUTING.md")}
	err := filepath.WalkDir(filepath.Join(projectRoot, "docs"), func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".md") {
			pages = append(pages, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range pages {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, to := range link.FindAllStringSubmatch(string(text), -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(name), to[1])); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}
