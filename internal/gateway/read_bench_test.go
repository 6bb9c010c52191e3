package gateway

import (
	"fmt"
	"strings"
	"testing"
)

// BenchmarkRead reads a request of 41 messages (40 kB), one of which is new.
func BenchmarkRead(b *testing.B) {
	word := strings.Repeat("a word or two ", 70)
	r := newReader()
	n := 0
	for b.Loop() {
		n++
		var list []string
		for m := range 41 {
			list = append(list, fmt.Sprintf(`{"role":%q,"content":"message %d %s"}`, []string{"user", "assistant"}[m%2], m+n, word))
		}
		body := []byte(`{"messages":[` + strings.Join(list, ",") + `]}`)
		if _, err := chatAPI.conversation(r, body); err != nil {
			b.Fatal(err)
		}
	}
}
