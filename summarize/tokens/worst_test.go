package tokens

import (
	"strings"
	"testing"
	"time"

	"precis/internal/race"
)

// worst are the texts whose pieces don't end, or whose runs a backtracking pattern goes through
// again and again. Each stands for n bytes of itself.
var worst = map[string]string{
	"letter":             "a",
	"two letters":        "ab",
	"capital":            "A",
	"capital then small": "Aa",
	"mark, capitals":     "\u0301AAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
	"space":              " ",
	"spaces, letter":     "                                x",
	"line break":         "\n",
	"break, blanks":      "\n    ",
	"equals":             "=",
	"slash":              "/",
	"apostrophe":         "'",
	"digit":              "7",
	"hanzi":              "中",
	"chinese":            "人工智能正在改变世界各地的软件开发方式",
	"kana":               "あいうえおかきくけこ",
	"thai":               "ภาษาไทยไม่มีช่องว่างระหว่างคำ",
	"emoji":              "🙂",
	"family":             "👩‍👩‍👧‍👦",
	"marks":              "\u0301",
	"no utf-8":           "\xff",
	"half a rune":        "\xe4\xb8",
	"NUL":                "\x00",
	"dna":                "gattacacattagacatcgattacagccgtaatcg",
	"base64":             "TG9yZW0gaXBzdW0gZG9sb3Igc2l0IGFtZXQsIGNvbnNlY3RldHVyIGFkaXBpc2NpbmcgZWxpdA",
}

func worstText(part string, n int) string { return strings.Repeat(part, n/len(part)+1)[:n] }

// TestMergingGrowsAlmostLinearly counts the candidates that a merge takes from its queue: each costs
// one look-up and log n comparisons. At most three for a byte, however long the piece.
func TestMergingGrowsAlmostLinearly(t *testing.T) {
	v := loadO200k().vocab
	for what, part := range worst {
		for n := 1 << 10; n <= 1<<15; n *= 4 {
			m := newMerging(v, worstText(part, n))
			m.run()
			if m.taken > 3*n {
				t.Errorf("%s: %d candidates for %d bytes", what, m.taken, n)
			}
		}
	}
}

// TestWorstCaseTimes prints what the worst texts cost; no time is asserted, since machines differ.
func TestWorstCaseTimes(t *testing.T) {
	race.Slow(t)
	if testing.Short() {
		t.Skip("short: prints only")
	}
	c := loadO200k()
	for what, part := range worst {
		text := worstText(part, 1<<18)
		start := time.Now()
		n := c.Count(text)
		t.Logf("%-20s %8d tokens in %8.1f ms a MiB", what, n, time.Since(start).Seconds()*4000)
	}
}
