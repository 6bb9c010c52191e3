package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"unicode/utf8"
)

var words = strings.Fields(`the agent reads file returns error config value server request user session
	token build failed test passed module package function handler stream message summary window latency
	größe naïve данные 日志 résumé 🙂 connection timeout retry index query table commit branch merge`)

var tools = []string{"read_file", "grep", "ls", "bash", "gh", "web_fetch"}

// prose returns text of exactly chars code points.
func prose(rng *rand.Rand, chars int) string {
	return exactly(chars, func() string { return words[rng.IntN(len(words))] + " " })
}

// toolText returns a plausible output of tool, of exactly chars code points.
func toolText(rng *rand.Rand, tool string, chars int) string {
	n := 0
	return exactly(chars, func() string {
		n++
		w := words[rng.IntN(len(words))]
		switch tool {
		case "read_file":
			return fmt.Sprintf("%6d\tif err := %s.Do(%d); err != nil {\n", n, w, rng.IntN(1000))
		case "grep":
			return fmt.Sprintf("internal/%s/%s.go:%d:\treturn fmt.Errorf(\"%s: %%w\", err)\n", w, words[n%len(words)], rng.IntN(900), w)
		case "ls":
			return fmt.Sprintf("-rw-r--r-- 1 agent agent %7d Nov %2d 10:%02d %s_%d.go\n", rng.IntN(1e6), 1+n%28, n%60, w, n)
		case "bash":
			if rng.IntN(12) == 0 {
				return fmt.Sprintf("ERROR: %s_test.go:%d: got %d, want %d\n", w, rng.IntN(400), rng.IntN(99), rng.IntN(99))
			}
			return fmt.Sprintf("ok  \texample.com/%s\t%d.%03ds\n", w, n%9, rng.IntN(1000))
		case "gh":
			return fmt.Sprintf("{\"number\":%d,\"title\":\"%s %s\",\"state\":\"open\"}\n", n, w, words[n%len(words)])
		}
		return w + " " + words[rng.IntN(len(words))] + ". "
	})
}

func exactly(chars int, part func() string) string {
	var b strings.Builder
	for left := chars; left > 0; {
		p := part()
		n := utf8.RuneCountInString(p)
		if n > left {
			p = string([]rune(p)[:left])
			n = left
		}
		b.WriteString(p)
		left -= n
	}
	return b.String()
}

// toolChars draws the length of a tool output: mostly small, a third large, some very large, and
// the threshold and its successor more often than by chance.
func toolChars(rng *rand.Rand) int {
	switch p := rng.IntN(100); {
	case p < 3:
		return 0
	case p < 60:
		return 1 + rng.IntN(largeChars)
	case p < 63:
		return largeChars
	case p < 66:
		return largeChars + 1
	case p < 94:
		return largeChars + 1 + rng.IntN(6000)
	case p < 99:
		return 8000 + rng.IntN(32000)
	}
	return 50_000 + rng.IntN(100_000)
}
