package llm

import "strings"

// split cuts a text into parts of at most limit characters, after a line where there is one, else in a
// line. The parts joined are the text; none is empty unless the text is.
func split(text string, limit int) []string {
	if limit <= 0 {
		return []string{text}
	}
	var parts []string
	for chars(text) > limit {
		part := firstChars(text, limit)
		if at := strings.LastIndexByte(part, '\n'); at >= 0 {
			part = part[:at+1]
		}
		parts = append(parts, part)
		text = text[len(part):]
	}
	if text != "" || len(parts) == 0 {
		parts = append(parts, text)
	}
	return parts
}
