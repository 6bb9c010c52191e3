package ledger

import (
	"regexp"
	"slices"
	"strings"
)

var (
	// ofDocs is a file that people read, and no program runs.
	ofDocs = regexp.MustCompile(`(?i)\.(?:md|mdx|markdown|rst|adoc|asciidoc|org)$|(?:^|/)(?:readme|changelog|changes|license|licence|notice|authors|contributing|todo|notes)(?:\.txt)?$`)
	// ofHarness is one in a directory of an agent or an editor.
	ofHarness = regexp.MustCompile(`(?:^|/)\.(?:claude|cursor|codex|gemini|agents?|aider|windsurf|continue|vscode|idea)/`)
	// ofTests is one with tests, by its name.
	ofTests = regexp.MustCompile(`(?:^|/)test_[^/]*\.py$|_test\.(?:go|py|rb|dart|exs|cc|cpp)$|[._](?:test|spec)\.(?:[cm]?[jt]sx?|rb|dart)$|_spec\.rb$|Tests?\.(?:java|kt|cs|swift|php)$`)
	// onDocs is in a line that is on such files as well.
	onDocs = regexp.MustCompile(`(?i)docs?\b|\bmd|markdown|\bmdx|sphinx|prettier|\bvale\b|remark|spell|typos|lychee|links?\b|pre-commit|dprint`)
	// ofData is a file in a directory of what programs and their tests read as they run: its name does not tell what for.
	ofData = regexp.MustCompile(`(?i)(?:^|/)(?:testdata|_*fixtures?_*|_*snapshots?_*|goldens?|templates?|prompts?|skills|embed(?:ded)?|assets|static|public|resources|dist|data)/`)
	// ofHelp is one that is named like tests, and that tests share.
	ofHelp = regexp.MustCompile(`(?:^|/)test_(?:utils?|helpers?|base|common|case|cases|support|lib)\.py$|(?:^|/)(?:Abstract|Base)\w*Tests?\.\w+$`)
	// ofSetup is a file that sets a linter up, or that may.
	ofSetup = regexp.MustCompile(`(?:^|/)\.[^/]+$|(?:config|rc)\.[cm]?[jt]s$`)
	// ofWriting is in a text that may be about files that people read.
	ofWriting = regexp.MustCompile(`(?i)\b(?:docs?|documentation|documented|readme|changelog|guides?|manual|chapters?|sections?|runbook)\b`)
	// siteDirs are where the pages of a site are, which its build reads.
	siteDirs = regexp.MustCompile(`(?i)\.mdx$|(?:^|/)(?:docs?|content|pages|site|website|www|blog|posts)/`)
)

// languages are those of files by the ends of their names, and speaking those that programs know; others run scripts, or build parts in any language.
var (
	languages = byWord(map[string]string{
		"go": "go", "python": "py pyi ipynb", "rust": "rs", "js": "ts tsx js jsx mjs cjs mts cts vue svelte", "jvm": "java kt kts scala groovy", "ruby": "rb", "php": "php",
		"swift": "swift", "dotnet": "cs fs", "elixir": "ex exs", "dart": "dart", "shell": "sh bash zsh fish ps1",
	})
	speaking = byWord(map[string]string{
		"go": "go gofmt golangci-lint", "python": "pytest ruff mypy pyright flake8 black", "rust": "cargo rustc clippy", "js": "tsc tsgo jest vitest mocha eslint",
		"jvm": "javac", "php": "phpunit", "swift": "swift", "dotnet": "dotnet", "elixir": "mix", "dart": "dart",
	})
	// alone are linters that look at each file by itself.
	alone = setOf("prettier eslint ruff black gofmt shellcheck flake8 pyflakes biome isort rustfmt markdownlint")
)

// byWord inverts lists of words.
func byWord(lists map[string]string) map[string]string {
	all := map[string]string{}
	for name, words := range lists {
		for w := range strings.FieldsSeq(words) {
			all[w] = name
		}
	}
	return all
}

