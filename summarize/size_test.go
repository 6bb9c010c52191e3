package summarize_test

import (
	"testing"

	"github.com/go-json-experiment/json"
	"pgregory.net/rapid"

	"precis/summarize"
)

func TestCharsBySizeOfTheSource(t *testing.T) {
	for source, want := range map[int]int{0: 800, 1_500: 800, 1_600: 800, 2_500: 1_000, 10_000: 2_000, 40_000: 4_000, 5_000_000: 4_000} {
		if got := summarize.Auto.Chars(source); got != want {
			t.Errorf("%d characters: %d, want %d", source, got, want)
		}
		if got := summarize.Size(700).Chars(source); got != 700 {
			t.Errorf("a size of 700 is %d for %d characters", got, source)
		}
	}
}

// A longer output never gets less room, nor more than it is longer.
func TestCharsGrowWithTheSource(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(0, 100_000).Draw(rt, "source")
		more := rapid.IntRange(0, 10_000).Draw(rt, "more")
		shorter, longer := summarize.Auto.Chars(n), summarize.Auto.Chars(n+more)
		if longer < shorter || longer-shorter > more {
			rt.Errorf("%d for %d, %d for %d more", shorter, n, longer, more)
		}
	})
}

func TestSizesInRecords(t *testing.T) {
	for size, want := range map[summarize.Size]string{summarize.Auto: `"auto"`, 800: `800`} {
		data, err := json.Marshal(size)
		if err != nil || string(data) != want {
			t.Errorf("%d: %s, %v", size, data, err)
		}
		var read summarize.Size
		if err := json.Unmarshal(data, &read); err != nil || read != size {
			t.Errorf("%s: %d, %v", data, read, err)
		}
	}
	var none summarize.Size
	if err := json.Unmarshal([]byte(`"half"`), &none); err == nil {
		t.Errorf("half is %d", none)
	}
}
