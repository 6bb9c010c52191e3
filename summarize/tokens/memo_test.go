package tokens

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
)

// A memo counts what its tokenizer counts, whoever asks, also when it has had to forget.
func TestMemo(t *testing.T) {
	memo, err := NewMemo()
	if err != nil {
		t.Fatal(err)
	}
	memo.counts.Resize(50)
	var askers sync.WaitGroup
	for _, name := range []string{O200k, Claude, Estimate} {
		counter, err := For(name)
		if err != nil {
			t.Fatal(err)
		}
		count, err := memo.For(name)
		if err != nil {
			t.Fatal(err)
		}
		for range 4 {
			askers.Go(func() {
				for i := range 300 {
					text := strings.Repeat(fmt.Sprintf("part%d of parser.go; ", i%70), i%7)
					if got, want := count(text), counter.Count(text); got != want {
						t.Errorf("%s: %d tokens in %q, want %d", name, got, text, want)
					}
				}
			})
		}
	}
	askers.Wait()
	if n := memo.counts.Len(); n == 0 || n > 50 {
		t.Errorf("%d texts are remembered", n)
	}
	if _, err := (*Memo)(nil).For("gpt2"); !errors.Is(err, ErrUnknown) {
		t.Errorf("got %v, want %v", err, ErrUnknown)
	}
}
