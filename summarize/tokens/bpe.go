package tokens

import (
	"unicode/utf8"

	"github.com/tiktoken-go/tokenizer/codec"
)

// bpe counts exactly as an OpenAI encoding does.
type bpe struct {
	name    string
	split   splitter
	classes *classes
	vocab   *vocab
}

func newO200k() *bpe {
	return &bpe{O200k, splitO200k, loadClasses(), newVocab(decodeAll(codec.NewO200kBase()))}
}

func newCL100k() *bpe {
	return &bpe{CL100k, splitCL100k, loadClasses(), newVocab(decodeAll(codec.NewCl100kBase()))}
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
	for i := 0; i < len(text); {
		end := b.split(b.classes, text, i)
		count += b.piece(text[i:end])
		i = end
	}
	return count
}

func (b *bpe) piece(piece string) int {
	if b.vocab.rank(piece) != noRank {
		return 1
	}
	if len(piece) <= mergeMax {
		return mergeScan(b.vocab, piece)
	}
	return mergeHeap(b.vocab, piece)
}
