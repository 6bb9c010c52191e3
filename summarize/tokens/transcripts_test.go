package tokens

import (
	"testing"

	"precis/internal/race"
)

// sampled is how many messages of a file are compared: the reference takes seconds a megabyte.
const sampled = 300

// TestTranscriptsCountAsTheReference: on contents and calls' arguments, the same as the
// reference and, where it follows the pattern, the library.
func TestTranscriptsCountAsTheReference(t *testing.T) {
	race.Slow(t)
	if testing.Short() {
		t.Skip("short: the reference is slow")
	}
	for file, messages := range transcripts(t) {
		t.Run(file, func(t *testing.T) {
			bytes, off := 0, 0
			every := 1 + len(messages)/sampled
			for i := 0; i < len(messages); i += every {
				m := messages[i]
				texts := []string{m.text()}
				for _, c := range m.ToolCalls {
					texts = append(texts, string(c.Arguments))
				}
				for _, text := range texts {
					bytes += len(text)
					for _, r := range references() {
						r.check(t, text)
						if wrong, _ := libraryErrs.MatchString(text); wrong {
							off++
						}
					}
				}
			}
			t.Logf("%d bytes; %d texts where the library departs from the pattern", bytes, off)
		})
	}
}
