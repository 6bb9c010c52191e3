package llm

import (
	"fmt"
	"strings"
)

// Refusal says why an answer is not adopted.
type Refusal string

// Refusals.
const (
	RefusedCutOff   Refusal = "cut_off"
	RefusedByModel  Refusal = "refused_by_model"
	RefusedUnended  Refusal = "no_proper_end"
	RefusedEmpty    Refusal = "empty"
	RefusedTooLong  Refusal = "over_budget"
	RefusedNoSaving Refusal = "not_shorter_than_source"
)

// Error makes a refusal an error.
func (r Refusal) Error() string { return fmt.Sprintf("refuse answer: %s", string(r)) }

// checked is the text of an answer, ready to stand, or a Refusal. Its quotes are put right before it is
// measured.
func checked(r Reply, l limits, quotes func(string) string) (string, error) {
	switch r.FinishReason {
	case FinishStop:
	case FinishLength:
		return "", RefusedCutOff
	case FinishRefusal:
		return "", RefusedByModel
	default:
		return "", RefusedUnended
	}
	text := strings.TrimSpace(strings.ToValidUTF8(r.Text, "\uFFFD"))
	text = strings.TrimSpace(quotes(text))
	switch {
	case text == "":
		return "", RefusedEmpty
	case chars(text) >= l.source:
		return "", RefusedNoSaving
	case !l.fits(text):
		return "", RefusedTooLong
	}
	return text, nil
}
