package call

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
)

func shellCall(t *testing.T, command string) Arguments {
	t.Helper()
	raw, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		t.Fatal(err)
	}
	return ParseArguments(raw)
}

// described writes parts as short words: `a.go 40-90`, `HEAD:a.go 1-`, `a.go last 5`, `a.go ?`, `# 1-40` with numbers, `+ 60-80` behind the one before, `"---"`.
func described(list []Part) string {
	var all []string
	for _, p := range list {
		s := p.Path
		if p.Revision != "" {
			s = p.Revision + ":" + s
		}
		if p.Numbered {
			s += " #"
		}
		if p.Next {
			s += " +"
		}
		switch {
		case p.Path == "" && p.Says != "":
			s += fmt.Sprintf("%q", p.Says)
		case p.Path == "" && p.From > 0:
			s += fmt.Sprintf("text %d", p.Size())
		case p.Last > 0:
			s += fmt.Sprintf(" last %d", p.Last)
		case p.From == 0:
			s += " ?"
		case p.To == 0:
			s += fmt.Sprintf(" %d-", p.From)
		default:
			s += fmt.Sprintf(" %d-%d", p.From, p.To)
		}
		if p.Lines > 0 && p.From == 0 {
			s += fmt.Sprintf("%d", p.Lines)
		}
		all = append(all, s)
	}
	return strings.Join(all, "; ")
}

