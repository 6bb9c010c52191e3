package figure_test

import (
	"testing"

	"precis/internal/figure"
)

func TestFigures(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{figure.Grouped(0), "0"}, {figure.Grouped(999), "999"}, {figure.Grouped(1000), "1,000"}, {figure.Grouped(-1234567), "-1,234,567"},
		{figure.Counted(1, "summary"), "1 summary"}, {figure.Counted(uint64(1200), "summary"), "1,200 summaries"},
		{figure.Counted(0, "line"), "0 lines"}, {figure.Counted(int64(12345), "token"), "12,345 tokens"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}
