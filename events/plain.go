package events

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// plain reads the common kind of body: an object of known members, each once, and each a text, a boolean or null.
// It returns false for everything else, invalid bodies included: walk reads and reports those. walk handles all of JSON
// and takes five times as long.
func (m *members) plain(body []byte) bool {
	i := skipBlank(body, 0)
	if i == len(body) || body[i] != '{' {
		return false
	}
	for {
		name, next := plainText(body, skipBlank(body, i+1))
		f := fieldOf(name)
		if f == fieldUnknown || m[f] != nil {
			return false
		}
		if next = skipBlank(body, next); next == len(body) || body[next] != ':' {
			return false
		}
		at := skipBlank(body, next+1)
		end := plainValue(body, at)
		if end == 0 {
			return false
		}
		m[f] = body[at:end:end]
		if i = skipBlank(body, end); i == len(body) {
			return false
		}
		switch body[i] {
		case ',':
		case '}':
			return skipBlank(body, i+1) == len(body)
		default:
			return false
		}
	}
}

func skipBlank(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\n' || b[i] == '\r') {
		i++
	}
	return i
}

// plainText returns the bytes between the quotes at i and the index behind them; nil if plain can't decide.
func plainText(b []byte, i int) (text []byte, next int) {
	if i >= len(b) || b[i] != '"' {
		return nil, i
	}
	wide := false
	for j := plainEnd(b, i+1); j < len(b); j = plainEnd(b, j+1) {
		switch plainBytes[b[j]] {
		case plainQuote:
			text = b[i+1 : j]
			if wide && !utf8.Valid(text) {
				return nil, i
			}
			return text, j + 1
		case plainEscape:
			if j++; j == len(b) || !plainEscapes[b[j]] {
				return nil, i
			}
		case plainWide:
			for wide = true; j+1 < len(b) && b[j+1] >= utf8.RuneSelf; {
				j++
			}
		default:
			return nil, i
		}
	}
	return nil, i
}

// plainEnd returns where the bytes from i on that stand for themselves end. It examines eight bytes at once, since nearly
// all do. The lowest high bit set among the eight belongs to the first byte that is below a blank, a quote, a backslash or
// beyond ASCII; a borrow may set others above it.
func plainEnd(b []byte, i int) int {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	for ; i+8 <= len(b); i += 8 {
		x := binary.LittleEndian.Uint64(b[i:])
		quote, escape := x^ones*'"', x^ones*'\\'
		if ends := (x | (x - ones*' ') | (quote - ones) | (escape - ones)) & high; ends != 0 {
			return i + bits.TrailingZeros64(ends)/8
		}
	}
	for i < len(b) && plainBytes[b[i]] == plainByte {
		i++
	}
	return i
}

// plainValue returns the end of the value at i; 0 if the value is not plain.
func plainValue(b []byte, i int) (end int) {
	if i == len(b) {
		return 0
	}
	if b[i] == '"' {
		if text, next := plainText(b, i); text != nil {
			return next
		}
		return 0
	}
	for _, word := range []string{"true", "false", "null"} {
		if len(b)-i > len(word) && string(b[i:i+len(word)]) == word {
			return i + len(word)
		}
	}
	return 0
}

// Classes of a byte within a JSON string.
const (
	plainNot = iota // a control character
	plainByte
	plainQuote
	plainEscape
	plainWide // part of a character beyond ASCII
)

var plainBytes = func() (kinds [256]uint8) {
	for b := ' '; b < 256; b++ {
		kinds[b] = plainByte
		if b >= utf8.RuneSelf {
			kinds[b] = plainWide
		}
	}
	kinds['"'], kinds['\\'] = plainQuote, plainEscape
	return kinds
}()

// plainEscapes may follow a backslash; \u needs a further check.
var plainEscapes = [256]bool{'"': true, '\\': true, '/': true, 'b': true, 'f': true, 'n': true, 'r': true, 't': true}