// TestParts: which lines of which files a command shows. Empty: it shows more than that, or it is not known.
func TestParts(t *testing.T) {
	for _, c := range []struct{ command, want string }{
		{"cat a.go", "a.go 1-"},
		{"cat Makefile", ""}, // a word without a dot may be anything
		{"cat a.go b.go", "a.go 1-; b.go 1-"},
		{"cat a.go b.go | head -5", ""},
		{"cat src/{a,b}.go", ""}, // several files
		{"cat src/?.go", ""},
		{"cat src/[ab].go", ""},
		{"sed -n 1,20p src/{a,b}.go", ""},
		{"cat 'app/[id]/page.tsx'", "app/[id]/page.tsx 1-"},
		{"sed -n 1,20p a.go b.go", ""}, // which of them has how many?
		{"sed -n '1,20p' src/a.go src/b.go", ""},
		{"nl -ba a.go b.go", ""},
		{"cat -n a.go", "a.go # 1-"},
		{"cat -A a.go", ""},
		{"cat -s a.go", ""},
		{"cat -n a.go b.go", ""},
		{"nl -ba a.go", "a.go # 1-"},
		{"nl -b a a.go", "a.go # 1-"},
		{"nl -ba -w4 a.go", "a.go # 1-"},
		{"nl a.go", ""}, // blank lines have no numbers
		{"nl -ba -v 40 a.go", ""},
		{"nl -ba a.go | sed -n '40,90p'", "a.go # 40-90"},
		{"nl -ba a.go | sed -n '1,36p;260,330p'", "a.go # 1-36; a.go # + 260-330"},
		{"nl -ba a.go | tail -n +40 | head -20", "a.go # 40-59"},
		{"cat -n a.go | tail -20", "a.go # last 20"},
		{"sed -n '40,90p' a.go", "a.go 40-90"},
		{"sed -n '40,90p' a.go | nl -ba", ""}, // numbers that are not those of the file
		{"sed -n '1,90p' a.go | cat -n", "a.go # 1-90"},
		{"sed -n '1,20p;40,44p' a.go", "a.go 1-20; a.go + 40-44"},
		{"sed -n -e 1,20p -e '60,$p' a.go", "a.go 1-20; a.go + 60-"},
		{"sed -n '5p' a.go", "a.go 5-5"},
		{"sed -n '/func/p' a.go", "a.go ?"},
		{"sed 's/a/b/' a.go | head -3", ""},
		{"sed -i 's/a/b/' a.go", ""},
		{"sed -n '1,20p' a.go > b.go", ""},
		{"sed -n '1,20p' a.go 2>/dev/null", "a.go 1-20"},
		{"cat a.go | sed -n '7,9p'", "a.go 7-9"},
		{"tail -n +12 a.go", "a.go 12-"},
		{"tail -20 a.go", "a.go last 20"},
		{"tail -n +12 a.go | sed -n '3,5p'", "a.go 14-16"},
		{"head -20 a.go b.go", ""}, // with headings
		{"head -c 100 a.go", ""},
		{"head -n -5 a.go", ""}, // all but the last five
		{"head -n-5 a.go", ""},
		{"head -n 5 a.go", "a.go 1-5"},
		{"tail -n -5 a.go", "a.go last 5"},
		{"tail -f a.log", ""},
		{"cat a.go | grep x", ""},
		{"cat a.json | jq .name", ""},
		{"cat a.go | wc -l", ""},
		{"cat a.go | sort | head", ""},
		{"cat a.go | tee b.go", ""},
		{"cat < a.go", ""},
		{"cat > a.go << 'EOF'\nx\nEOF", ""},
		{"make && cat a.go", ""},
		{"cat a.go; git status", ""},
		{"cat a.go &", "a.go 1-"},
		{"cat a.go || echo missing", ""},
		{"cat a.go || true", "a.go 1-"},
		{"[ -f a.go ] && cat a.go", ""},
		{"if [ -f a.go ]; then cat a.go; fi", ""},
		{"(cd x && cat a.go)", ""},
		{"cd /src && set -e && sed -n 40,90p a.go", "a.go 40-90"},
		{"set -euo pipefail; sed -n 40,90p a.go", "a.go 40-90"},
		{"set -euxo pipefail; sed -n 40,90p a.go", ""}, // it prints its commands
		{"set -v; sed -n 40,90p a.go", ""},
		{"set -o xtrace; sed -n 40,90p a.go", ""},
		{"set -e -o verbose; sed -n 40,90p a.go", ""},
		{"set -o; sed -n 40,90p a.go", ""},
		{"set +x; sed -n 40,90p a.go", "a.go 40-90"},
		{"bash -xc 'sed -n 40,90p a.go'", ""},
		{"export -p; sed -n 40,90p a.go", ""},
		{"export A=1; sed -n 40,90p a.go", "a.go 40-90"},
		{"cd - && sed -n 40,90p a.go", ""},                       // it prints where it goes
		{"cd r1 && cat p.go; echo --; cd ../r2 && cat p.go", ""}, // another file of that name
		{"for d in r1 r2; do cd $d; cat p.go; cd ..; done", ""},
		{"cat a.go; cd ..", "a.go 1-"},
		{"head -5 a.go; echo ---; cat b.go", `a.go 1-5; "---"; b.go 1-`},
		{"head -5 a.go; echo -n x; cat b.go", ""},
		{`cat a.go; printf '\n%s:\n' b.go; cat b.go`, "a.go 1-; \"\\nb.go:\"; b.go 1-"},
		{`cat a.go; echo "$HOME"; cat b.go`, "a.go 1-;  ?; b.go 1-"},
		{"echo a; echo b", ""},

		{"git show HEAD:a.go", "HEAD:a.go 1-"},
		{"git show HEAD:Makefile", "HEAD:Makefile 1-"},
		{"git show origin/x:src/a.go | sed -n '1,220p'", "origin/x:src/a.go 1-220"},
		{"git show X:p | nl -ba | sed -n '1350,1445p'", "X:p # 1350-1445"},
		{"git -C dir show HEAD~2:./a.go | head -40", "HEAD~2:a.go 1-40"},
		{"git --no-pager show HEAD:a.go | tail -n +30 | cat -n", ""},
		{"git show HEAD:a.go | cat -n | tail -n +30", "HEAD:a.go # 30-"},
		{"git show HEAD:a.go | sed -n '1,5p;8,9p'", "HEAD:a.go 1-5; HEAD:a.go + 8-9"},
		{"git show :a.go", "index:a.go 1-"},
		{"git show :0:a.go", "index:a.go 1-"},
		{"git show :2:a.go; echo ===; git show :3:a.go", `:2:a.go 1-; "==="; :3:a.go 1-`},
		{"git show A:a.go B:a.go", "A:a.go 1-; B:a.go 1-"},
		{"git show A:a.go; git show A:b.go | head -9", "A:a.go 1-; A:b.go 1-9"},
		{"git cat-file -p HEAD:a.go", "HEAD:a.go 1-"},
		{"git cat-file -p HEAD", ""},
		{"git show HEAD", ""},
		{"git show HEAD -- a.go", ""},
		{"git show --stat HEAD:a.go", ""},
		{"git show HEAD:src/", ""},
		{"git show ':/fix the bug'", ""},
		{"git show HEAD:$f", ""},
		{"git show HEAD:a.go | grep -n x", ""},
		{"git show HEAD:a.json | jq .", ""},
		{"git show HEAD:a.go | wc -l", ""},
		{"git show HEAD:a.go | diff - a.go", ""},
		{"git show HEAD:a.go > /tmp/a.go", ""},
		{"git diff HEAD:a.go a.go", ""},
		{"git log --oneline | head -5", ""},
		{"git show --stat x && git show x:a.go | nl -ba", ""},

		{"gh api repos/o/r/contents/src/a.go --jq '.content' | base64 -d | sed -n '1,40p'", "o/r:src/a.go 1-40"},
		{"gh api 'repos/o/r/contents/a.yml?ref=v1' --jq .content | base64 --decode | nl -ba | sed -n '34,66p'", "o/r@v1:a.yml # 34-66"},
		{"gh api repos/o/r/contents/a.go -q .content | tr -d '\\n' | base64 -D", "o/r:a.go 1-"},
		{"gh api repos/o/r/contents/a.go | jq -r .content | base64 -d", "o/r:a.go 1-"},
		{"gh api repos/o/r/contents/a.go --jq '.content | @base64d' | head -9", "o/r:a.go 1-9"},
		{"gh api -H 'Accept: application/vnd.github.raw' repos/o/r/contents/a.go | head -9", "o/r:a.go 1-9"},
		{"gh api repos/o/r/contents/a.go --jq '.content'", ""},
		{"gh api repos/o/r/contents/a.go --jq '.sha'", ""},
		{"gh api repos/o/r/contents/src --jq '.[].name'", ""},
		{"gh api repos/o/r/contents/a.go", ""},
		{"gh api repos/o/r/contents/a.go -X PUT --jq .content | base64 -d", ""},
		{"gh api repos/o/r/pulls/1 --jq .content | base64 -d", ""},
		{"gh api repos/o/r/contents/a.go --jq .content | base64 -d > a.go", ""},
		{"gh api repos/o/r/contents/a.go --jq .content | base64 -d | jq .version", ""},

		{"for f in a.go b.go; do echo '---' $f; git show X:$f | sed -n '1,9p'; done", `"--- a.go"; X:a.go 1-9; "--- b.go"; X:b.go 1-9`},
		{"for f in a b\ndo\n  echo \"== ${f}.go\"\n  cat ./src/$f.go\ndone", `"== a.go"; ./src/a.go 1-; "== b.go"; ./src/b.go 1-`},
		{"for f in a.yml b.yml; do echo '---' $f; gh api repos/o/r/contents/$f --jq '.content' | base64 -d | sed -n '1,2p'; done 2>/dev/null", `"--- a.yml"; o/r:a.yml 1-2; "--- b.yml"; o/r:b.yml 1-2`},
		{"for i in 3 7; do sed -n ${i}p a.go; done", "a.go 3-3; a.go 7-7"},
		{"for f in *.go; do cat $f; done", ""},
		{"for f in $(git ls-files); do cat $f; done", ""},
		{"for f in a.go b.go; do cat $f; done | head -20", ""},
		{"for f in a.go b.go; do cat $f | grep x; done", ""},
		{"for f in a.go b.go; do if true; then cat $f; fi; done", ""},
		{"for f in a.go; do for g in b.go; do cat $g; done; done", ""},
		{"for f in a.go b.go; do cat $f", ""},
		{"while read f; do cat a.go; done", ""},
	} {
		if got := described(shellCall(t, c.command).Parts()); got != c.want {
			t.Errorf("%s: %s, want %s", c.command, got, c.want)
		}
	}
}

