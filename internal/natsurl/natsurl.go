// Package natsurl writes server addresses so that they can be shown.
package natsurl

import (
	"regexp"
	"strings"
)

// userInfo is what stands before a host: a user and a password, or a token alone. The last @ parts them.
var userInfo = regexp.MustCompile(`^((?:[a-zA-Z][a-zA-Z0-9+.-]*://)?)([^/?#]*)@`)

// Redacted gives a list of servers' addresses, parted by commas as nats.go takes them, without passwords and
// tokens. It also takes what is no address: that is when it is shown.
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
