// Package loopback tells hosts of this machine from others.
package loopback

import (
	"net"
	"strings"
)

// Host reports whether a request's host, with or without a port, names this machine by a name that no DNS answers for: a page whose
// own name resolves to this machine (DNS rebinding) has another.
func Host(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.Trim(name, "[]")
	return strings.EqualFold(name, "localhost") || net.ParseIP(name).IsLoopback()
}

// Address reports whether a listen address is reachable from this machine only.
func Address(address string) bool {
	host, _, err := net.SplitHostPort(address)
	return err == nil && (host == "localhost" || net.ParseIP(host).IsLoopback())
}
