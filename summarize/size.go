package summarize

import (
	"fmt"
	"math"
	"strconv"

	"github.com/go-json-experiment/json"
)

// Size is the largest size of a summary; Auto goes by the size of what it stands for. In files and records it is a number or "auto".
type Size int

// Auto is the Size that goes by the size of the source.
const Auto Size = 0

// A thirty-second of what is replaced is where a longer text stops answering more of what a reader asks for, at 9,000 tokens
// as at 70,000 (docs/compactions.md). Vendors' own compactions of 130,000 to 180,000 tokens take 2,700 to 5,300.
const (
	autoShare = 32
	autoLeast = 500
	autoMost  = 4000
)

// Tokens returns the size of a compaction of messages that take before tokens in a prompt.
func (n Size) Tokens(before int64) int64 {
	if n != Auto {
		return int64(n)
	}
	return min(max(before/autoShare, autoLeast), autoMost)
}

// What is worth keeping of an output grows with its size, but more slowly: at the same mean length, room by the square root keeps
// more of what agents use later than a share of the output does, and both more than the same room for all (docs/rules.md). The
// root makes it a half of 1,600 characters, a fifth of 10,000 and a tenth of 40,000.
const (
	autoRoot       = 20
	autoLeastChars = 800 // the default for all
	autoMostChars  = 4000
)

// Chars returns the size of a summary of a tool output that has so many characters.
func (n Size) Chars(source int) int {
	if n != Auto {
		return int(n)
	}
	return min(max(int(autoRoot*math.Sqrt(float64(source))), autoLeastChars), autoMostChars)
}

// within is the setting as far as it can change a compaction, whose share of the window bounds it.
func (n Size) within(share int) any {
	if n != Auto {
		return min(int(n), share)
	}
	return fmt.Sprintf("%s up to %d", n, min(autoMost, share))
}

// fixed is the setting of a size that nothing else bounds.
func (n Size) fixed() any {
	if n != Auto {
		return int(n)
	}
	return auto
}

const auto = "auto"

// String implements fmt.Stringer.
func (n Size) String() string {
	if n == Auto {
		return auto
	}
	return strconv.Itoa(int(n))
}

// ParseSize reads what String returns.
func ParseSize(text string) (Size, error) {
	if text == auto {
		return Auto, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return Auto, fmt.Errorf("%q is neither auto nor a whole number from 1 up", text)
	}
	return Size(n), nil
}

// MarshalYAML implements yaml.InterfaceMarshaler.
func (n Size) MarshalYAML() (any, error) { return n.fixed(), nil }

// MarshalJSON implements json.Marshaler.
func (n Size) MarshalJSON() ([]byte, error) { return json.Marshal(n.fixed()) }

// UnmarshalJSON implements json.Unmarshaler.
func (n *Size) UnmarshalJSON(b []byte) error {
	if string(b) == `"`+auto+`"` {
		*n = Auto
		return nil
	}
	return json.Unmarshal(b, (*int)(n))
}
