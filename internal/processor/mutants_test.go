package processor_test

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// The bugs that .ci/mutants plants fit the code: it takes an hour and does not run on every change.
func TestPlantedBugsFit(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("there is no git to try them with")
	}
	bugs, err := filepath.Glob("testdata/mutants/*.patch")
	if err != nil || len(bugs) == 0 {
		t.Fatal(bugs, err)
	}
	for _, bug := range bugs {
		path, err := filepath.Abs(bug)
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), git, "apply", "--check", path)
		cmd.Dir = filepath.Join("..", "..")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", filepath.Base(bug), err, out)
		}
	}
}
