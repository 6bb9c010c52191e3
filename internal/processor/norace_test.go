//go:build !race

package processor_test

const underRace = false
