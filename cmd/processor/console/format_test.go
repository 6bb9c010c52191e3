package console

import (
	"testing"
)

func TestFormat(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Grouped(0), "0"},
		{Grouped(999), "999"},
		{Grouped(1000), "1,000"},
		{Grouped(-1234567), "-1,234,567"},
		{Change(4120, 310, "tokens"), "4,120 → 310 tokens (-92 %)"},
		{Change(0, 5, "bytes"), "0 → 5 bytes"},
		{Change(4120, 4120, "tokens"), "4,120 tokens, unchanged"},
		{Change(0, 0, "tokens"), "0 tokens, unchanged"},
		{Change(100, 100, ""), "100, unchanged"}, {Change(100, 50, ""), "100 → 50 (-50 %)"},
		{Change(41200, 41199, "tokens"), "41,200 → 41,199 tokens (0 %)"},
		{Percentage(1, 1000), "0 %"}, {Percentage(5, 100), "+5 %"}, {Percentage(0, 0), ""},
		{Dollars(nil), "unknown"},
		{Dollars(new(int64)), "$0"},
		{Clip("héllo", 5), "héllo"},
		{Clip("héllo!", 5), "héll…"},
		{Number(1048542), "1048542"}, {Number(2.0 / 3), "0.6666666666666666"},
		{Measured(1048542), "1,048,542"}, {Measured(-0.25), "-0.25"}, {Measured(2.0 / 3), "0.666667"}, {Measured(1234.5), "1,234.5"},
		{Printable("a\nb\x1b[2J\u202Ec"), "a b\uFFFD[2J\uFFFDc"},
		{PrintableLines("a\n\tb\r\x00"), "a\n\tb\uFFFD\uFFFD"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}
