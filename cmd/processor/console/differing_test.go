package console

import (
	"strings"
	"testing"
)

func TestDiffering(t *testing.T) {
	long := strings.Repeat("ä", 200)
	for _, c := range [][4]string{
		{"missing", "a", "missing", "a"},
		{long + "x", "", strings.Repeat("ä", 20) + "…", ""},
		{long + "x", long, "…" + strings.Repeat("ä", 19) + "x", "…" + strings.Repeat("ä", 20)},
		{long + "x" + long, long + "y" + long, "…" + strings.Repeat("ä", 5) + "x" + strings.Repeat("ä", 14) + "…", "…" + strings.Repeat("ä", 5) + "y" + strings.Repeat("ä", 14) + "…"},
		{"x" + long, long, "x" + strings.Repeat("ä", 19) + "…", strings.Repeat("ä", 20) + "…"},
	} {
		if a, b := Differing(c[0], c[1], 20); a != c[2] || b != c[3] {
			t.Errorf("%q and %q", a, b)
		}
	}
	if a, _ := Differing("a\x1b[31m", "", 20); strings.Contains(a, "\x1b") {
		t.Errorf("%q", a)
	}
}
