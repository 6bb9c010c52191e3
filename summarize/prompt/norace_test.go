//go:build !race

package prompt

const underRace = false
