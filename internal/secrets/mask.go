package secrets

import "strings"

// Mask replaces every secret by a mark: `[masked:github-pat]`, or a shorter one if the secret is shorter than that.
func (m *Masker) Mask(text string) string {
	found := m.Find(text)
	if len(found) == 0 {
		return text
	}
	var b strings.Builder
	at := 0
	for _, f := range found {
		b.WriteString(text[at:f.Start])
		b.WriteString(markFor(f.Rule, text[f.Start:f.End]))
		at = f.End
	}
	b.WriteString(text[at:])
	return b.String()
}

func markFor(rule, secret string) string {
	if lines := strings.Count(secret, "\n"); lines > 0 {
		// Keeps the line numbers of the following text.
		return markFor(rule, strings.ReplaceAll(secret, "\n", "")) + strings.Repeat("\n", lines)
	}
	room := len([]rune(secret))
	for _, mark := range []string{"[masked:" + rule + "]", "[masked]", "***"} {
		if len(mark) <= room {
			return mark
		}
	}
	return strings.Repeat("*", room)
}
