package secrets

import (
	"regexp"
	"strings"
)

// ownRules find what betrays itself by its name or place, whatever its entropy.
func ownRules() []rule {
	return []rule{
		own("url-password", `[A-Za-z][A-Za-z0-9+.-]{1,20}://[^\s:/@'"]{0,100}:([^\s/@'"]{3,200})@`, "://"),
		own("password", `(?i)(?:password|passwd|passphrase|pwd)["']?[ \t]{0,3}(?::|=|=>|:=)[ \t]{0,3}["'\x60]([^"'\x60\s]{6,200})["'\x60]`,
			"password", "passwd", "passphrase", "pwd"),
		own("env-secret", `(?:^|[\s;"'])(?:[A-Z0-9]+_)*(?:PASSWORD|PASSWD|SECRET|TOKEN|API_?KEY|ACCESS_KEY|PRIVATE_KEY)(?:_[A-Z0-9]+)*=["']?([^\s"'$<{(&|;]{8,})`,
			"password", "passwd", "secret", "token", "apikey", "api_key", "access_key", "private_key"),
		own("authorization", `(?i)authorization["']?[ \t]{0,3}[:=][ \t]{0,3}["']?(?:bearer|basic|token)[ \t]{1,3}([A-Za-z0-9+/=._~-]{8,})`,
			"authorization"),
		own("private-key-part", `-----BEGIN[ A-Z0-9_-]{0,100}PRIVATE KEY(?: BLOCK)?-----((?:(?:\s|\\n|\\r)*[A-Za-z0-9+/=]{24,})+)`, "-----begin"),
	}
}

func own(id, expression string, keywords ...string) rule {
	r := rule{id: id, keywords: keywords, regex: regexp.MustCompile(expression), group: 1, reach: reachOf(id, expression)}
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