// lines are n lines of a file.
func lines(n int) string { return strings.Repeat("x\n", n) }

// A loop over a long value that it names thousands of times is not written out: 16 KiB of a command came to 32 MB, again for each look at it.
func TestLoopsAreBounded(t *testing.T) {
	loop := func(value, uses int) []Part {
		return shellCall(t, "for f in "+strings.Repeat("v", value)+".go; do echo "+strings.Repeat("-$f", uses)+"; cat $f; done").Parts()
	}
	if got := len(loop(200, 200)); got != 2 {
		t.Errorf("%d parts of 40 KB", got)
	}
	if got := len(loop(4_000, 3_000)); got != 0 {
		t.Errorf("%d parts of 12 MB", got)
	}
}

// TestSettled: which lines of which files an output has. A part has numbers only where they are certain.
func TestSettled(t *testing.T) {
	for _, c := range []struct{ command, output, want string }{
		{"sed -n '40,90p' a.go", lines(51), "a.go 40-90"},
		{"cd /src && sed -n 40,90p a.go", lines(20), "a.go 40-59"},
		{"sed -n '40,90p' a.go", lines(52), ""},
		{"sed -n '1,20p' a.go && sed -n 30,39p b.go", lines(30), "a.go 1-20; b.go 30-39"},
		{"sed -n '1,20p' a.go && sed -n 30,39p b.go", lines(29), ""}, // which of them ended before?
		{"sed -n '1,20p' a.go; cat b.go", lines(29), ""},             // the first may have fewer
		{"sed -n '1,20p;40,44p' a.go", lines(25), "a.go 1-20; a.go + 40-44"},
		{"sed -n '1,20p;40,44p' a.go", lines(22), "a.go 1-20; a.go + 40-41"}, // it has a line 41
		{"sed -n '1,20p;40,44p' a.go", lines(20), "a.go 1-20"},
		{"git show A:a.go | sed -n '1,20p;40,$p'", lines(25), "A:a.go 1-20; A:a.go + 40-44"},
		{"cat a.go | sed -n '7,9p'", lines(3), "a.go 7-9"},
		{"tail -n +12 a.go", lines(4), "a.go 12-15"},
		{"tail -20 a.go", lines(20), ""},
		{"head -5 a.go; echo ---; cat b.go", lines(5) + "---\n" + lines(10), `a.go 1-5; "---"; b.go 1-10`},
		{"head -5 a.go; echo ---; cat b.go", lines(3) + "---\n" + lines(10), `a.go 1-3; "---"; b.go 1-10`},
		{"head -5 a.go; echo ---; cat b.go", lines(3) + "---\n" + lines(10) + "---\n", ""}, // which of them did echo print?
		{"cat a.go; echo; cat b.go", lines(3) + "\n" + lines(4), ""},
		{"cat a.go; echo; echo x y; cat b.go", lines(3) + "\nx y\n" + lines(4), `a.go 1-3; text 1; "x y"; b.go 1-4`},
		{"cat a.go; echo --; sed -n 1,9p b.go; sed -n 20,29p c.go", lines(3) + "--\n" + lines(11), `a.go 1-3; "--";  ?11`},
		{"for f in a.go b.go; do echo \"- $f\"; cat $f; done", "- a.go\n" + lines(2) + "- b.go\n" + lines(3), `"- a.go"; a.go 1-2; "- b.go"; b.go 1-3`},
		{"for f in a.go b.go; do echo \"- $f\"; cat $f; done", "- a.go\ncat: a.go: No such file or directory\n- b.go\n" + lines(3), ""},
		{"for f in a.go b.go; do echo \"- $f\"; cat $f; done", "- a.go\n- b.go\n" + lines(3), `"- a.go"; "- b.go"; b.go 1-3`},
		{"sed -n 3,5p a.go; sed -n '/x/p' a.go", lines(7), ""},
		{"sed -n 1,20p a.go; echo ---; cat b.go", lines(21) + "---\n" + lines(3), `a.go ?21; "---"; b.go 1-3`}, // a line of something else is among them
		{"sed -n '1,20p;40,44p' a.go", lines(26), ""},
		{"cat a.go; echo ---; cat b.go", "/bin/sh: 1: cat: not found\n---\n" + lines(3), ""},
		{"cat a.go; echo ---; cat b.go", "/bin/bash: line 1: a.go: Permission denied\n---\n" + lines(3), ""},
		{"cat a.go; echo ---; cat b.go", "-bash: line 1: cat: command not found\n---\n" + lines(3), ""},
		{"cat a.go; echo ---; cat b.go", "/usr/bin/cat: a.go: No such file or directory\n---\n" + lines(3), ""},
		{"cat a.go; echo ---; cat b.go", "error: could not open a.go\n---\n" + lines(3), `a.go 1-1; "---"; b.go 1-3`},
		{"cat a.log", lines(2) + "fatal: no space\n", "a.log 1-3"}, // a line of the file
		{"cat a.log", "fatal: no space\n" + lines(2), ""},
	} {
		if got := described(Settled(shellCall(t, c.command).Parts(), c.output)); got != c.want {
			t.Errorf("%s of %d lines: %s, want %s", c.command, strings.Count(c.output, "\n"), got, c.want)
		}
	}
}
