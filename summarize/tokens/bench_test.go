package tokens

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tiktoken-go/tokenizer/codec"
)

// samples are texts of the kinds that agents read most, about 100 kB each.
func samples() map[string]string {
	repeat := func(unit func(i int) string) string {
		var b strings.Builder
		for i := 0; b.Len() < 100_000; i++ {
			b.WriteString(unit(i))
		}
		return b.String()
	}
	return map[string]string{
		"code": repeat(func(i int) string {
			return fmt.Sprintf("func (s *Store) handle%dRequest(ctx context.Context, req *http.Request) error {\n\tif err := s.validate(req.Header.Get(\"X-Trace-%x\")); err != nil {\n\t\treturn fmt.Errorf(\"handle %d: %%w\", err)\n\t}\n\treturn nil\n}\n\n", i, i*7919, i)
		}),
		"prose": repeat(func(i int) string {
			return fmt.Sprintf("The %dth customer asked whether her reservation could be changed, since the connecting flight doesn't leave until evening. We've told her that it's possible, at no extra cost. ", i)
		}),
		"json": repeat(func(i int) string {
			return fmt.Sprintf(`{"id": "a%06x", "created_at": "2025-11-%02dT23:33:01.%03dZ", "path": "packages/agent/src/module_%d.ts", "ok": true, "size": %d},`+"\n", i*104729, i%28+1, i%1000, i, i*i)
		}),
		"log": repeat(func(i int) string {
			return fmt.Sprintf("2025-11-20 10:%02d:%02d.%03d [worker-%d] WARN  retry %d of 5 for 10.0.%d.%d:8443: connection refused (0x%08x)\n", i%60, i%59, i%1000, i%16, i%5, i%256, i%251, i*2654435761)
		}),
	}
}

func BenchmarkCount(b *testing.B) {
	libraries := map[string]func() *codec.Codec{O200k: codec.NewO200kBase, CL100k: codec.NewCl100kBase}
	for kind, text := range samples() {
		for _, name := range Names() {
			counter, err := For(name)
			if err != nil {
				b.Fatal(err)
			}
			b.Run(kind+"/"+name, func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				b.ReportAllocs()
				for b.Loop() {
					counter.Count(text)
				}
			})
			if library := libraries[name]; library != nil {
				c := library()
				b.Run(kind+"/"+name+"/library", func(b *testing.B) {
					b.SetBytes(int64(len(text)))
					b.ReportAllocs()
					for b.Loop() {
						if _, err := c.Count(text); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
		}
	}
}

func BenchmarkLoad(b *testing.B) {
	for b.Loop() {
		newO200k()
	}
}

// BenchmarkTranscripts counts real messages, whose words are more and rarer than the samples'.
func BenchmarkTranscripts(b *testing.B) {
	var texts []string
	bytes := 0
	for _, messages := range transcripts(b) {
		for _, m := range messages {
			texts = append(texts, m.text())
			bytes += len(m.text())
		}
	}
	for _, name := range Names() {
		counter, err := For(name)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(bytes))
			for b.Loop() {
				for _, t := range texts {
					counter.Count(t)
				}
			}
		})
	}
}
