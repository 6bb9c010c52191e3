package secrets

import (
	"regexp"
	"slices"
	"strings"
)

// valueEnd returns the end of an unquoted value: before a closing bracket of its surroundings, and before the next pair
// of a list, a query or a connection string. A quoted value ends with its quotes; before is the byte before the value.
func valueEnd(s string, before byte) int {
	if isQuote(before) {
		return len(s)
	}
	for _, at := range nextPair.FindAllStringSubmatchIndex(s, -1) {
		if at[2] < 0 || isNextPair(s[:at[0]], s[at[2]:at[3]], s[at[3]:], before) {
			s = s[:at[0]]
			break
		}
	}
	return len(strings.TrimRight(s, ",;.)]}>\\…"))
}

// nextPair is what ends a value; the group is the name of a pair whose separator may also be part of a password.
var nextPair = regexp.MustCompile(`[,;|]([A-Za-z][a-z_. -]{2,40})[=:]+|(?:\\u0026|&(?:amp;)?)[A-Za-z]\w*=|</|\\[nrt"']`)

// isNextPair reports whether a separator and a name within a value begin the next pair rather than belong to
// a password: they assign with the same sign, and either the name is one that goes along with passwords, or it and both
// values are plain words. rest is what follows the name.
func isNextPair(value, name, rest string, before byte) bool {
	if rest[0] == ':' && (before == '=' || before == ' ' && strings.HasPrefix(rest, "::")) {
		return false
	}
	name = strings.ToLower(strings.TrimSpace(name))
	rest, _, _ = strings.Cut(strings.TrimLeft(rest, "=:"), ",")
	return slices.Contains(besidePasswords, name) || len(name) > 3 && isWord(name) && plain.MatchString(value) && plain.MatchString(strings.Trim(rest, `"'()[]{}<>;|`))
}

// besidePasswords are the short names of a connection's other settings.
var besidePasswords = strings.Fields("host hostname server port user username uid pwd app url uri key env ssl sslmode tls dsn ttl tag database dbname name mode zone role timeout encrypt pool schema charset")

var plain = regexp.MustCompile(`^[\w.+/@:%$~=-]*$`)

// isPlaceholder reports whether a value is what documentation, templates or programs write in place of a secret.
func isPlaceholder(s string) bool {
	if reference.MatchString(s) || len(s) < 12 && (strings.Contains(s, "xxxx") || strings.Contains(s, "XXXX")) {
		return true
	}
	folded := strings.ToLower(s)
	for _, p := range placeholders {
		if strings.Contains(folded, p) && len(s) < len(p)+8 {
			return true
		}
	}
	return false
}

var placeholders = []string{"password", "passwd", "secret", "changeme", "example", "placeholder", "redacted", "masked", "your-", "your_", "****", "..."}

// reference is a value that refers elsewhere: a variable, a command's output, a template's field, a mark.
var reference = regexp.MustCompile(`^(?:\$\{|\{\{|<%|%\{|\$\([A-Za-z_./]+(?:\)|$)|\$[A-Za-z_]\w*$|<[^<>]*>?$|\{[\w.]*\}?$|%[A-Za-z_]\w*%?$|%\(\w+\)s|\[[\w: .-]*\]?$|\[masked|\*+$|@[\w./]+$)`)

// describing are words that describe a value instead of giving it.
var describing = strings.Fields("string strings str text varchar boolean number integer required optional hidden disabled enabled unknown invalid incorrect missing undefined nullable default input field value values false true none null nil")

// saysWhatItIs reports whether a value is a description: `password: "string"`, `required|min:8`.
func saysWhatItIs(s string) bool {
	word := s
	if i := strings.IndexAny(s, "|,:;?!()[] "); i > 0 {
		word = s[:i]
	}
	return slices.Contains(describing, strings.ToLower(strings.TrimRight(word, ".")))
}

var dotted = regexp.MustCompile(`^[A-Za-z_]\w*(?:\??\.\w+)+[,;)]*$`)

// looksChosen reports whether a value has a letter and a digit or a sign that no name has, or is long and random, and is
// neither a path nor a field reference.
func looksChosen(s string) bool {
	folded := strings.ToLower(s)
	switch {
	case isPath(s) || strings.Contains(s, "://"):
		return false
	case strings.Contains(folded, "example") || dotted.MatchString(s):
		return false
	}
	return strings.ContainsAny(folded, "abcdefghijklmnopqrstuvwxyz") && strings.ContainsAny(s, "0123456789!@#%^*~+?") ||
		len(s) >= 24 && base64Letters.MatchString(s) && isRandom(s)
}

