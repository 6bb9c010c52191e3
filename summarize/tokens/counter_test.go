package tokens_test

import (
	"errors"
	"strings"
	"testing"

	"precis/summarize/tokens"
)

func TestKnownCounts(t *testing.T) {
	cases := []struct {
		name, text string
		want       int
	}{
		{tokens.O200k, "", 0},
		{tokens.O200k, "hello world", 2},
		{tokens.CL100k, "hello world", 2},
		{tokens.O200k, "<|endoftext|>", 7}, // not the special token 199999
		{tokens.Estimate, "", 0},
		{tokens.Claude, "", 0},
	}
	for _, c := range cases {
		counter, err := tokens.For(c.name)
		if err != nil {
			t.Fatal(err)
		}
		if got := counter.Count(c.text); got != c.want {
			t.Errorf("%s: Count(%q) = %d, want %d", c.name, c.text, got, c.want)
		}
		if counter.Name() != c.name {
			t.Errorf("For(%q).Name() = %q", c.name, counter.Name())
		}
	}
}

func TestUnknownName(t *testing.T) {
	if _, err := tokens.For("p50k_base"); !errors.Is(err, tokens.ErrUnknown) {
		t.Fatalf("err = %v", err)
	}
}

// TestConcurrentUse: one counter serves all goroutines, and all see the same counts.
func TestConcurrentUse(t *testing.T) {
	text := "func main() { fmt.Println(\"héllo\", 12345) }\n" + strings.Repeat("ab", 300)
	for _, name := range tokens.Names() {
		want := -1
		results := make(chan int)
		for range 8 {
			go func() {
				c, err := tokens.For(name)
				if err != nil {
					results <- -2
					return
				}
				results <- c.Count(text)
			}()
		}
		for range 8 {
			got := <-results
			if want < 0 {
				want = got
			}
			if got != want || got <= 0 {
				t.Errorf("%s: counts %d and %d of one text", name, got, want)
			}
		}
	}
}
