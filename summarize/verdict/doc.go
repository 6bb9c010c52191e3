// Package verdict decides how a tool call ended. It is the only place that does: the rules take a summary's mark and a
// record's status from [Of], and the ledger what a compaction says about runs.
//
// Evidence, the strongest first:
//
//  1. what the harness says: an error flag, an exit code, the lines that it puts around an output;
//  2. what a test runner, compiler or linter sums up in its own words (runner.go, tally.go). They stand over an exit code
//     of 0 where the command line hides the program's own: a pipe, `|| true`, a further command. What a runner says of the
//     whole run (a suite that did not load, a threshold, an aborted run) stands over a tally of tests that passed;
//  3. lines that report an error (errorline.go).
//
// A verdict is never a guess. Where the evidence is missing or contradicts itself, it is [Unknown] or [Partial]. What a
// command only quotes (a log, a diff, a search result, rows of a query) says nothing about the command; where a program runs
// beside it, nothing tells the words of both apart, and only the exit code decides.
package verdict
