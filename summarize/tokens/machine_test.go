package tokens

import (
	"math/rand/v2"
	"testing"
)

// A text that is walked in two halves at once costs what it costs from its first byte to its last.
func TestHalvesCostWhatTheWholeCosts(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	m := newMachine(measured)
	whole := func(text string) (sum int) {
		row := step(atLine * classesMax)
		for i := range len(text) {
			row = m.next(row, text[i])
			sum += int(row >> rowBits)
		}
		return sum
	}
	const bytes = "aB7 \t\n\r.,\xe4\xb8\x96  e"
	parted := 0
	for range 20_000 {
		text := make([]byte, rng.IntN(200))
		for i := range text {
			text[i] = bytes[rng.IntN(len(bytes))]
		}
		if at, _ := parting(string(text)); at < len(text) {
			parted++
		}
		if got, want := m.thousandths(string(text)), whole(string(text)); got != want {
			t.Fatalf("%q costs %d in halves, %d whole", text, got, want)
		}
	}
	if parted == 0 {
		t.Error("none had two halves")
	}
}
