package config

import (
	"bytes"
	"fmt"
	"io"
	"os"
)

// Bounds that are checked before parsing: a parser's work grows with the square of the nesting, and a device has no
// end. Real configurations reach some 10 KB.
const (
	maxFileBytes = 1 << 20
	maxDepth     = 64
)

// readBounded reads a file of at most maxFileBytes.
func readBounded(name string) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxFileBytes+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxFileBytes {
		return nil, fmt.Errorf("%s: larger than %d bytes: name another file", name, maxFileBytes)
	}
	return text, nil
}

// tooDeep returns the first line on which values are nested deeper than maxDepth, or 0: by open brackets, by columns of
// indentation, and by blocks that begin on the same line (`- - -`). Brackets in quotes and comments count only until
// their line ends.
func tooDeep(text []byte) int {
	open, number := 0, 0
	for line := range bytes.Lines(text) {
		number++
		begins := len(line) - len(bytes.TrimLeft(line, " \t"))
		depth, row := open, 0
		var quote byte
		for i, c := range line {
			switch {
			case quote != 0:
				if c == quote {
					quote = 0
				}
			case (c == '"' || c == '\'') && !(i > 0 && isLetter(line[i-1])): // an apostrophe opens nothing
				quote = c
			case c == '[' || c == '{':
				row++
			case c == ']' || c == '}':
				row = max(row-1, -open)
			case c == '#' && (i == 0 || line[i-1] == ' '):
				quote = '\n'
			}
			if depth = max(depth, open+row); depth > maxDepth {
				return number
			}
		}
		open += row
		if begins/2 > maxDepth*4 || blocks(line[begins:]) > maxDepth {
			return number
		}
	}
	return 0
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// blocks counts the nested blocks that a line begins.
func blocks(line []byte) (n int) {
	for len(line) > 1 && bytes.IndexByte([]byte("-?:"), line[0]) >= 0 && (line[1] == ' ' || line[1] == '\t') {
		line = bytes.TrimLeft(line[1:], " \t")
		n++
	}
	return n
}
