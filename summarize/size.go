package summarize

import (
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json"
)

// SummaryTokens is the largest size of a compaction, in tokens; Auto goes by what the compaction replaces. In files and records it
// is a number or "auto".
type SummaryTokens int

// Auto is a share of what a compaction replaces.
const Auto SummaryTokens = 0

// A thirty-second of what is replaced is where a longer text stops answering more of what a reader asks for, at 9,000 tokens
// as at 70,000 (docs/compactions.md). Vendors' own compactions of 130,000 to 180,000 tokens take 2,700 to 5,300.
const (
	autoShare = 32
	autoLeast = 500
	autoMost  = 4000
)

// For returns the size of a compaction of messages that take before tokens in a prompt.
func (n SummaryTokens) For(before int64) int64 {
	if n != Auto {
		return int64(n)
	}
	return min(max(before/autoShare, autoLeast), autoMost)
}

// within is the setting as far as it can change a compaction, whose share of the window bounds it.
func (n SummaryTokens) within(share int) any {
	if n != Auto {
		return min(int(n), share)
	}
	return fmt.Sprintf("%s up to %d", n, min(autoMost, share))
}

const auto = "auto"

// String implements fmt.Stringer.
func (n SummaryTokens) String() string {
	if n == Auto {
		return auto
	}
	return strconv.Itoa(int(n))
}

// ParseSummaryTokens reads what String returns.
func ParseSummaryTokens(text string) (SummaryTokens, error) {
	if text == auto {
		return Auto, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return Auto, fmt.Errorf("%q is neither auto nor a whole number from 1 up", text)
	}
	return SummaryTokens(n), nil
}

// MarshalYAML implements yaml.InterfaceMarshaler.
func (n SummaryTokens) MarshalYAML() (any, error) {
	if n == Auto {
		return auto, nil
	}
	return int(n), nil
}

// MarshalJSON implements json.Marshaler.
func (n SummaryTokens) MarshalJSON() ([]byte, error) {
	if n == Auto {
		return json.Marshal(auto)
	}
	return json.Marshal(int(n))
}

// UnmarshalJSON implements json.Unmarshaler.
func (n *SummaryTokens) UnmarshalJSON(b []byte) error {
	if string(b) == `"`+auto+`"` {
		*n = Auto
		return nil
	}
	return json.Unmarshal(b, (*int)(n))
}
