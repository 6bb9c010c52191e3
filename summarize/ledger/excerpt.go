package ledger

import (
	"slices"
	"strings"
)

// mention is the place in a line of an identifier that would add something.
type mention struct {
	start, end int
	from, to   int // of the space-delimited text around it
	at         int // index in the stretches of all lines
	gain       float64
}

const (
	// overhead is the cost of an excerpt beyond its own characters: its separator.
	overhead = len(" … ") - 2
	// leastExcerpt is the shortest part of a line that is quoted: anything shorter is a name without context.
	// Measured: 20 and 24 keep as much of what is used later, 32 keeps less.
	leastExcerpt = 24
	// wholeShare is the share of the best part's rate at which the whole line is quoted instead.
	wholeShare = 0.85
)

// excerpt is the part of a line with the best gain for its cost.
type excerpt struct {
	start, end int
	rate       float64 // gain per character
}

// excerpt returns a line's best part: the whole of a sentence; of code or output the stretch between two spaces
// with the highest density of identifiers not yet mentioned.
func (p *picker) excerpt(l *Line, at reach) excerpt {
	found := p.mentions(at)
	if len(found) == 0 {
		return excerpt{}
	}
	worth, extra := readability(l), overhead+p.cost[at.place]
	whole := excerpt{end: len(l.Text), rate: sum(found) * worth / float64(len(l.Text)+extra)}
	if l.Kind == KindSaid || l.Kind == KindUser {
		return whole // half a sentence is misleading
	}
	var top excerpt
	for i := range found {
		gain := 0.0
		for j := i; j < len(found); j++ {
			gain += found[j].gain
			start, end := p.between(l.Text, &found[i], &found[j])
			rate := gain * worth / float64(end-start+extra)
			if rate > top.rate {
				top = excerpt{start, end, rate}
			}
		}
	}
	if whole.rate >= wholeShare*top.rate {
		return whole
	}
	return top
}

// between returns the stretch of a line from one mention to another. If it can be quoted from space to space, which
// their positions show, it needs no tidying. Around a single mention it never changes.
func (p *picker) between(line string, first, last *mention) (start, end int) {
	start, end = first.from, last.to
	if end-start == len(line) || end-start >= leastExcerpt && first.to < end {
		return start, end
	}
	if first != last {
		return tidy(line, first.start, last.end)
	}
	s := &p.of.found[first.at]
	if s.alone.to == 0 {
		start, end = tidy(line, first.start, last.end)
		s.alone.from, s.alone.to = int32(start), int32(end)
	}
	return int(s.alone.from), int(s.alone.to)
}

// quotable reports whether a part of a line can stand alone: it is the whole line, or several words.
func quotable(part, line string) bool {
	return len(part) == len(line) || len(part) >= leastExcerpt && strings.IndexByte(part, ' ') > 0
}

// tidy expands a stretch to whole words, and removes operators at its ends.
func tidy(s string, start, end int) (from, to int) {
	from, to = roundOut(s, start, end)
	for next := spaceAfter(s, from); next < start && wordless(s[from:next]); next = spaceAfter(s, from) {
		from = next + 1
	}
	for last := spaceBefore(s, to); last > end && wordless(s[last:to]); last = spaceBefore(s, to) {
		to = last - 1
	}
	return from, to
}

func wordless(s string) bool {
	for i := range len(s) {
		if wordByte(s[i]) || s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// roundOut widens a stretch to the surrounding spaces, and further until it can be quoted.
func roundOut(s string, start, end int) (from, to int) {
	from, to = spaceBefore(s, start), spaceAfter(s, end)
	for !quotable(s[from:to], s) {
		if to < len(s) {
			to = spaceAfter(s, to+1)
			continue
		}
		from = spaceBefore(s, from-1)
	}
	return from, to
}

func spaceBefore(s string, i int) int { return strings.LastIndexByte(s[:max(i, 0)], ' ') + 1 }

func spaceAfter(s string, i int) int {
	if n := strings.IndexByte(s[i:], ' '); n >= 0 {
		return i + n
	}
	return len(s)
}

// mentions returns a line's identifiers that are not yet mentioned, in order; a part of a path or a name counts
// toward the whole. The result is valid until the next call.
func (p *picker) mentions(at reach) []mention {
	found, seen := p.found[:0], p.seen[:0] // few per line, so no map
	for i := at.from; i < at.to; i++ {
		s, gain := &p.of.found[i], 0.0
		if n := &p.of.all[s.name]; !p.said(n) && !slices.Contains(seen, s.name) {
			gain, seen = n.chance, append(seen, s.name)
		}
		start, end := int(s.start), int(s.end)
		if n := len(found); n > 0 && start >= found[n-1].start && end <= found[n-1].end {
			found[n-1].gain += gain
			continue
		}
		if gain > 0 {
			found = append(found, mention{start, end, int(s.from), int(s.to), int(i), gain})
		}
	}
	p.found, p.seen = found, seen
	return found
}

func sum(list []mention) float64 {
	total := 0.0
	for _, m := range list {
		total += m.gain
	}
	return total
}
