package events

import (
	"strconv"
	"strings"
	"time"
)

// parseInteger reads a JSON number with an integer value in any notation ("1e2", "3.0"), without going through a
// float (which would round) or a big number (whose exponent the publisher could choose).
func parseInteger(s string) (int64, bool) {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n, true
	}
	mantissa, exponent, _ := strings.Cut(strings.ReplaceAll(s, "E", "e"), "e")
	negative := strings.HasPrefix(mantissa, "-")
	whole, fraction, _ := strings.Cut(strings.TrimPrefix(mantissa, "-"), ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	if digits == "" {
		return 0, true
	}
	shift, err := exponentOf(exponent)
	if err != nil {
		return 0, false
	}
	// The value is digits × 10^(shift - len(fraction)); fold trailing zeros into the power.
	significant := strings.TrimRight(digits, "0")
	power := shift - len(fraction) + len(digits) - len(significant)
	if power < 0 || len(significant)+power > 18 {
		return 0, false
	}
	n, err := strconv.ParseInt(significant+strings.Repeat("0", power), 10, 64)
	if negative {
		n = -n
	}
	return n, err == nil
}

func exponentOf(s string) (int, error) {
	if s == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(s, 10, 32)
	return int(n), err
}

// parseTime reads an RFC 3339 time. Go's parser refuses two forms that the RFC allows: lower-case letters, and a leap
// second, which parseTime reads as the following second. It also accepts two that the RFC does not allow and that Go
// won't format: a comma before the fraction and an offset of 24 hours.
func parseTime(s string) (time.Time, bool) {
	if len(s) < len("2006-01-02T15:04:05Z") || strings.Contains(s, ",") || strings.HasPrefix(s[len(s)-5:], "24:") {
		return time.Time{}, false
	}
	b := []byte(s)
	upper(&b[len("2006-01-02")])
	upper(&b[len(b)-1])
	leap := string(b[17:19]) == "60"
	if leap {
		copy(b[17:], "59")
	}
	var t time.Time
	if err := t.UnmarshalText(b); err != nil {
		return time.Time{}, false
	}
	if !leap {
		return t, true
	}
	utc := t.UTC()
	return t.Add(time.Second), utc.Hour() == 23 && utc.Minute() == 59
}

func upper(c *byte) {
	if *c == 't' || *c == 'z' {
		*c -= 'a' - 'A'
	}
}
