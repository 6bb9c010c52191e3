package secrets

import (
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
	"github.com/zricethezav/gitleaks/v8/config"
	"pgregory.net/rapid"
)

// Running expressions only around their keywords finds everything that running them over the whole text, as gitleaks
// does, would find.
func TestWindowsFindWhatTheWholeTextHolds(t *testing.T) {
	m := masker(t)
	var raw config.ViperConfig
	if err := toml.Unmarshal([]byte(config.DefaultConfig), &raw); err != nil {
		t.Fatal(err)
	}
	c, err := raw.Translate()
	if err != nil {
		t.Fatal(err)
	}
	pieces := []string{
		"api", "_key", "public_key", "Token", "secret", "auth", "password", "author", "adobe", "github", "dropbox",
		" = ", ": ", "=", ":=", "=>", " ", "\n", `"`, "'", ";", ",", "é", "the quick brown fox ", strings.Repeat("filler ", 60),
		letters(40, hex), letters(32, alnum), letters(15, alnum), made("gh", "p_", letters(36, alnum)), made("AK", "IA", letters(16, upper)), "gitleaks:allow",
	}
	found := 0
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 1, 40).Draw(t, "pieces"), "")
		ours := m.Find(text)
		for _, f := range wholeText(c, text) {
			found++
			if !covered(ours, f) {
				t.Fatalf("%s finds %q in %q; we found %v", f.Rule, text[f.Start:f.End], text, ours)
			}
		}
	})
	if found == 0 {
		t.Fatal("the reference found nothing")
	}
}

func wholeText(c config.Config, text string) []Finding {
	var found []Finding
	for _, id := range c.OrderedRules {
		r := c.Rules[id]
		if r.Regex == nil || r.Path != nil || len(r.Keywords) == 0 || !holdsAny(text, r.Keywords) {
			continue
		}
		reference := rule{id: id, regex: r.Regex, group: r.SecretGroup, entropy: r.Entropy, allowed: anyOf(allowedWhole(c.Allowlists), allowedBy(r.Allowlists))}
		for _, f := range reference.in(text, window{0, len(text)}) {
			if !reference.allows(text, f) {
				found = append(found, Finding{id, f.start, f.end})
			}
		}
	}
	return found
}

func holdsAny(text string, keywords []string) bool {
	folded := strings.ToLower(text)
	for _, k := range keywords {
		if strings.Contains(folded, k) {
			return true
		}
	}
	return false
}

func covered(ours []Finding, f Finding) bool {
	for _, o := range ours {
		if o.Start <= f.Start && f.End <= o.End {
			return true
		}
	}
	return false
}
