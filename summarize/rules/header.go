package rules

import "strings"

// header is the line of facts: `[✓ read_file: File: /app.ts | Lines: 100]`. If it is longer than limit,
// it shortens the first fact (the path, command or pattern, which the call contains too) and drops facts
// from the end.
func (f *facts) header(tool string, limit int) string {
	mark := f.ended.Verdict.Mark()
	if mark != "" {
		mark += " "
	}
	if tool == "" {
		tool = "tool"
	}
	head := "[" + mark + clip(oneLine(tool), max(12, limit/3)) + ": "
	key := append([]string(nil), f.key...)
	for {
		text := head + strings.Join(key, " | ") + "]"
		excess := runes(text) - limit
		if excess <= 0 || len(key) == 0 {
			return clip(text, limit)
		}
		least := firstFact
		if len(key) <= 2 {
			least = leastFact
		}
		if first := runes(key[0]); first-excess >= least || len(key) == 1 {
			key[0] = shorten(key[0], max(first-excess, 8))
			return clip(head+strings.Join(key, " | ")+"]", limit)
		}
		key = key[:len(key)-1]
	}
}

// Minimum lengths of the first fact, in code points: it keeps more when a third fact competes than a second.
const (
	firstFact = 28
	leastFact = 18
)

// shorten cuts a fact's value: a path at its beginning, anything else at its end.
func shorten(fact string, n int) string {
	name, value, ok := strings.Cut(fact, ": ")
	if ok && (name == "File" || name == "Path") {
		return name + ": " + shortPath(value, n-runes(name)-2)
	}
	return clip(fact, n)
}

// shortPath keeps the end of a path, beginning at a slash if possible.
func shortPath(path string, n int) string {
	cut := clipLeft(path, n)
	if i := strings.IndexByte(cut, '/'); i > 0 && cut != path && i < len(cut)*2/3 {
		return clipMark + cut[i:]
	}
	return cut
}
