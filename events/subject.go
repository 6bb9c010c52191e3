package events

import (
	"fmt"
	"strings"
)

// MaxIDBytes bounds thread and message ids. An escaped token is at most three times as long, far below the
// limit of a NATS subject.
const MaxIDBytes = 256

// IDEnding is how much of the end of a long message id omission marks have, in code points. Of ids with random digits, two in a thread hardly
// ever end in the same eight.
const IDEnding = 8

const upperHex = "0123456789ABCDEF"

// plain reports whether a byte needs no escape in a token.
func plain(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-'
}

// firstEscaped returns the index of the first byte that needs an escape, or len(s).
func firstEscaped(s string) int {
	for i := range len(s) {
		if !plain(s[i]) {
			return i
		}
	}
	return len(s)
}

// Token returns the subject token of a thread id; bytes with a meaning in subjects are escaped as =HH. It fails
// with ErrThreadID unless the id is 1 to MaxIDBytes bytes long.
func Token(thread string) (string, error) {
	if len(thread) == 0 || len(thread) > MaxIDBytes {
		return "", fmt.Errorf("%w: got %d", ErrThreadID, len(thread))
	}
	head := firstEscaped(thread)
	if head == len(thread) {
		return thread, nil
	}
	b := append(make([]byte, 0, 3*len(thread)), thread[:head]...)
	for i := head; i < len(thread); i++ {
		if c := thread[i]; plain(c) {
			b = append(b, c)
		} else {
			b = append(b, '=', upperHex[c>>4], upperHex[c&15])
		}
	}
	return string(b), nil
}

// ThreadOf returns the thread id of a token. It accepts only the canonical token, so that a thread has exactly one
// subject; for anything else it fails with ErrToken or ErrThreadID.
func ThreadOf(token string) (string, error) {
	head := firstEscaped(token)
	if head == len(token) {
		return checkThread(token)
	}
	b := append(make([]byte, 0, len(token)), token[:head]...)
	for i := head; i < len(token); i++ {
		c := token[i]
		if !plain(c) {
			var ok bool
			if c, ok = unescape(token[i:]); !ok {
				return "", fmt.Errorf("%w: byte %d", ErrToken, i)
			}
			i += 2
		}
		b = append(b, c)
	}
	return checkThread(string(b))
}

func checkThread(thread string) (string, error) {
	if len(thread) == 0 || len(thread) > MaxIDBytes {
		return "", fmt.Errorf("%w: got %d", ErrThreadID, len(thread))
	}
	return thread, nil
}

// unescape reads the =HH at the start of s; an escape of a plain byte is not canonical.
func unescape(s string) (byte, bool) {
	if len(s) < 3 || s[0] != '=' {
		return 0, false
	}
	hi, lo := strings.IndexByte(upperHex, s[1]), strings.IndexByte(upperHex, s[2])
	if hi < 0 || lo < 0 {
		return 0, false
	}
	c := byte(hi<<4 | lo)
	return c, !plain(c)
}

// Subject returns the subject for an event of type t. It fails as Token does, and with ErrType if t is not one of
// this package's types.
func Subject(t Type, thread string) (string, error) {
	if !t.Known() {
		return "", fmt.Errorf("%w: %q", ErrType, string(t))
	}
	token, err := Token(thread)
	if err != nil {
		return "", err
	}
	return string(t) + "." + token, nil
}

// ParseSubject splits a subject, as published (<type>.<token>) or as stored in EVENTS
// (<partition>.<type>.<token>). ThreadOf may still refuse the token.
func ParseSubject(subject string) (t Type, token string, ok bool) {
	rest := trimPartition(subject)
	family := strings.IndexByte(rest, '.')
	if family < 0 {
		return "", "", false
	}
	verb := strings.IndexByte(rest[family+1:], '.')
	if verb < 0 {
		return "", "", false
	}
	end := family + 1 + verb
	t, token = Type(rest[:end]), rest[end+1:]
	if !t.Known() || token == "" || strings.IndexByte(token, '.') >= 0 {
		return "", "", false
	}
	return t, token, true
}

// trimPartition drops a leading decimal token; no type starts with a digit.
func trimPartition(subject string) string {
	i := 0
	for i < len(subject) && '0' <= subject[i] && subject[i] <= '9' {
		i++
	}
	if i == 0 || i == len(subject) || subject[i] != '.' {
		return subject
	}
	return subject[i+1:]
}
