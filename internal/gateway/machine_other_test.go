//go:build !linux

package gateway_test

import (
	"testing"
	"time"
)

// Elsewhere no thread can go before all others, and nothing can be told of the machine.
type machine struct{}

func asMachine() bool                            { return false }
func watchMachine(*testing.B) machine            { return machine{} }
func clock() int64                               { return 0 }
func (machine) end(*testing.B) bool              { return false }
func (machine) steady(int64, time.Duration) bool { return true }
