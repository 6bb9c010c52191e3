package pricing

import (
	"fmt"
	"strings"
)

// Currency is that of all prices and costs.
const Currency = "USD"

// microPerUSD is the number of micro-dollars per dollar.
const microPerUSD = 1_000_000

// MicroUSD is an amount of money in millionths of a US dollar. As a price it is per million tokens.
type MicroUSD int64

// ParseUSD reads a decimal amount of dollars, such as "0.075", exactly: it refuses more than six decimals, a sign
// and an exponent instead of rounding.
func ParseUSD(s string) (MicroUSD, error) {
	whole, frac, _ := strings.Cut(s, ".")
	if len(frac) > 6 {
		return 0, fmt.Errorf("parse dollars %q: more than six decimals", s)
	}
	digits := whole + frac + strings.Repeat("0", 6-len(frac))
	if whole == "" || len(digits) > 18 {
		return 0, fmt.Errorf("parse dollars %q: not an amount", s)
	}
	var n MicroUSD
	for _, c := range []byte(digits) {
		if c < '0' || c > '9' {
			return 0, fmt.Errorf("parse dollars %q: not an amount", s)
		}
		n = n*10 + MicroUSD(c-'0')
	}
	return n, nil
}

// String formats the amount as ParseUSD reads it, without trailing zeros.
func (m MicroUSD) String() string {
	s := fmt.Sprintf("%d.%06d", m/microPerUSD, m%microPerUSD)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}

// UnmarshalYAML reads the number's digits, so that 0.075 never becomes a binary fraction.
func (m *MicroUSD) UnmarshalYAML(text []byte) error {
	n, err := ParseUSD(strings.Trim(strings.TrimSpace(string(text)), `"'`))
	*m = n
	return err
}

// MarshalYAML writes the amount as a plain decimal.
func (m MicroUSD) MarshalYAML() ([]byte, error) { return []byte(m.String()), nil }
