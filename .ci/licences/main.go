// Command licences writes docs/licences.md: the modules that are linked into the program, with the licence of each as an SPDX
// identifier. With -check it compares instead, and fails on a difference, an unknown licence, or one that is not allowed.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/licensecheck"
)

const page = "docs/licences.md"

// allowed are licences that let the program be passed on in any way, with notices. CC-BY-4.0 is that of the MCP SDK's documentation.
var allowed = []string{"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC-BY-4.0", "ISC", "MIT", "MPL-2.0", "Unlicense", "Zlib", "CC0-1.0"}

// covered is the share of a file, in percent, that has to be a licence's text.
const covered = 60

func main() {
	check := flag.Bool("check", false, "compare "+page+" instead of writing it")
	flag.Parse()
	if err := run(*check); err != nil {
		fmt.Fprintln(os.Stderr, "licences:", err)
		os.Exit(1)
	}
}

func run(check bool) error {
	modules, err := linked()
	if err != nil {
		return err
	}
	var b strings.Builder
	b.WriteString("# Licences of dependencies\n\nThe modules that are linked into `processor` for linux, with their licences (SPDX). Written by `go run -C .ci/licences . `; `.ci/run` compares.\n\n| module | licence |\n| --- | --- |\n")
	var wrong []error
	for _, m := range modules {
		names, err := licencesOf(m.Dir)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %w", m.Path, err))
		}
		for _, name := range names {
			if !slices.Contains(allowed, name) {
				wrong = append(wrong, fmt.Errorf("%s: %s is not among the licences that are allowed", m.Path, name))
			}
		}
		fmt.Fprintf(&b, "| %s | %s |\n", m.Path, strings.Join(names, ", "))
	}
	if err := errors.Join(wrong...); err != nil {
		return err
	}
	if !check {
		return os.WriteFile(filepath.Join(root, page), []byte(b.String()), 0o644)
	}
	have, err := os.ReadFile(filepath.Join(root, page))
	if err == nil && !bytes.Equal(have, []byte(b.String())) {
		err = fmt.Errorf("%s is out of date: run \"go run -C .ci/licences .\"", page)
	}
	return err
}

// root is the project's, seen from this directory.
const root = "../.."

// module is one that the program is linked from.
type module struct{ Path, Dir string }

func linked() (list []module, err error) {
	command := exec.Command("go", "list", "-deps", "-json=Module", "./cmd/processor")
	command.Dir, command.Stderr = root, os.Stderr
	command.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0", "GOFLAGS=-mod=readonly")
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("list modules: %w", err)
	}
	seen := map[string]bool{}
	for in := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			Module *struct {
				Path, Dir string
				Main      bool
			}
		}
		switch err := in.Decode(&p); {
		case errors.Is(err, io.EOF):
			slices.SortFunc(list, func(a, b module) int { return strings.Compare(a.Path, b.Path) })
			return list, nil
		case err != nil:
			return nil, fmt.Errorf("read modules: %w", err)
		}
		if m := p.Module; m != nil && !m.Main && !seen[m.Path] {
			seen[m.Path] = true
			list = append(list, module{m.Path, m.Dir})
		}
	}
}

// licencesOf recognizes the files of a module's root that hold its licences.
func licencesOf(dir string) (names []string, err error) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		upper := strings.ToUpper(f.Name())
		if f.IsDir() || !strings.HasPrefix(upper, "LICEN") && !strings.HasPrefix(upper, "COPYING") && !strings.HasPrefix(upper, "UNLICENSE") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			return nil, err
		}
		found := licensecheck.Scan(text)
		if found.Percent < covered {
			continue
		}
		for _, m := range found.Match {
			if !slices.Contains(names, m.ID) {
				names = append(names, m.ID)
			}
		}
	}
	if len(names) == 0 {
		return nil, errors.New("no licence is recognized")
	}
	slices.Sort(names)
	return names, nil
}
