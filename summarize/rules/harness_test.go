package rules

import "testing"

// TestProper: what agents' programs add is no part of a source, and what only looks alike stays.
func TestProper(t *testing.T) {
	for source, want := range map[string]string{
		"a\nb\n\n[54 more lines in file. Use offset=80 to continue]":                                                                             "a\nb\n",
		"a\nb\n... (12 more lines)\n</file>":                                                                                                     "a\nb\n",
		"Chunk ID: 3f\nWall time: 1.2 seconds\nProcess exited with code 1\nOriginal token count: 7\nOutput:\nFAIL\n":                             "FAIL\n",
		"Exit code: 0\nWall time: 0 seconds\nOutput:\nWarning: truncated output (original token count: 12685)\nTotal output lines: 446\n\n\na\n": "\na\n",
		"Total output lines: 446\nOutput:\n\na\n":                                                                                                "\na\n",
		"Warning: truncated output (by hand)\na\n":                                                                                               "Warning: truncated output (by hand)\na\n",
		"     1\ta\n     2\tb\n\n<system-reminder>\nDo this.\n</system-reminder>\n":                                                              "     1\ta\n     2\tb\n",
		"a\nb\n<shellId: 15 completed with exit code 0>":                                                                                         "a\nb\n",
		"x := \"<system-reminder>\"\ny":                                                                                                          "x := \"<system-reminder>\"\ny",
		"Output:\n":                                                                                                                              "Output:\n", "": "", "a\n\n": "a\n\n",
	} {
		if got := proper(source); got != want {
			t.Errorf("%q: %q, want %q", source, got, want)
		}
	}
}
