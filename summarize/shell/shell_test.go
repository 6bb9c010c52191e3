package shell

import (
	"fmt"
	"strings"
	"testing"
)

// TestFlat: what a line runs, each command with the operator before it.
func TestFlat(t *testing.T) {
	for line, want := range map[string]string{
		`npm test 2>&1 | tail -30`:                                        "npm | tail",
		`OUT=$(npm test 2>&1); echo "$OUT" | tail -30`:                    "npm ; echo | tail",
		`echo "$(go test ./... | tail)"`:                                  "go | tail ; echo",
		"OUT=`pytest -q`; echo $OUT":                                      "pytest ; echo",
		`A=$(cd x && (make; echo "a ) b")) && ls`:                         "cd && make ; echo && ls",
		`git ls-files '*.py' | xargs -n 1 -P4 mypy | tail`:                "git | mypy | tail",
		`find . -name '*.sh' -exec shellcheck {} +`:                       "shellcheck",
		`bash -lc "npm test | tail"`:                                      "npm | tail",
		`echo "a \"b\" | c"; ls`:                                          "echo ; ls",
		`kubectl -n prod exec api -- cat /var/log/app.log`:                "cat",
		"git commit -m \"$(cat <<'EOF'\ndon't | stop\nEOF\n)\"":           "git",
		"git add a && git commit -m \"$(cat <<'EOF'\nx\nEOF\n)\" && make": "git && git && make",
		`git commit -m "$(cat message.txt)"`:                              "cat ; git",
		`echo '$(make)'`:                                                  "echo",
		`OUT=$(npm test`:                                                  "npm",
	} {
		got := ""
		for i, s := range Flat(Steps(line)) {
			name, _ := s.Program()
			if i > 0 {
				got += " " + s.Op + " "
			}
			got += name
		}
		if got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
}

// TestDeepSubstitutions: nesting costs no more than a line's length a few times.
func TestDeepSubstitutions(t *testing.T) {
	if n := len(Flat(Steps(strings.Repeat("$(", 20000)))); n > 10 {
		t.Errorf("%d steps", n)
	}
}

// TestVerb: options that take a value stand before a subcommand.
func TestVerb(t *testing.T) {
	for line, want := range map[string]string{
		"kubectl -n prod logs api": "logs [api]", "gh -R o/r run view 12": "run [view 12]", "git -C /x log": "log []", "docker compose -f a.yaml logs": "compose [-f a.yaml logs]",
	} {
		_, operands := Steps(line)[0].Program()
		verb, rest := CutVerb(operands)
		if got := fmt.Sprint(verb, " ", rest); got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
}
