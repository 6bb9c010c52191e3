package prompt

// Marks of a compaction that did not fit, and the fewest tokens that one is worth.
const (
	omittedSummary   = "[Summary omitted - insufficient budget]"
	truncatedSummary = "\n[Summary truncated]"
	leastSummary     = 50
)

// shrink makes the compaction give way where the prompt is over its limit without anything else left to
// give up, and returns what the prompt takes then.
func (d *draft) shrink(total int, r Request) int {
	if r.MaxTokens <= 0 || total <= r.MaxTokens || d.summary == "" {
		return total
	}
	rest := total - compactionCost(d.summary, r.Count)
	d.summary = shorter(d.summary, r.MaxTokens-rest, r.Count)
	return rest + compactionCost(d.summary, r.Count)
}

// shorter cuts a compaction to room tokens, framing included. Below leastSummary only a mark says that
// there is one, and where there is no room for the mark, nothing does.
func shorter(text string, room int, count func(string) int) string {
	if room < leastSummary {
		if compactionCost(omittedSummary, count) > room {
			return ""
		}
		return omittedSummary
	}
	runes := []rune(text)
	low, high := 0, len(runes)
	for low < high {
		mid := (low + high + 1) / 2
		if compactionCost(string(runes[:mid])+truncatedSummary, count) <= room {
			low = mid
			continue
		}
		high = mid - 1
	}
	return string(runes[:low]) + truncatedSummary
}
