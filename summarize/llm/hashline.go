package llm

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
)

// A hashline is a line of a file as it may be quoted: its number, a short hash of its text, the text:
// `12:9f3a|func main() {`. By number and hash a quote is found again, and found out where it was altered.

const hashDigits = 4

func lineHash(line string) string {
	sum := sha256.Sum256([]byte(line))
	return hex.EncodeToString(sum[:])[:hashDigits]
}

func hashline(number int, line string) string {
	return strconv.Itoa(number) + ":" + lineHash(line) + "|" + line
}

// parseHashline takes a quote apart; ok says whether it has the form of one.
func parseHashline(s string) (number int, hash, text string, ok bool) {
	head, text, found := strings.Cut(s, "|")
	num, hash, colon := strings.Cut(strings.TrimSpace(head), ":")
	if !found || !colon || len(hash) != hashDigits {
		return 0, "", "", false
	}
	number, err := strconv.Atoi(num)
	if err != nil || number < 1 || strings.Trim(hash, "0123456789abcdef") != "" {
		return 0, "", "", false
	}
	return number, hash, text, true
}

// leastQuoted is how much of a line a shortened quote must hold to stand as it is.
const leastQuoted = 8

// restored puts every quoted line right from the source: a line that the model altered gets its true
// text, one that the source does not have goes.
func restored(text string, source []string) string {
	if !strings.Contains(text, "|") {
		return text
	}
	var out []string
	for _, line := range strings.Split(text, "\n") {
		number, hash, quoted, ok := parseHashline(line)
		if !ok {
			out = append(out, line)
			continue
		}
		if number > len(source) || lineHash(source[number-1]) != hash {
			continue
		}
		out = append(out, requoted(number, source[number-1], quoted))
	}
	return strings.Join(out, "\n")
}

func requoted(number int, line, quoted string) string {
	part := strings.TrimSuffix(strings.TrimRight(quoted, " \t"), "…")
	if len(part) >= leastQuoted && strings.HasPrefix(line, part) {
		return strconv.Itoa(number) + ":" + lineHash(line) + "|" + quoted
	}
	return hashline(number, line)
}
