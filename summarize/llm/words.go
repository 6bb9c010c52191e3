package llm

import (
	"path"
	"slices"
	"strings"
	"unicode"
)

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
