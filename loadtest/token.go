package main

import "strings"

// token encodes a thread id as one subject token, according to the contract: A-Z a-z 0-9 _ - stay,
// every other byte becomes =HH.
func token(thread string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(thread) {
		c := thread[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' {
			b.WriteByte(c)
			continue
		}
		b.WriteByte('=')
		b.WriteByte(hex[c>>4])
		b.WriteByte(hex[c&15])
	}
	return b.String()
}
