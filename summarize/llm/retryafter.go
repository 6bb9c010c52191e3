package llm

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// retryAfter reads how long a provider asks to wait: milliseconds (OpenAI's own header), seconds or a
// date (RFC 9110, 10.2.3). 0 where it says nothing that can be understood.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil {
		return span(ms, time.Millisecond)
	}
	value := strings.TrimSpace(h.Get("Retry-After"))
	if seconds, err := strconv.ParseFloat(value, 64); err == nil {
		return span(seconds, time.Second)
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}

// span is n units, kept within a day: a Duration overflows, and nobody waits longer. NaN is no wait.
func span(n float64, unit time.Duration) time.Duration {
	const day = 24 * time.Hour
	if !(n > 0) {
		return 0
	}
	if n >= float64(day/unit) {
		return day
	}
	return time.Duration(n * float64(unit))
}
