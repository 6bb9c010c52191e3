package secrets_test

import (
	"flag"
	"testing"
	"time"

	"precis/internal/secrets"
	"precis/internal/secrets/samples"
)

var draws = flag.Int("draws", 5, "how often each kind of secret is drawn; 200 before a release")

// leastLeak is the length from which a part of a secret counts as leaked.
const leastLeak = 8

func TestNoKindLeaks(t *testing.T) {
	m, err := secrets.Load()
	if err != nil {
		t.Fatal(err)
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r, kinds, leaks := samples.New(seed), samples.Kinds(), 0
	for _, k := range kinds {
		missed := 0
		for range *draws {
			s := k.Draw(r)
			text := "some text before it\n" + s.Text() + "and some behind\n"
			if got := m.Mask(text); s.Leaks(got, leastLeak) != "" {
				if missed++; missed == 1 {
					t.Errorf("%s: %q became %q", k.Name, s.Text(), got)
				}
			}
		}
		leaks += missed
	}
	t.Logf("%d kinds, %d draws each: %d leaks", len(kinds), *draws, leaks)
	if len(kinds) < 100 {
		t.Errorf("%d kinds", len(kinds))
	}
}

func TestNoLookAlikeIsMasked(t *testing.T) {
	m, err := secrets.Load()
	if err != nil {
		t.Fatal(err)
	}
	seed := uint64(time.Now().UnixNano())
	r := samples.New(seed)
	told := map[int]bool{}
	for range *draws {
		for i, text := range samples.LookAlikes(r) {
			if got := m.Mask("x\n" + text + "\ny"); got != "x\n"+text+"\ny" && !told[i] {
				told[i] = true
				t.Errorf("seed %d: %q became %q", seed, text, got)
			}
		}
	}
}
