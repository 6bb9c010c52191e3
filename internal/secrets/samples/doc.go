// Package samples draws secrets of many kinds, each in a place where it is found in practice, and texts that
// only look like secrets, from the templates in kinds.txt and lookalikes.txt. Tests use it. Every sample is put
// together when it is drawn, so that no file here looks like a leak to a scanner.
package samples
