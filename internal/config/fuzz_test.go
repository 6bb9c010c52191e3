package config

import (
	"bytes"
	"os"
	"testing"
)

// Any file is either refused with a problem or gives a configuration, whose printed form loads again.
func FuzzFile(f *testing.F) {
	for _, name := range []string{"testdata/refused.txt", "../../examples/policies/precis.yaml"} {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		for _, block := range bytes.Split(text, []byte("\n== ")) {
			f.Add(block)
		}
	}
	f.Add([]byte("policies: &a [{compaction: {trigger: &t {any: [*t]}}}]"))
	f.Add([]byte("<<: {data_dir: x}\npolicies: [{<<: [{name: a}, {name: b}]}]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		cfg := Default()
		if problems := append(decodeFile(cfg, "f", text), validate(cfg)...); len(problems) > 0 {
			_ = asError(problems).Error()
			return
		}
		var out bytes.Buffer
		if err := cfg.WriteYAML(&out); err != nil {
			t.Fatal(err)
		}
		if problems := decodeFile(Default(), "printed", out.Bytes()); len(problems) > 0 {
			t.Fatalf("%v\n%s", asError(problems), out.String())
		}
	})
}
