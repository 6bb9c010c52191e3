// Package logs reads lines of logs: structured records and what they report, lines that sum up results, prefixes that all lines share,
// and texts that differ in digits only.
package logs