// extension returns the end of a file's name behind its last full stop, in lower case.
func extension(path string) string {
	name := base(path)
	return strings.ToLower(name[strings.LastIndexByte(name, '.')+1:])
}

// program returns the name of the program in a key of a scope.
func program(key string) string {
	if words := strings.Fields(key); len(words) > 1 {
		return words[1]
	}
	return ""
}

// matters reports whether a change of a file may change how a run ends, as far as the names tell: not what people read, a file of
// another language, or one that the run's line leaves out. Where the names tell nothing it may.
func (v *view) matters(r Run, path string) bool {
	if strings.Contains(r.Line, base(path)) {
		return true
	}
	on := v.read(r.Line)
	within := slices.ContainsFunc(on.paths, func(p string) bool { // by the last name: it may be a path of an import, or begin elsewhere
		p, _, _ = strings.Cut(p, "::")
		return strings.Contains("/"+path+"/", "/"+base(p)+"/")
	})
	language := languages[extension(path)]
	switch tests := ofTests.MatchString(path); {
	case ofData.MatchString(path) && !strings.Contains(r.Kind, "lint"):
		return true
	case ofDocs.MatchString(path):
		scripts := strings.Contains(r.Kind, "lint") && on.scripts || strings.Contains(r.Kind, "build") && on.scripts && siteDirs.MatchString(path)
		return scripts || onDocs.MatchString(r.Line)
	case ofHarness.MatchString(path) && language == "", ofTools.MatchString(path):
		return false
	case tests && r.Kind == "build" && !on.scripts && strings.HasSuffix(path, ".go"):
		return false // the compiler leaves them out
	case tests && r.Kind == "test" && len(on.paths) > 0 && !within && !ofHelp.MatchString(path):
		return false // another test
	}
	known, of := len(on.programs) > 0, language == "" || language == "shell" // scripts are run by programs in any language
	single := len(on.paths) > 0 && !within && language != "" && !ofSetup.MatchString(path)
	for key := range on.programs {
		spoken := speaking[program(key)]
		known, of = known && spoken != "", of || spoken == language
		single = single && alone[program(key)]
	}
	return !single && (!known || of)
}

// writtenFor names the files that were written since a message which matter to a run.
func (v *view) writtenFor(r Run, from uint64) string {
	return v.writtenOf(from, v.l.To+1, func(path string) bool { return v.matters(r, path) })
}

// changedSince names the files that were written since a message and that what it says may be about: of those that people read, only one
// that it names, or if it speaks of such. Of a statement that names files, or what was written in them, the others are not what it is about.
func (v *view) changedSince(text string, from uint64) string {
	const most = 2
	which := func(path string) bool {
		if ofDocs.MatchString(path) && (ofData.MatchString(path) || ofWriting.MatchString(text)) {
			return true
		}
		return !ofDocs.MatchString(path) && !ofHarness.MatchString(path) && !ofTools.MatchString(path) || strings.Contains(text, base(path))
	}
	if about := v.about(text); len(about) > 0 && !finding.MatchString(text) {
		return v.names(from, v.l.To+1, most, func(path string) bool { return about[path] && which(path) })
	}
	return v.names(from, v.l.To+1, most, which)
}

// about has the files that a statement names, by themselves or by what was declared in them; none if it may be about any.
func (v *view) about(text string) map[string]bool {
	var paths map[string]bool
	add := func(path string) {
		if paths == nil {
			paths = map[string]bool{}
		}
		paths[path] = true
	}
	for _, name := range namedFile.FindAllString(text, 8) {
		name = strings.TrimPrefix(name, "./")
		for _, f := range v.files {
			if f.Path == name || strings.HasSuffix(f.Path, "/"+name) {
				add(f.Path)
			}
		}
	}
	eachWord(text, func(w string) {
		for _, f := range v.files {
			if slices.Contains(f.What, w) || slices.Contains(f.Gone, w) {
				add(f.Path)
			}
		}
	})
	return paths
}
