package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"precis/internal/config"
)

// A file that can't be a configuration is refused before it is parsed.
func TestFilesAreBounded(t *testing.T) {
	for name, text := range map[string]string{
		"brackets":       strings.Repeat("[", 100<<10),
		"braces":         "policies: " + strings.Repeat("{a: ", 10<<10),
		"lines of them":  strings.Repeat("[\n", 10<<10),
		"lists in lists": strings.Repeat("- ", 100<<10),
		"keys of keys":   strings.Repeat("? ", 100<<10),
		"length":         "# " + strings.Repeat("x", 1<<20),
	} {
		file := filepath.Join(t.TempDir(), "precis.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := config.Load(config.Sources{File: file})
		if err == nil || !strings.Contains(err.Error(), "nested") && !strings.Contains(err.Error(), "larger than") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := config.Load(config.Sources{File: "/dev/zero"}); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("a device: %v", err)
	}
	if _, err := (config.Pricing{File: "/dev/zero"}).Table(); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("prices from a device: %v", err)
	}
	fine := filepath.Join(t.TempDir(), "fine.yaml")
	text := "limits:\n  event_bytes: 4096 # " + strings.Repeat("[", 100) + "\n# it's " + strings.Repeat("{", 100) + "\n"
	if err := os.WriteFile(fine, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := config.Load(config.Sources{File: fine}); err != nil {
		t.Error(err)
	}
}
