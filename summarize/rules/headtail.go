package rules

import (
	"strings"
)

// HeadTail keeps the beginning and the end of content, with a mark between them that says what is missing:
// the last resort, which needs no understanding. The mark says where the original is (Original). The category sets the beginning's share. It cuts at
// line ends if that costs less than half of a side; no result has more than maxChars code points.
func HeadTail(content string, category Category, maxChars int, original string) string {
	text := strings.ToValidUTF8(content, "\uFFFD")
	total := runes(text)
	if total <= maxChars {
		return text
	}
	if maxChars <= 0 {
		return ""
	}
	// The length of the mark depends on its content: reserve its maximum.
	room := maxChars - runes(omission(strings.Count(text, "\n")+1, total, original)) - 2
	if room < 2 {
		return clip(text, maxChars)
	}
	ahead := int(float64(room) * category.HeadRatio())
	first := wholeLines(prefix(text, ahead))
	last := wholeTail(suffix(text, room-ahead))
	middle := text[len(first) : len(text)-len(last)]
	mark := omission(strings.Count(strings.Trim(middle, "\n"), "\n")+1, runes(middle), original)
	return joinLines(strings.TrimRight(first, "\n"), mark, strings.TrimLeft(last, "\n"))
}

// wholeLines drops an incomplete last line, unless that would drop more than half.
func wholeLines(s string) string {
	if i := strings.LastIndexByte(s, '\n'); i+1 > len(s)/2 {
		return s[:i+1]
	}
	return s
}

func wholeTail(s string) string {
	if i := strings.IndexByte(s, '\n'); i >= 0 && i < len(s)/2 {
		return s[i+1:]
	}
	return s
}

// suffix returns the last n code points of s, without those of a character that begins earlier.
func suffix(s string, n int) string {
	skip := runes(s) - n
	if skip <= 0 {
		return s
	}
	return s[behind(s, len(head(s, skip))):]
}

// joinLines puts the non-empty parts on separate lines.
func joinLines(parts ...string) string {
	kept := parts[:0]
	for _, p := range parts {
		if p != "" {
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, "\n")
}
