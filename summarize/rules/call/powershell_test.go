package call

import (
	"encoding/json"
	"testing"
)

// TestPlainShell: what PowerShell is asked to show is read as the same of another shell, and nothing else is changed.
func TestPlainShell(t *testing.T) {
	for line, want := range map[string]string{
		`Get-Content -Raw src\trees.py`:                               `cat src/trees.py `,
		`gc -Path 'docs\my notes.md' -TotalCount 40`:                  `head -n 40 'docs/my notes.md' `,
		`Get-Content src\trees.py -Tail 5`:                            `tail -n 5 src/trees.py `,
		`Get-Content src\trees.py | Select-Object -Skip 10 -First 20`: `cat src/trees.py | tail -n +11 | head -n 20 `,
		`Get-ChildItem -Force`:                                        `ls `,
		`gci -Recurse -Path src -Filter *.py`:                         `find src `,
		`Select-String -Path src\*.py -Pattern "def "`:                `grep -n 'def ' 'src/*.py' `,
		`powershell.exe -NoProfile -Command "Get-Content a.txt"`:      `cat a.txt `,
		`pwsh -c 'npm test'`:                                          `npm test`,
		`Get-Content a.log | Where-Object { $_ -match "x" }`:          `Get-Content a.log | Where-Object { $_ -match "x" }`,
		`Get-Content 'a & b.txt' | Select-Object -Last 60`:            `cat 'a & b.txt' | tail -n 60 `,
		`Get-Content a.txt | Select-Object -Skip 5 -Last 60`:          `cat a.txt |  Select-Object -Skip 5 -Last 60`,
		`Get-ChildItem | Select-Object Name`:                          `ls |  Select-Object Name`,
		`dir && dotnet build`:                                         `dir && dotnet build`,
		`dir || dotnet build`:                                         `dir || dotnet build`,
		`type src\a.c && gcc src\a.c`:                                 `type src\a.c && gcc src\a.c`,
		`type src\a.c & gcc src\a.c`:                                  `type src\a.c & gcc src\a.c`,
		`type src\a.c`:                                                `cat src/a.c `,
		`powershell -Command "type a.c"`:                              `cat a.c `,
		`Get-Content a.txt > b.txt`:                                   `Get-Content a.txt > b.txt`,
		`Get-Content a.txt, b.txt`:                                    `Get-Content a.txt, b.txt`,
		`Get-Content $file`:                                           `Get-Content $file`,
		`type python3.11`:                                             `type python3.11`,
		`npm.cmd test`:                                                `npm.cmd test`,
		`type make`:                                                   `type make`,
		`select 1`:                                                    `select 1`,
		`cat a.txt | grep -n "b"`:                                     `cat a.txt | grep -n "b"`,
		"":                                                            "",
	} {
		if got := plainShell(line); got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}

// TestShellLineOfPowerShell: what is told of the call is what was typed.
func TestShellLineOfPowerShell(t *testing.T) {
	raw, err := json.Marshal(map[string]any{"command": []string{"powershell.exe", "-Command", `Get-Content -Raw src\trees.py`}})
	if err != nil {
		t.Fatal(err)
	}
	args := ParseArguments(raw)
	if got := args.Typed(); got != `Get-Content -Raw src\trees.py` {
		t.Errorf("typed %q", got)
	}
	if parts := args.Parts(); len(parts) != 1 || parts[0].Path != "src/trees.py" {
		t.Errorf("parts %+v", parts)
	}
}

// TestSkipBeforeTheLast: with -Last, -Skip counts from the end, and what is shown is no end.
func TestSkipBeforeTheLast(t *testing.T) {
	args := shellCall(t, `Get-Content a.txt | Select-Object -Skip 5 -Last 60`)
	if n, which := args.Capped(); n > 0 || len(args.Parts()) > 0 {
		t.Errorf("%d %s, %+v", n, which, args.Parts())
	}
}
