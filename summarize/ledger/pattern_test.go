package ledger

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// The shortcuts never skip text that would match, nor leave text that would be changed.
func TestShortcuts(t *testing.T) {
	patterns := map[string]*pattern{
		"exitCode": exitCode, "failing": failing, "telling": telling, "complaint": complaint, "standing": standing,
	}
	pieces := []string{" ", " ", "  ", "\t", "\n", "\u00a0", "\x1b", ":", "1", "23", "|", "→", "- ", "[", "]", "_", "x", "ed", "ly", "é", "\xff", longS, kelvin}
	for _, p := range patterns {
		for _, marks := range p.marks {
			pieces = append(pieces, marks...)
		}
	}
	slices.Sort(pieces)
	pieces = append(slices.Compact(pieces), "Error", "Exit code 1", "exited with status: 2", "timeout", "o"+kelvin, "pa"+longS+"ed", "mu"+longS+"t")
	const seed = 20
	r := rand.New(rand.NewPCG(seed, seed))
	matched := map[string]int{}
	for range 20_000 {
		text := ""
		for range r.IntN(6) {
			piece := pieces[r.IntN(len(pieces))]
			if r.IntN(3) == 0 {
				piece = strings.ToUpper(piece)
			}
			text += piece
		}
		for name, p := range patterns {
			want := p.Regexp.FindStringSubmatch(text)
			if got := p.FindStringSubmatch(text); !slices.Equal(got, want) {
				t.Fatalf("%s finds %q in %q, the expression alone %q", name, got, text, want)
			}
			if want != nil {
				matched[name]++
			}
		}
		if got, want := unnumbered(text), numbered.ReplaceAllString(text, ""); got != want {
			t.Fatalf("%q without its number is %q, want %q", text, got, want)
		}
		if got, want := oneLine(text), strings.Join(strings.Fields(text), " "); got != want {
			t.Fatalf("%q in one line is %q, want %q", text, got, want)
		}
	}
	for name := range patterns {
		if matched[name] < 200 {
			t.Errorf("%s matched %d texts: the test says little of it", name, matched[name])
		}
	}
}
