// Package natsurl tells server addresses from what is none, and writes them so that they can be shown.
package natsurl

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// Wrong finds the first of a list of servers, parted by commas as nats.go takes them, that is not a server address; ok is
// false where there is none. A bare host or host:port means nats://; empty ones are skipped, but a list needs one that is not.
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

// userInfo is what stands before a host: a user and a password, or a token alone. The last @ parts them.
var userInfo = regexp.MustCompile(`^((?:[a-zA-Z][a-zA-Z0-9+.-]*://)?)([^/?#]*)@`)

// Redacted gives a list of servers' addresses, parted by commas as nats.go takes them, without passwords and
// tokens. It also takes what is not an address: that is when it is shown.
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

// Secrets are the passwords and tokens in a list of servers' addresses.
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