var base64Letters = regexp.MustCompile(`^[A-Za-z/]+=*$`)

// code is a name that is called, indexed or dereferenced, and what follows it: more of these, or an open bracket. Anything else
// behind them is a password that happens to begin like code.
var code = regexp.MustCompile(`^[!&*]?[A-Za-z_][\w.]*(?:\((?:[\w.,"' *&\[\]-]*\)(?:[.(\[][.\w()\[\]]*)?|[\w.,]*,|)|\[(?:\w*\]` + codeBehind + `)?|(?:::|->)\w+` + codeBehind + `)[,;:)}]*$`)

const codeBehind = `(?:(?:::|\.|->)\w+|\([\w.,"' *&\[\]:-]*\)|(?:::)?<[\w:, ]*>|\[\w*\]|[?!])*(?:\([\w.,"' *&\[\]:-]*)?`

// isCode reports whether an unquoted value is code, judged with the text that follows it.
func isCode(secret, match string) bool {
	i := strings.Index(match, secret)
	return i > 0 && !isQuote(match[i-1]) && code.MatchString(match[i:]) && !slices.ContainsFunc(names.FindAllString(secret, -1), isRandom)
}

var names = regexp.MustCompile(`\w+`)

// isRandom reports whether a name is not one of a program: it begins with a digit, has digits in more than two places,
// changes its case all the time, or has letters in a row that are not a word.
func isRandom(name string) bool {
	runs := letterRuns.FindAllString(name, -1)
	return name[0] <= '9' && len(runs) > 0 || len(digitRuns.FindAllString(name, 3)) > 2 || len(runs) > 3 && len(name) < 3*len(runs) ||
		slices.ContainsFunc(runs, func(s string) bool { return len(s) > 5 && !isWord(s) && strings.ToUpper(s) != s })
}

var digitRuns, letterRuns = regexp.MustCompile(`\d+`), regexp.MustCompile(`[A-Z]?[a-z]+|[A-Z]+`)

// isWord reports whether letters have a vowel among them; a y makes a short word only.
func isWord(s string) bool {
	return strings.ContainsAny(s, "aeiouAEIOU") || len(s) < 7 && strings.ContainsAny(s, "yY")
}

// phraseEnd returns the end of a phrase that may run on into the following text: for a mnemonic, at most its maximum
// number of words and none that occur in sentences; else the end of the line.
func phraseEnd(s string, _ byte) int {
	ends := wordEnd.FindAllStringIndex(s, 24)
	if len(ends) < 12 {
		if i := strings.IndexByte(s, '\n'); i >= 0 {
			return i
		}
		return len(s)
	}
	for n := len(ends) / 3 * 3; n > 12; n -= 3 {
		if end := ends[n-1][1]; !isProse(s[:end]) {
			return end
		}
	}
	return ends[11][1]
}

var wordEnd = regexp.MustCompile(`[A-Za-z'-]+`)

// isProse reports whether words are a sentence rather than a passphrase: a sentence contains function words.
func isProse(s string) bool {
	words := strings.Fields(strings.ToLower(s))
	if len(words) < 3 {
		return true
	}
	for _, w := range words {
		if slices.Contains(joining, strings.Trim(w, `"',.0123456789)\`)) {
			return true
		}
	}
	return false
}

var joining = strings.Fields("a an the is are was be been for to of in on at by with without and or not no if when that this it its your you must may can will from as has have used enter leave empty set file key passphrase password")

// isPath reports whether a value is a file path. One in 64 base64 texts also begins like one; those have other signs, or
// a longer run of both cases and digits than a name has.
func isPath(s string) bool {
	if !strings.HasPrefix(s, "/") && !strings.HasPrefix(s, "./") && !strings.HasPrefix(s, "../") && !strings.HasPrefix(s, "~/") {
		return false
	}
	if strings.ContainsAny(s, "+=") {
		return false
	}
	for part := range strings.SplitSeq(s, "/") {
		if len(part) >= 16 && strings.ContainsAny(part, "0123456789") && strings.ToLower(part) != part && strings.ToUpper(part) != part {
			return false
		}
	}
	return true
}
