package rules

import (
	"fmt"
	"slices"
	"testing"

	"github.com/go-json-experiment/json"
)

func shellCall(t *testing.T, command string) arguments {
	t.Helper()
	raw, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		t.Fatal(err)
	}
	return parseArguments(raw)
}

func TestExcerpts(t *testing.T) {
	for _, c := range []struct {
		command string
		total   int
		want    []excerpt // settled
	}{
		{"sed -n '40,90p' a.go", 51, []excerpt{{path: "a.go", from: 40, to: 90}}},
		{"cd /src && sed -n 40,90p a.go", 20, []excerpt{{path: "a.go", from: 40, to: 59}}},
		{"sed -n '1,20p' a.go && sed -n 30,39p b.go", 30, []excerpt{{path: "a.go", from: 1, to: 20}, {path: "b.go", from: 30, to: 39}}},
		{"sed -n '1,20p' a.go && sed -n 30,39p b.go", 29, nil}, // which of them ended before?
		{"sed -n '1,20p;40,44p' a.go", 25, []excerpt{{path: "a.go", from: 1, to: 20}, {path: "a.go", from: 40, to: 44}}},
		{"cat a.go | sed -n '7,9p'", 3, []excerpt{{path: "a.go", from: 7, to: 9}}},
		{"head -5 a.go; echo ---; cat b.go", 16, []excerpt{{path: "a.go", from: 1, to: 5}, {from: 1, to: 1}, {path: "b.go", from: 1, to: 10}}},
		{"tail -n +12 a.go", 4, []excerpt{{path: "a.go", from: 12, to: 15}}},
		{"tail -20 a.go", 20, nil},
		{"sed -n '/func/p' a.go", 3, nil},
		{"sed -n '1,20p' a.go > b.go", 20, nil},
		{"make && cat a.go", 20, nil},
		{"cat a.go | grep x", 20, nil},
	} {
		if got := settled(shellCall(t, c.command).parts(), c.total); !slices.Equal(got, c.want) {
			t.Errorf("%s of %d lines: %v, want %v", c.command, c.total, got, c.want)
		}
	}
}

func TestCapped(t *testing.T) {
	for command, want := range map[string]string{
		"grep -rn x . | head -10":                 "10 first",
		"cd a && go test ./... 2>&1 | tail -n 40": "40 last",
		"ls -la | sed -n '1,80p'":                 "80 first",
		"rg x | head":                             "10 first",
		"rg x":                                    "0 ",
		"make; rg x | head -3":                    "0 ",
		"rg x | head -3 | sort":                   "0 ",
	} {
		n, which := shellCall(t, command).capped()
		if got := fmt.Sprint(n, " ", which); got != want {
			t.Errorf("%s: %q, want %q", command, got, want)
		}
	}
}
