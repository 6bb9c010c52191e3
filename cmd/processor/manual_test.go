package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestCompletionCandidates(t *testing.T) {
	for _, c := range []struct {
		shell string
		words []string
		want  []string
	}{
		{"bash", []string{"pub"}, []string{"publish"}},
		{"bash", []string{"re"}, []string{"rejected", "replay", "recover", "restore"}},
		{"bash", []string{"context", "t", "--format", "o"}, []string{"openai"}},
		{"bash", []string{"context", "t", "--format", "=", "o"}, []string{"openai"}}, // as bash breaks --format=o
		{"bash", []string{"context", "t", "--format", "="}, []string{"openai", "responses", "anthropic", "gemini", "messages"}},
		{"zsh", []string{"context", "t", "--format=o"}, []string{"--format=openai"}},
		{"fish", []string{"context", "t", "--form"}, []string{"--format"}},
		{"fish", []string{"context", "--creds", ""}, []string{":files"}},
		{"fish", []string{"run", "--data", ""}, []string{":dirs"}},
		{"fish", []string{"--data", ""}, []string{":dirs"}}, // run is the default
		{"fish", []string{"publish", "--", "-"}, []string{":files"}},
		{"fish", []string{"publish", "a.jsonl", ""}, []string{":files"}},
		{"fish", []string{"thread", "t", ""}, nil},
		{"fish", []string{"summary", "--user", ""}, nil},
		{"fish", []string{"tail", "--json", "--until"}, []string{"--until-caught-up"}},
		{"fish", []string{"watch", "claude-code", ""}, []string{":dirs"}},
		{"fish", []string{"xyzzy", "--format", "x"}, nil},
	} {
		got := program(t, "", append([]string{"completion", c.shell, "--words", "--"}, c.words...)...)
		got.wants(t, exitDone, "", "")
		var words []string
		for line := range strings.Lines(got.stdout) {
			word, _, _ := strings.Cut(strings.TrimSpace(line), "\t")
			words = append(words, word)
		}
		if !slices.Equal(words, c.want) {
			t.Errorf("%q: got %q, want %q", c.words, words, c.want)
		}
	}
}

// The shells themselves complete with the scripts.
func TestCompletionInShells(t *testing.T) {
	path := build(t)
	dir := t.TempDir()
	for _, name := range []string{"events 1.jsonl", "notes.txt"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const bash = `source <(processor completion bash)
COMP_WORDS=(processor TYPED) COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _processor 2>/dev/null; printf '%s\n' "${COMPREPLY[@]}"`
	const zsh = `autoload -U compinit; compinit -u -D; source <(processor completion zsh)
_describe() { print -rl -- "${(@)values%%:*}" }; _files() { print -rl -- *(N) }
words=(processor TYPED) CURRENT=${#words}; _processor`
	const fish = `processor completion fish | source; complete -C "processor TYPED" | string replace -r '\t.*' ''; true`
	for shell, script := range map[string]string{"bash": bash, "zsh": zsh, "fish": fish} {
		name, err := exec.LookPath(shell)
		if err != nil {
			t.Logf("no %s here: not tried", shell)
			continue
		}
		for typed, want := range map[string][]string{
			"pub":                    {"publish"},
			"context t --format op":  {"openai"},
			"publish eve":            {"events 1.jsonl"},
			"tail --until":           {"--until-caught-up"},
			"completion ":            {"bash", "fish", "zsh"},
			"check --data nowhere -": nil, // only that it works
		} {
			last := typed
			if shell != "fish" && strings.HasSuffix(typed, " ") {
				last += "''"
			}
			command := exec.CommandContext(t.Context(), name, "-c", strings.Replace(script, "TYPED", last, 1))
			command.Dir = dir
			command.Env = append(os.Environ(), "PATH="+filepath.Dir(path)+":"+os.Getenv("PATH"), "HOME="+dir)
			out, err := command.CombinedOutput()
			if err != nil {
				t.Errorf("%s: %q: %v\n%s", shell, typed, err, out)
			}
			got := slices.Sorted(strings.Lines(string(out)))
			for i := range got {
				got[i] = strings.TrimRight(strings.ReplaceAll(got[i], `\ `, " "), "\n")
			}
			if shell == "zsh" { // its _files is a stand-in that lists everything
				got = slices.DeleteFunc(got, func(word string) bool { return word == "notes.txt" })
			}
			if want != nil && !slices.Equal(got, want) {
				t.Errorf("%s completes %q with %q, want %q", shell, typed, got, want)
			}
			if want == nil && len(got) < 5 {
				t.Errorf("%s completes %q with %q", shell, typed, got)
			}
		}
	}
}

// The page has every command and flag, and nothing that a formatter warns about.
func TestManualPage(t *testing.T) {
	got := program(t, "", "man")
	got.wants(t, exitDone, ".TH PROCESSOR 1 ", "")
	for _, want := range []string{`.SS \fBpublish\fR \fI<file> ...\fR`, `\fB\-\-until\-caught\-up\fR`, `\fBNATS_URL\fR`, `    processor tail`} {
		if want = strings.ReplaceAll(strings.TrimSpace(want), "    ", ""); !strings.Contains(got.stdout, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	name, err := exec.LookPath("mandoc")
	if err != nil {
		t.Skip("no mandoc here")
	}
	lint := exec.CommandContext(t.Context(), name, "-Tlint", "-W", "warning")
	lint.Stdin = strings.NewReader(got.stdout)
	out, _ := lint.CombinedOutput() // its status is that of the warnings
	for line := range strings.Lines(string(out)) {
		if !strings.Contains(line, "missing date") { // a program that was built outside of a commit has none
			t.Error(line)
		}
	}
}
