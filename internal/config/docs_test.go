package config

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// row is one table row in docs/configuration.md.
type row struct{ section, key, byDefault, example string }

var cells = regexp.MustCompile("^\\| `([a-z_.]+)` \\| (?:`(.*?)`)? ?\\| .* \\| (?:`(.*)`)? ?\\|$")

func documented(t *testing.T) (rows []row) {
	t.Helper()
	text, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	section := ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if title, ok := strings.CutPrefix(line, "## "); ok {
			section = title
		}
		if m := cells.FindStringSubmatch(line); m != nil {
			rows = append(rows, row{section, m[1], m[2], m[3]})
		} else if strings.HasPrefix(line, "| `") {
			t.Errorf("docs/configuration.md: not a row of key, default, meaning, example: %s", line)
		}
	}
	return rows
}

// in places a fragment of a section in a file.
func (r row) in(fragment string) string {
	switch r.section {
	case "A policy":
		return "policies: [{" + fragment + "}]"
	case "A provider":
		return "providers: {main: {" + fragment + "}}"
	}
	return fragment
}

func (r row) path() string {
	return map[string]string{"A policy": "policies[0].", "A provider": "providers.main."}[r.section] + r.key
}

// docs/configuration.md has every key with its default, and no other.
func TestDocumentedKeys(t *testing.T) {
	keys := map[string]row{}
	for _, r := range documented(t) {
		keys[r.path()] = r
	}
	known := map[string]bool{}
	whole, err := yaml.Marshal(Default())
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range leaves(Default()) {
		key := l.key
		if strings.HasPrefix(key, "policies[0].compaction.trigger.") {
			key = "policies[0].compaction.trigger"
		}
		if strings.HasPrefix(key, "providers.summarizer.") || known[key] {
			continue
		}
		known[key] = true
		r, ok := keys[key]
		if !ok {
			t.Errorf("docs/configuration.md has no %s", key)
			continue
		}
		if l.unused {
			continue
		}
		path, err := yaml.PathString("$." + key)
		if err != nil {
			t.Fatal(err)
		}
		var got, want any
		if err := path.Read(strings.NewReader(string(whole)), &want); err != nil {
			t.Fatal(err)
		}
		if err := yaml.Unmarshal([]byte(r.byDefault), &got); err != nil {
			t.Errorf("docs/configuration.md: default of %s: %v", key, err)
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("docs/configuration.md: %s has the default %v, not %v", key, want, got)
		}
	}
	for key := range keys {
		if !known[key] && key != "policies[0].prompts" && key != "policies[0].tools" { // without entries they have no leaf
			t.Errorf("docs/configuration.md: there is no key %s", key)
		}
	}
}

// Every documented example loads.
func TestDocumentedExamples(t *testing.T) {
	env := []string{
		"NATS_PASSWORD=p", "NATS_TOKEN=t", "SERVICE_PASSWORD=p", "SERVICE_TOKEN=t", "TEAM_KEY=k", "ANTHROPIC_API_KEY=a", "OPENAI_API_KEY=o",
	}
	for _, r := range documented(t) {
		if r.example == "" {
			continue
		}
		file := filepath.Join(t.TempDir(), "precis.yaml")
		if err := os.WriteFile(file, []byte(r.in(r.example)), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(Sources{File: file, Env: env}); err != nil {
			t.Errorf("%s: %s: %v", r.key, r.example, err)
		}
	}
}
