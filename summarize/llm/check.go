package llm

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"precis/summarize/lex"
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

// checked is the text of an answer, ready to stand, or a Refusal. It is verified against its source before it is
// measured.
func checked(r Reply, l limits, verified func(string) string) (string, error) {
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
	text = strings.TrimSpace(verified(text))
	switch {
	case text == "":
		return "", RefusedEmpty
	case lex.Runes(text) >= l.source:
		return "", RefusedNoSaving
	case !l.fits(text):
		return "", RefusedTooLong
	}
	return text, nil
}

// described takes out of a model's account of a conversation what it must not hold: code in fences or on lines of its own, and
// lines that name files of which the material knows nothing.
func described(text, material string) string {
	if whole := strings.TrimSpace(text); strings.HasPrefix(whole, "```") && strings.HasSuffix(whole, "```") && strings.Count(whole, "```") == 2 {
		text = whole[strings.IndexByte(whole, '\n')+1 : len(whole)-3] // all of the answer is fenced, as some models do
	}
	var out []string
	fenced := false
	for line := range strings.SplitSeq(text, "\n") {
		said := strings.TrimSpace(line)
		if strings.HasPrefix(said, "```") || strings.HasPrefix(said, "~~~") {
			fenced = !fenced
			continue
		}
		invented := func(w string) bool {
			name, _, _ := strings.Cut(path.Base(strings.TrimRight(w, ".:!?")), ":")
			return isPath(w) && !strings.Contains(material, name)
		}
		if !fenced && !lex.CodeLike(said) && !slices.ContainsFunc(strings.FieldsFunc(line, separatesWords), invented) {
			out = append(out, line)
		}
	}
	return strings.Join(out, "\n")
}

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
	part := strings.TrimSuffix(strings.TrimRight(quoted, " \t"), lex.ClipMark)
	if len(part) >= leastQuoted && strings.HasPrefix(line, part) {
		return strconv.Itoa(number) + ":" + lineHash(line) + "|" + quoted
	}
	return hashline(number, line)
}

// keepFacts appends the facts that a text left out, as far as fits says they fit: whole lines on lines
// of their own, the others in one, and of those no more than a person reads. What is in the text is not
// touched, and the first facts go first.
func keepFacts(text string, facts []string, fits func(string) bool) string {
	var lines, words []string
	best := text
	for _, fact := range facts {
		if fact == "" || strings.Contains(text, fact) {
			continue
		}
		l, w := lines, words
		if strings.ContainsAny(fact, " \t") {
			l = append(l[:len(l):len(l)], fact)
		} else if len(words) < maxAlso {
			w = append(w[:len(w):len(w)], fact)
		}
		if with := appended(text, l, w); fits(with) {
			best, lines, words = with, l, w
		}
	}
	return best
}

const maxAlso = 12

func appended(text string, lines, words []string) string {
	parts := append([]string{text}, lines...)
	if len(words) > 0 {
		parts = append(parts, "Also: "+strings.Join(words, ", "))
	}
	return strings.Join(parts, "\n")
}

// extensions tell a file's name from a field's: main.go, but not t.Run.
var extensions = strings.Fields(`c cc cfg cjs conf cpp cs css csv db dockerfile env ex go gradle h hpp html ini ipynb java js json jsonl jsx
	kt lock log lua md mjs mod php pl png proto py rb rs scala sh sql sum svelte svg swift tf toml ts tsx txt vue xml yaml yml zig zip`)

// isPath: a file's name, or directories that can't be a fraction or an alternative (3/4, yes/no).
func isPath(w string) bool {
	if strings.ContainsAny(w, "*?%") || !strings.ContainsFunc(w, unicode.IsLetter) {
		return false
	}
	name, _, _ := strings.Cut(path.Base(w), ":") // main.go:12
	if ext := path.Ext(name); len(ext) > 1 && len(name) > len(ext) && slices.Contains(extensions, strings.ToLower(ext[1:])) {
		return true
	}
	return len(w) > 3 && (strings.HasPrefix(w, "/") || strings.HasPrefix(w, "./") || strings.HasPrefix(w, "~/") || strings.Count(w, "/") > 1)
}

// isName: what no prose holds. Digits and letters in one word, words joined by a sign or a capital.
func isName(w string) bool {
	if len(w) < 5 || strings.ContainsAny(w, "*?%/") || !strings.ContainsFunc(w, unicode.IsLetter) {
		return false
	}
	if strings.Count(w, ".")*2 > len(w) {
		return false // a test runner's progress: ....F....s
	}
	inner := w[1:]
	return strings.ContainsFunc(w, unicode.IsDigit) && len(w) > 5 || strings.ContainsAny(inner, "_.") ||
		strings.ContainsFunc(inner, unicode.IsUpper) && strings.ContainsFunc(w, unicode.IsLower)
}

// isNumber: at least three digits, with what stands between digits.
func isNumber(w string) bool {
	digits := 0
	for _, r := range w {
		if unicode.IsDigit(r) {
			digits++
		} else if !strings.ContainsRune(".,:-+%$", r) {
			return false
		}
	}
	return digits >= 3
}
