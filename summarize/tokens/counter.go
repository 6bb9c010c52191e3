package tokens

import (
	"fmt"
	"sync"
)

// Counter says how many tokens a text has. Implementations are safe for concurrent use, keep no
// reference to the text, never fail (any bytes are a text) and take time that grows no faster than
// n·log n with its length.
type Counter interface {
	// Name is the tokenizer's name as configurations and summary records write it.
	Name() string
	// Count is the number of tokens of text alone, without a provider's framing of messages.
	// Strings that look like special tokens ("<|endoftext|>") are ordinary text.
	Count(text string) int
}

// Names of the tokenizers, as a policy's `tokenizer` key accepts them.
const (
	O200k    = "o200k_base"  // OpenAI: gpt-4o, gpt-4.1, o1 and later; exact
	CL100k   = "cl100k_base" // OpenAI: gpt-4, gpt-3.5-turbo; exact
	Claude   = "claude"      // Anthropic: o200k_base, scaled as measured
	Estimate = "estimate"    // any: from bytes alone
)

// Names lists every name For accepts, the exact tokenizers first.
func Names() []string { return []string{O200k, CL100k, Claude, Estimate} }

// For gives the counter of that name, or ErrUnknown. The first call for a name loads its
// vocabulary; later calls return the same counter.
func For(name string) (Counter, error) {
	switch name {
	case O200k:
		return loadO200k(), nil
	case CL100k:
		return loadCL100k(), nil
	case Claude:
		return claude{base: loadO200k()}, nil
	case Estimate:
		return loadEstimate(), nil
	}
	return nil, fmt.Errorf("%w: %q, want one of %q", ErrUnknown, name, Names())
}

// Loaded on first use and read-only from then on: a process that counts with one tokenizer pays
// for one vocabulary.
var (
	loadO200k  = sync.OnceValue(newO200k)
	loadCL100k = sync.OnceValue(newCL100k)

	loadEstimate = sync.OnceValue(newEstimate)
)
