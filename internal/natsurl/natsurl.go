// Package natsurl validates server addresses and redacts them for display.
package natsurl

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// Wrong returns the first invalid address in a comma-separated list of servers, as nats.go takes it; ok is false if
// there is none. A bare host or host:port means nats://; empty entries are skipped, but at least one must not be empty.
func Wrong(list string) (server string, ok bool) {
	some := false
	for server := range strings.SplitSeq(list, ",") {
		trimmed := strings.TrimSpace(server)
		if trimmed != "" && !isServer(trimmed) {
			return server, true
		}
		some = some || trimmed != ""
	}
	return "", !some
}

func isServer(text string) bool {
	if !strings.Contains(text, "://") {
		text = "nats://" + text
	}
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" {
		return false
	}
	return slices.Contains([]string{"nats", "tls", "ws", "wss"}, u.Scheme)
}

// userInfo is the part before a host: a user and a password, or a token alone. It ends at the last @.
var userInfo = regexp.MustCompile(`^((?:[a-zA-Z][a-zA-Z0-9+.-]*://)?)([^/?#]*)@`)

// Redacted returns a comma-separated list of servers, as nats.go takes it, without passwords and tokens. It also
// accepts invalid addresses, since error messages show them.
func Redacted(list string) string {
	servers := strings.Split(list, ",")
	for i, server := range servers {
		trimmed := strings.TrimLeft(server, " ")
		lead := server[:len(server)-len(trimmed)]
		m := userInfo.FindStringSubmatch(trimmed)
		if m == nil {
			continue
		}
		user, _, hasPassword := strings.Cut(m[2], ":")
		if !hasPassword {
			user = "xxxxx" // a token
		} else {
			user += ":xxxxx"
		}
		servers[i] = lead + m[1] + user + "@" + trimmed[len(m[0]):]
	}
	return strings.Join(servers, ",")
}

// Secrets returns the passwords and tokens in a list of servers.
func Secrets(list string) (secrets []string) {
	for server := range strings.SplitSeq(list, ",") {
		m := userInfo.FindStringSubmatch(strings.TrimLeft(server, " "))
		if m == nil {
			continue
		}
		_, secret, hasPassword := strings.Cut(m[2], ":")
		if !hasPassword {
			secret = m[2] // a token
		}
		secrets = append(secrets, secret)
		if plain, err := url.PathUnescape(secret); err == nil && plain != secret {
			secrets = append(secrets, plain)
		}
	}
	return secrets
}
