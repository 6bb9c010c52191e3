package logs

import (
	"testing"
)

func TestTallies(t *testing.T) {
	for _, text := range []string{
		"Plan: 3 to add, 1 to change, 0 to destroy.", "Apply complete! Resources: 3 added, 1 changed, 0 destroyed.", "=== 2 failed, 12 passed in 3.1s ===",
		"3 files changed, 129 insertions(+), 12 deletions(-)", "Tests run: 4, Failures: 1, Errors: 0, Skipped: 0", "12 examples, 2 failures, 1 pending",
		"Tests: 8, Assertions: 20, Failures: 1.", "✖ 7 problems (5 errors, 2 warnings)", "1 file reformatted, 2 files left unchanged", "0 upgraded, 3 newly installed, 0 to remove and 4 not upgraded.",
		"0 Warning(s), 1 Error(s)", "Failed!  - Failed: 1, Passed: 12, Skipped: 0, Total: 13, Duration: 2 s",
	} {
		if !Tallies(text) {
			t.Errorf("%q sums nothing up", text)
		}
	}
	for _, text := range []string{
		"", ", , ,", "store.go:12, store.go:14", "1, 2, 3", "a, b", "x = f(1, 2)", "3 of them failed", "at 12:30, 4 workers", "Mon, 2 Mar 2026 11:20:41 +0000", "id: 12, name: shop",
		"the 2 of them, who knows, 3 went, and more", "10.4 MB, 3.2 MB/s",
	} {
		if Tallies(text) {
			t.Errorf("%q sums something up", text)
		}
	}
}

func TestScores(t *testing.T) {
	for _, text := range []string{
		"Dispositivos inválidos rechazados: 0/3", "12/15 passed", "Coverage: 3/40 files", "✓ 3/3 checks passed", "Score: 7/10", "Routes ok: 12 / 14 (85.7%)", "tests passed: 3/4.",
	} {
		if !Scores(text) {
			t.Errorf("%q is no score", text)
		}
	}
	for _, text := range []string{
		"", "a/b", "[1/4] Resolving packages...", "see src/3/4", "at 1/2, 3", "Step 3/12 : RUN make", "url: http://a/3/4", "and/or: no", "ratio 3/4 of the room is for lines", "Failed: 3/0",
	} {
		if Scores(text) {
			t.Errorf("%q is a score", text)
		}
	}
}
