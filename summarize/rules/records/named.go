package records

import (
	"slices"
	"strings"

	"precis/summarize/lex"
)

// NamedFirst moves the records to the front of whose values a text names most: what was asked for is among those that have a row. A value that more
// than half of the records have tells none apart. Nil if the text does not name two values of any, and for groups, whose rows are in order.
func NamedFirst(records []Record, text string) []Record {
	const least = 3 // bytes
	if records[len(records)-1].group > 0 {
		return nil
	}
	text = spaced(text)
	values := make([][]string, len(records))
	held := map[string]int{}
	for i, r := range records {
		for _, name := range r.keys {
			for part := range strings.SplitSeq(r.values[name], "/") {
				part = strings.TrimSpace(spaced(part))
				if len(part) >= least && part != "true" && part != "false" && !slices.Contains(values[i], part) {
					values[i] = append(values[i], part)
					held[part]++
				}
			}
		}
	}
	named := map[string]bool{}
	for value, n := range held {
		named[value] = n*2 <= len(records) && strings.Contains(text, " "+value+" ")
	}
	type counted struct {
		record Record
		named  int
	}
	list := make([]counted, len(records))
	most := 0
	for i, r := range records {
		list[i].record = r
		for _, value := range values[i] {
			if named[value] {
				list[i].named++
			}
		}
		most = max(most, list[i].named)
	}
	if most < 2 { // one word may be there by chance
		return nil
	}
	slices.SortStableFunc(list, func(a, b counted) int { return b.named - a.named })
	sorted := make([]Record, len(list))
	for i := range list {
		sorted[i] = list[i].record
	}
	return sorted
}

// spaced returns the words of a text in small letters, each between blanks.
func spaced(text string) string {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return r < 0x80 && !lex.WordByte[r] && r != '-' && r != '%' })
	return " " + strings.Join(words, " ") + " "
}
