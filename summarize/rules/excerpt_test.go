package rules

import (
	"fmt"
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
