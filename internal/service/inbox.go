package service

import "strings"

// Inboxes are the prefixes of the reply subjects that the service answers to. A reply goes out with the service's
// rights, not with those of the client that asked: to any other subject it would be a way to write there.
type Inboxes []string

// allow reports whether a reply subject is an inbox: a prefix and at least one more token, all of them literal.
func (i Inboxes) allow(reply string) bool {
	for _, prefix := range i {
		if rest, found := strings.CutPrefix(reply, prefix+"."); found && literal(rest) {
			return true
		}
	}
	return false
}

// literal reports whether a subject names one place: no empty token, no wildcard, nothing that ends it on the wire.
func literal(subject string) bool {
	for token := range strings.SplitSeq(subject, ".") {
		if token == "" || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '*' || r == '>' }) {
			return false
		}
	}
	return true
}

// otherAccount begins the reply subjects that the server makes for requests out of other accounts; what follows says
// nothing of the client.
const otherAccount = "_R_."

// clientOf is as much as a reply subject says of the client behind it: clients that ask more than once give each
// request a token of its own behind a prefix of their connection's.
func clientOf(reply string) string {
	if strings.HasPrefix(reply, otherAccount) {
		return reply
	}
	if at := strings.LastIndexByte(reply, '.'); at > 0 && strings.IndexByte(reply, '.') != at {
		return reply[:at]
	}
	return reply
}
