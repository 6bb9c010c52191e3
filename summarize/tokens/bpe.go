package tokens

import (
	"unicode/utf8"

	"github.com/tiktoken-go/tokenizer/codec"
)

// bpe counts exactly as an OpenAI encoding does.
type bpe struct {
	name    string
	plain   *plain
	split   splitter
	classes *classes
	vocab   *vocab
	merged  *merged
}

func newO200k() *bpe {
	c := loadClasses()
	return &bpe{O200k, plainO200k(c), splitO200k, c, newVocab(decodeAll(codec.NewO200kBase())), &merged{}}
}

func newCL100k() *bpe {
	c := loadClasses()
	return &bpe{CL100k, plainCL100k(c), splitCL100k, c, newVocab(decodeAll(codec.NewCl100kBase())), &merged{}}
}

// decodeAll is every token of the library's vocabulary, which it shows only one number at a time.
// The numbers have no gaps; special tokens are beyond the last.
func decodeAll(c *codec.Codec) []string {
	var all []string
	for id := uint(0); ; id++ {
		token, err := c.Decode([]uint{id})
		if err != nil {
			return all
		}
		all = append(all, token)
	}
}

func (b *bpe) Name() string { return b.name }

// Count takes bytes that are not UTF-8 as U+FFFD each, as the reference implementations do.
func (b *bpe) Count(text string) int {
	if !utf8.ValidString(text) {
		text = string([]rune(text))
	}
	count := 0
	for i := 0; ; {
		n, end := b.plain.count(b, text, i)
		count += n
		if i = end; i == len(text) {
			return count
		}
		end = b.split(b.classes, text, i)
		count += b.piece(text[i:end])
		i = end
	}
}

func (b *bpe) piece(piece string) int {
	if b.vocab.rank(piece) != noRank {
		return 1
	}
	return b.merge(piece)
}

// merge counts the tokens of a piece that is none itself.
func (b *bpe) merge(piece string) int {
	switch {
	case len(piece) <= mergedMax:
		return b.merged.count(b.vocab, piece)
	case len(piece) <= mergeMax:
		return mergeScan(b.vocab, piece)
	}
	return mergeHeap(b.vocab, piece)
}
