package rules

import (
	"fmt"
	"slices"
	"testing"

	"github.com/go-json-experiment/json"

	"precis/summarize/rules/call"
)

func shellCall(t *testing.T, command string) call.Arguments {
	t.Helper()
	raw, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		t.Fatal(err)
	}
	return call.ParseArguments(raw)
}

func TestExcerpts(t *testing.T) {
	for _, c := range []struct {
		command string
		total   int
		want    []call.Part // settled
	}{
		{"sed -n '40,90p' a.go", 51, []call.Part{{Path: "a.go", From: 40, To: 90}}},
		{"cd /src && sed -n 40,90p a.go", 20, []call.Part{{Path: "a.go", From: 40, To: 59}}},
		{"sed -n '1,20p' a.go && sed -n 30,39p b.go", 30, []call.Part{{Path: "a.go", From: 1, To: 20}, {Path: "b.go", From: 30, To: 39}}},
		{"sed -n '1,20p' a.go && sed -n 30,39p b.go", 29, nil}, // which of them ended before?
		{"sed -n '1,20p;40,44p' a.go", 25, []call.Part{{Path: "a.go", From: 1, To: 20}, {Path: "a.go", From: 40, To: 44}}},
		{"cat a.go | sed -n '7,9p'", 3, []call.Part{{Path: "a.go", From: 7, To: 9}}},
		{"head -5 a.go; echo ---; cat b.go", 16, []call.Part{{Path: "a.go", From: 1, To: 5}, {From: 1, To: 1}, {Path: "b.go", From: 1, To: 10}}},
		{"tail -n +12 a.go", 4, []call.Part{{Path: "a.go", From: 12, To: 15}}},
		{"tail -20 a.go", 20, nil},
		{"sed -n '/func/p' a.go", 3, nil},
		{"sed -n '1,20p' a.go > b.go", 20, nil},
		{"make && cat a.go", 20, nil},
		{"cat a.go | grep x", 20, nil},
	} {
		if got := call.Settled(shellCall(t, c.command).Parts(), c.total); !slices.Equal(got, c.want) {
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
		n, which := shellCall(t, command).Capped()
		if got := fmt.Sprint(n, " ", which); got != want {
			t.Errorf("%s: %q, want %q", command, got, want)
		}
	}
}
