package clients_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"precis/internal/e2e/program"
)

// packager is a Python that can make packages without a network; on Debian they are python3-build, python3-venv, python3-setuptools and python3-wheel.
func packager(t *testing.T) string {
	t.Helper()
	for _, python := range []string{"python3", "/usr/bin/python3"} {
		if exec.CommandContext(t.Context(), python, "-c", "import build, ensurepip, setuptools, wheel").Run() == nil {
			return python
		}
	}
	t.Skip("no Python with build, venv, setuptools and wheel: the package is not tested")
	return ""
}

// The wheel installs into an empty environment, without a network, and works from there; what it brings is typed, and so is the page's program.
func TestPythonPackage(t *testing.T) {
	python := packager(t)
	p := program.Start(t, "")
	source, wheels, env := filepath.Join(t.TempDir(), "python"), t.TempDir(), filepath.Join(t.TempDir(), "env")
	if err := os.CopyFS(source, os.DirFS("python")); err != nil { // a build writes beside its source
		t.Fatal(err)
	}
	check(t, source, nil, python, "-m", "build", "--no-isolation", "--wheel", "--outdir", wheels)
	built, err := filepath.Glob(filepath.Join(wheels, "precis-*-py3-none-any.whl"))
	if err != nil || len(built) != 1 {
		t.Fatal(built, err)
	}
	check(t, wheels, nil, python, "-m", "venv", env)
	installed := filepath.Join(env, "bin", "python")
	check(t, wheels, nil, installed, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", built[0])
	text, want := documented(t, "python/README.md", "python")
	page := filepath.Join(wheels, "page.py")
	if err := os.WriteFile(page, []byte(p.Local(text)), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), installed, "-W", "error", page)
	cmd.Dir = wheels // nothing of the project is there
	if out, err := cmd.CombinedOutput(); err != nil || string(out) != want {
		t.Errorf("the program of the README: %v: %s", err, out)
	}
	mypy, err := exec.LookPath("mypy")
	if err != nil {
		t.Skip("mypy is missing: types are not checked")
	}
	check(t, "python", nil, mypy, "--strict", "--no-incremental", "src/precis")
	check(t, wheels, nil, mypy, "--strict", "--no-incremental", "--python-executable", installed, page)
	if err := os.WriteFile(page, []byte(strings.Replace(text, "max_tokens=8000", `max_tokens="8000"`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), mypy, "--strict", "--no-incremental", "--python-executable", installed, page).CombinedOutput(); err == nil || !strings.Contains(string(out), "max_tokens") {
		t.Errorf("a wrong type passes: %s", out)
	}
}
