package rules

import (
	"fmt"
	"strings"
	"testing"
)

// source returns about n bytes of code without duplicate functions.
func source(n int) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, "// handler%d serves the %d-th request.\nfunc (s *Server%d) handler%d(w http.ResponseWriter, r *http.Request) error {\n\tvalue%d, err := s.store.Get(r.Context(), \"key-%d\")\n\tif err != nil {\n\t\treturn fmt.Errorf(\"get key %d: %%w\", err)\n\t}\n\treturn json.NewEncoder(w).Encode(value%d)\n}\n\n", i, i, i%7, i, i, i, i, i)
	}
	return b.String()[:n]
}

func BenchmarkToolOutput(b *testing.B) {
	for _, size := range []int{4 << 10, 30 << 10, 300 << 10, 1 << 20} {
		in := Input{MessageID: "m1", ToolName: "read_file", Arguments: []byte(`{"path":"/src/server.go"}`), Content: source(size), MaxChars: 800, IncludeMetadata: true}
		b.Run(fmt.Sprintf("%dKB", size>>10), func(b *testing.B) {
			b.SetBytes(int64(size))
			for b.Loop() {
				ToolOutput(in)
			}
		})
	}
}

// BenchmarkEarlier measures the cost of a window of earlier messages.
func BenchmarkEarlier(b *testing.B) {
	for _, messages := range []int{0, 20, 100} {
		in := Input{MessageID: "m1", ToolName: "read_file", Arguments: []byte(`{"path":"/src/server.go"}`), Content: source(4 << 10), MaxChars: 800}
		for range messages {
			in.Earlier = append(in.Earlier, source(3<<10))
		}
		b.Run(fmt.Sprint(messages), func(b *testing.B) {
			for b.Loop() {
				ToolOutput(in)
			}
		})
	}
}

// BenchmarkWorst takes a megabyte of potentially slow input.
func BenchmarkWorst(b *testing.B) {
	for name, text := range worst() {
		in := Input{MessageID: "m1", ToolName: "bash", Content: text, MaxChars: 800, PreserveErrors: true}
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				ToolOutput(in)
			}
		})
	}
}

// worst are megabytes of input that quadratic code would fail on.
func worst() map[string]string {
	const mb = 1 << 20
	repeat := func(s string) string { return strings.Repeat(s, mb/len(s)) }
	var distinct strings.Builder
	for i := 0; distinct.Len() < mb; i++ {
		fmt.Fprintf(&distinct, "id_%d ", i)
	}
	return map[string]string{
		"one letter": repeat("a"), "spaces": repeat(" "), "newlines": repeat("\n"), "dots": repeat("a."), "dashes": repeat("-"),
		"one line of words": repeat("word_a wordB "), "distinct words": distinct.String(), "distinct lines": strings.ReplaceAll(distinct.String(), " ", "\n"),
		"deep json": repeat(`{"a":[`), "brackets": repeat("["), "escapes": repeat("\x1b[31m"), "open escape": repeat("\x1b]"), "returns": repeat("x\r"),
		"backspaces": repeat("a\b"), "invalid": repeat("\xff"), "runes": repeat("漢"), "equal lines": repeat("error: no\n"), "grep": repeat("a/b.go:12:x_y\n"),
		"numbered": repeat("   12→x_y\n"), "paths": repeat("a/b_c/d.go\n"), "colons": repeat("a:1:"), "errors": repeat("Error: x_y at z.go:1\n"),
	}
}
