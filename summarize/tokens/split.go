package tokens

// A splitter is the end of the piece that begins at text[i:], i < len(text); byte pairs merge
// within pieces only. The encodings define their pieces by a regular expression with backtracking
// and a lookahead. These are the same by hand: every run of characters of one class is looked at a
// bounded number of times, so that a text takes time linear in its length.
type splitter func(c *classes, text string, i int) int

// splitO200k is o200k_base's pattern, alternative by alternative.
func splitO200k(c *classes, text string, i int) int {
	first, n := c.at(text, i)
	if end := word(c, text, i, first, n); end > i {
		return contraction(text, end)
	}
	if first&number != 0 {
		return digits(c, text, i)
	}
	if end := punctuation(c, text, i, first, n); end > i {
		for end < len(text) && (text[end] == '\n' || text[end] == '\r' || text[end] == '/') {
			end++
		}
		return end
	}
	return blanks(c, text, i)
}

// word is the pattern's first two alternatives without their contractions, or i where neither
// matches:
//
//	[^\r\n\p{L}\p{N}]? upperish* lowerish+
//	[^\r\n\p{L}\p{N}]? upperish+ lowerish*
//
// The first is tried with its prefix and without before the second is. So a combining mark, which
// is prefix and lowerish in one, stands alone before capitals.
func word(c *classes, text string, i int, first class, n int) int {
	if !first.isPrefix() {
		end, _ := letters(c, text, i)
		return end
	}
	end, lower := letters(c, text, i+n)
	switch {
	case lower:
		return end
	case first&lowerish != 0:
		return i + n
	case end > i+n:
		return end
	}
	return i
}

// letters is the end of the match of upperish* lowerish+ at i, or, where that is none (lower is
// false), of upperish*.
func letters(c *classes, text string, i int) (end int, lower bool) {
	given := -1 // what upperish* can give back so that lowerish+ has a character
	k, n := c.at(text, i)
	for k&upperish != 0 {
		i += n
		if k&lowerish != 0 {
			given = i
		}
		k, n = c.at(text, i)
	}
	if k&lowerish != 0 {
		return c.run(text, i+n, lowerish), true
	}
	if given >= 0 {
		return given, true
	}
	return i, false
}

// splitCL100k is cl100k_base's pattern, alternative by alternative.
func splitCL100k(c *classes, text string, i int) int {
	if end := contraction(text, i); end > i {
		return end
	}
	first, n := c.at(text, i)
	if first&letter != 0 {
		return c.run(text, i+n, letter)
	}
	if first.isPrefix() {
		if end := c.run(text, i+n, letter); end > i+n {
			return end
		}
	}
	if first&number != 0 {
		return digits(c, text, i)
	}
	if end := punctuation(c, text, i, first, n); end > i {
		for end < len(text) && (text[end] == '\n' || text[end] == '\r') {
			end++
		}
		return end
	}
	return blanks(c, text, i)
}

// contraction is the end of (?i:'s|'t|'re|'ve|'m|'ll|'d) at i, or i. The long s (U+017F) folds to s.
func contraction(text string, i int) int {
	if i+1 >= len(text) || text[i] != '\'' {
		return i
	}
	switch text[i+1] | 0x20 {
	case 's', 't', 'm', 'd':
		return i + 2
	}
	if i+2 >= len(text) {
		return i
	}
	if text[i+1] == "ſ"[0] && text[i+2] == "ſ"[1] {
		return i + 3
	}
	switch [2]byte{text[i+1] | 0x20, text[i+2] | 0x20} {
	case [2]byte{'r', 'e'}, [2]byte{'v', 'e'}, [2]byte{'l', 'l'}:
		return i + 3
	}
	return i
}

// digits is \p{N}{1,3}.
func digits(c *classes, text string, i int) int {
	for range 3 {
		k, n := c.at(text, i)
		if k&number == 0 {
			break
		}
		i += n
	}
	return i
}

// punctuation is the end of " ?[^\s\p{L}\p{N}]+" at i, or i.
func punctuation(c *classes, text string, i int, first class, n int) int {
	start := i
	if text[i] == ' ' {
		i++
		first, n = c.at(text, i)
	}
	if n == 0 || !first.isPunct() {
		return start
	}
	for n > 0 && first.isPunct() {
		i += n
		first, n = c.at(text, i)
	}
	return i
}

// blanks is \s*[\r\n]+|\s+(?!\S)|\s+: through the run's last line break; with none, all of the run
// but the last character, which goes with the word behind it, unless it is all there is or the
// text ends there.
func blanks(c *classes, text string, start int) int {
	broken, last, i := start, start, start
	k, n := c.at(text, i)
	for k&space != 0 {
		last = i
		i += n
		if k&newline != 0 {
			broken = i
		}
		k, n = c.at(text, i)
	}
	switch {
	case broken > start:
		return broken
	case i < len(text) && last > start:
		return last
	}
	return i
}
