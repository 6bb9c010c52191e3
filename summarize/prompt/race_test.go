//go:build race

package prompt

// underRace: measures over all transcripts run in one goroutine, so the race detector has nothing to find
// there, and takes minutes.
const underRace = true
