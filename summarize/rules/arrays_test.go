package rules

import (
	"strings"
	"testing"
)

// TestArraysOfOneName: how many records a file of settings has is told only of a name that one member has.
func TestArraysOfOneName(t *testing.T) {
	steps := `"steps": [{"run": "a", "id": 1}, {"run": "b", "id": 2}]`
	for name, test := range map[string]struct{ text, want string }{
		"one array":             {`{"name": "x", ` + steps + `}`, "2 in steps"},
		"of the only job":       {`{"jobs": [{"id": "build", ` + steps + `}]}`, "2 in steps"},
		"of one job of several": {`{"build": {` + steps + `}, "test": {"steps" : [{"run": "c"}]}}`, ""},
		"an object too":         {`{"steps": {"first": [{` + steps + `}], "last": [{"run": "d"}]}}`, ""},
		"as a value":            {`{"kind": "steps", ` + steps + `}`, "2 in steps"},
	} {
		t.Run(name, func(t *testing.T) {
			var f facts
			d := document{source: test.text}
			f.arrays(&d)
			if got := strings.Join(f.key, ""); test.want == "" && strings.Contains(got, "Records") || !strings.Contains(got, test.want) {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}
