package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"precis/internal/config"
)

// refusal is one case of testdata/refused.txt.
type refusal struct {
	name, file, message string
	env                 []string
}

func refusals(t *testing.T) []refusal {
	t.Helper()
	text, err := os.ReadFile("testdata/refused.txt")
	if err != nil {
		t.Fatal(err)
	}
	var cases []refusal
	for _, block := range strings.Split(string(text), "\n== ")[1:] {
		name, rest, _ := strings.Cut(block, "\n")
		input, message, ok := strings.Cut(rest, "-- message\n")
		if !ok {
			t.Fatalf("case %q has no message", name)
		}
		c := refusal{name: name, message: strings.TrimSpace(message)}
		for line := range strings.Lines(input) {
			if variable, ok := strings.CutPrefix(line, "env "); ok {
				c.env = append(c.env, strings.TrimSpace(variable))
				continue
			}
			c.file += line
		}
		cases = append(cases, c)
	}
	return cases
}

func TestRefused(t *testing.T) {
	for _, c := range refusals(t) {
		t.Run(c.name, func(t *testing.T) {
			name := write(t, c.file)
			_, err := config.Load(config.Sources{File: name, Env: c.env})
			if !errors.Is(err, config.ErrInvalid) {
				t.Fatalf("got %v, want an invalid configuration", err)
			}
			got := strings.ReplaceAll(err.Error(), filepath.Dir(name)+string(filepath.Separator), "")
			if want := "invalid configuration: " + c.message; got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func write(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "precis.yaml")
	if err := writeFile(name, text); err != nil {
		t.Fatal(err)
	}
	return name
}

func writeFile(name, text string) error { return os.WriteFile(name, []byte(text), 0o600) }

func TestUnreadableFile(t *testing.T) {
	_, err := config.Load(config.Sources{File: filepath.Join(t.TempDir(), "none.yaml")})
	if !errors.Is(err, os.ErrNotExist) || errors.Is(err, config.ErrInvalid) {
		t.Errorf("got %v, want the file's absence", err)
	}
}
