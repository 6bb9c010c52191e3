//go:build race

package processor_test

// underRace says that the race detector is on, with which some tests would take many minutes.
const underRace = true
