package secrets

import (
	"regexp"
	"strings"
)

// ownRules find what betrays itself by its name or place, whatever its entropy.
func ownRules() []rule {
	return []rule{
		own("url-password", `[A-Za-z][A-Za-z0-9+.-]{1,20}://[^\s:/@'"]{0,100}:([^\s/@'"]{3,200})@`, "://"),
		own("password", `(?i)(?:password|passwd|passphrase|pwd)["']?`+assignment+`["'\x60]([^"'\x60\s]{6,200})["'\x60]`,
			"password", "passwd", "passphrase", "pwd"),
		own("passphrase", `(?i)(?:password|passphrase)["']?[ \t]{0,3}=[ \t]{0,3}["']([^"'\n]{10,200})["']`, "password", "passphrase"),
		chosen("bare-password", `(?i)(?:password|passwd|passphrase|pwd)["']?`+assignment+`(`+bare+`{6,200})`+behind,
			"password", "passwd", "passphrase", "pwd"),
		chosen("named-secret", `(?i)(?:secret|api[_-]?key|access[_-]?key|private[_-]?key|secret[_-]?key|access[_-]?token|auth[_-]?token)["']?`+assignment+`["'\x60]?(`+bare+`{12,200})`+behind,
			"secret", "apikey", "api_key", "api-key", "accesskey", "access_key", "access-key", "privatekey", "private_key", "private-key",
			"secretkey", "secret_key", "secret-key", "accesstoken", "access_token", "access-token", "authtoken", "auth_token", "auth-token"),
		chosen("password-option", `(?i)-(?:password|passwd|passphrase|pass)[ \t]{1,3}["']?(`+bare+`{6,200})`+behind, "-pass"),
		own("sshpass", `sshpass[ \t]{1,3}-p[ \t]{0,3}["']?([^\s"']{4,200})`, "sshpass"),
		own("mysql-password", `(?:mysql|mysqldump|mysqladmin|mariadb)(?:[ \t][^\n|;]{0,120})?[ \t]-p["']?([^\s"']{4,200})`, "mysql", "mariadb"),
		own("netrc", `(?:login|user)\s{1,8}\S{1,100}\s{1,8}password[ \t]{1,8}(\S{4,200})`, "password"),
		variable("env-secret", `(?:PASSWORD|PASSWD|SECRET|TOKEN|API_?KEY|ACCESS_KEY|PRIVATE_KEY)(?:_[A-Z0-9_]{0,50})?=["']?([^\s"'$<{(&|;]{8,})`,
			"password", "passwd", "secret", "token", "apikey", "api_key", "access_key", "private_key"),
		own("authorization", `(?i)authorization["']?[ \t]{0,3}[:=][ \t]{0,3}["']?(?:bearer|basic|token)[ \t]{1,3}([A-Za-z0-9+/=._~-]{8,})`,
			"authorization"),
		own("private-key-part", `-----BEGIN[ A-Z0-9_-]{0,100}PRIVATE KEY(?: BLOCK)?-----((?:(?:\s|\\n|\\r)*[A-Za-z0-9+/=]{24,})+)`, "-----begin"),
	}
}

const assignment = `[ \t]{0,3}(?::|=|=>|:=)[ \t]{0,3}`

// A value that stands in no quotes ends at what can't be a part of one; what goes on with a bracket is code.
const (
	bare   = `[^\s"'\x60,;()<>{}\[\]&|]`
	behind = `(?:[\s"'\x60,;&|)}\]]|$)`
)

// chosen is a rule for a value that a name alone makes no secret: code has names there, which have no digits in
// them, and paths.
func chosen(id, expression string, keywords ...string) rule {
	r := own(id, expression, keywords...)
	r.allowed = func(secret, _, _ string) bool { return isPlaceholder(secret) || !looksChosen(secret) }
	return r
}

// variable is a rule for a value that the environment is given, whose name may begin before the keyword.
func variable(id, expression string, keywords ...string) rule {
	r := own(id, expression, keywords...)
	r.named, r.assigns = true, true
	r.allowed = func(secret, match, _ string) bool { return isPlaceholder(secret) || !inCapitals.MatchString(match) }
	return r
}

var inCapitals = regexp.MustCompile(`^(?:[A-Z0-9]+_)*(?:PASSWORD|PASSWD|SECRET|TOKEN|API_?KEY|ACCESS_KEY|PRIVATE_KEY)`)

var dotted = regexp.MustCompile(`^[A-Za-z_]\w*(?:\.\w+)+$`)

// looksChosen: a letter beside a digit or a sign that no name has, and neither a path nor a field of something.
func looksChosen(s string) bool {
	folded := strings.ToLower(s)
	switch {
	case strings.HasPrefix(s, "/") || strings.HasPrefix(s, "./") || strings.HasPrefix(s, "../") || strings.HasPrefix(s, "~/") || strings.Contains(s, "://"):
		return false
	case strings.Contains(folded, "example") || dotted.MatchString(s):
		return false
	}
	return strings.ContainsAny(folded, "abcdefghijklmnopqrstuvwxyz") && strings.ContainsAny(s, "0123456789!@#%^*~+?")
}

func own(id, expression string, keywords ...string) rule {
	r := rule{id: id, keywords: keywords, group: 1, assigns: strings.Contains(expression, assignment)}
	r.looksFor(expression)
	r.allowed = func(secret, _, _ string) bool { return isPlaceholder(secret) }
	return r
}

// placeholders are what documentation and templates write where a secret would stand.
var placeholders = []string{"password", "passwd", "secret", "changeme", "example", "placeholder", "redacted", "masked", "your-", "your_", "xxxx", "****", "..."}

func isPlaceholder(s string) bool {
	if strings.ContainsAny(s[:1], "$<{%[(*") {
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
