package secrets

import (
	"strings"
	"testing"
)

func TestKnownValuesAreMasked(t *testing.T) {
	creds := "-----BEGIN NATS USER JWT-----\nplain.words.here\n------END NATS USER JWT------\n"
	m := masker(t).With("correct horse/battery", "short", creds, `quote"in"it`)
	for _, text := range []string{
		"the key is correct horse/battery.", "k=correct+horse%2Fbattery&x", "/correct%20horse%2Fbattery/", "jwt plain.words.here", `{"k":"quote\"in\"it"}`,
	} {
		got := m.Mask(text)
		for _, piece := range []string{"correct", "battery", "plain.words", "in\"it", `in\"it`} {
			if strings.Contains(got, piece) {
				t.Errorf("%q became %q", text, got)
			}
		}
		if masker(t).Mask(text) != text {
			t.Errorf("%q is masked without its value: it proves nothing", text)
		}
		if again := m.Mask(got); again != got {
			t.Errorf("masked again: %q, then %q", got, again)
		}
	}
	if got := m.Mask("short -----BEGIN NATS USER JWT-----"); got != "short -----BEGIN NATS USER JWT-----" {
		t.Errorf("masked %q", got)
	}
}
