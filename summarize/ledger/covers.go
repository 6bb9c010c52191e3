package ledger

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"precis/summarize/shell"
)

// scope is what a command line runs, as far as its words tell.
type scope struct {
	programs map[string]string // each with its kind in front and, of one that runs scripts or tasks, with their names; and the kinds
	places   []string          // the directories and packages in which it says to run them
	filters  []string          // what chooses a part of the tests, or leaves a part out
	paths    []string          // the files and directories that it is on; none: on all
	every    bool              // it runs in all packages
	scripts  bool              // a program runs scripts: what they do differs by directory
}

// Words that make a run one of a part, with a value behind them: the place of a script, and the choice of tests.
var (
	placing   = setOf("-C --prefix --cwd --dir --filter -w --workspace --manifest-path -pl --projects")
	narrowing = setOf("-run -k -t -g -e -m -p --testNamePattern --test-name-pattern --grep --tests --test --bin --bench --example --package --project --target --suite --testsuite --group --spec " +
		"--testPathPattern --testPathPatterns --only --skip -skip --exclude --ignore --deselect --changed --onlyChanged --since --tags -tags")
	recursing = setOf("-r --recursive --workspaces -ws --all --run-many")
	// scripting are programs that run scripts and tasks by their names.
	scripting = setOf("npm pnpm yarn bun make gmake just task mise rake tox nox poe nx turbo gradle gradlew mvn mvnw composer lerna rush")
	// filtering are runners whose plain operands choose tests by their names.
	filtering = setOf("cargo jest vitest mocha")
	// running are words in front of the name of a script or task, and those that choose nothing.
	running = setOf("run run-script exec clean watch")
)

func setOf(words string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		set[w] = true
	}
	return set
}

// reader reads a command line: scopeOf, or a view's that reads each line once, since every failed run is held against all others.
type reader func(line string) scope

// scopeOf reads a command line.
func scopeOf(line string) scope {
	s := scope{programs: map[string]string{}, paths: targets(line)}
	for _, step := range shell.Steps(line) {
		if kind := kindOf([]shell.Step{step}); kind != "look" && kind != "" {
			s.add(step, kind)
		}
	}
	return s
}

// add reads a step that runs something of a kind.
func (s *scope) add(step shell.Step, kind string) {
	name, operands := within(step.Program())
	if verb, rest := shell.CutVerb(operands); runsAnother[name] && verb != "" {
		if name, operands = verb, rest; verb == "run" || verb == "exec" {
			name, operands = shell.CutVerb(rest)
		}
	}
	if strings.HasPrefix(name, "python") && len(operands) > 1 && operands[0] == "-m" {
		name, operands = operands[1], operands[2:]
	}
	if verb, rest := shell.CutVerb(operands); name == "go" && verb == "tool" {
		name, operands = shell.CutVerb(rest)
	}
	if name == "" { // the line is cut in front of it
		return
	}
	s.scripts = s.scripts || scripting[name]
	var plain []string
	inDirs := kind == "lint" && !scripting[name] || name == "pytest"
	for i := 0; i < len(operands); i++ {
		flag, value, given := strings.Cut(operands[i], "=")
		filter := flag == "-Dtest" || flag == "-Dit.test" || (narrowing[flag] || flag == "--filter") && !(flag == "-e" && name != "tox" && name != "rspec") && !(flag == "--filter" && scripting[name])
		switch {
		case recursing[flag]:
			s.every = true
		case !filter && !placing[flag]:
			valued := i > 0 && strings.HasPrefix(operands[i-1], "-") && !plainFlag.MatchString(operands[i-1])
			switch {
			case strings.HasPrefix(flag, "-"):
			case inDirs && dirWord.MatchString(flag) && !valued && !verbs[flag] && !running[flag]:
				s.paths = append(s.paths, flag)
			default:
				plain = append(plain, operands[i])
			}
			continue
		}
		if !given && (filter || placing[flag]) && i+1 < len(operands) {
			i++
			value = operands[i]
		}
		switch {
		case strings.Trim(value, "0123456789.") == "":
		case filter:
			s.filters = append(s.filters, flag+" "+value)
		case placing[flag]:
			s.places = append(s.places, strings.Trim(value, "./"))
		}
	}
	s.name(name, kind, plain)
}

// name records a program by its kind, with what its plain operands say that it runs.
func (s *scope) name(name, kind string, plain []string) {
	plain = slices.DeleteFunc(plain, func(w string) bool {
		return running[w] || pathLike(w) || strings.Trim(w, "./") == "" || strings.HasPrefix(w, "2>") || strings.Contains(w, "::")
	})
	key := kind + " " + name
	switch {
	case scripting[name]:
		if len(plain) > 1 && plain[0] == "workspace" { // of yarn
			s.places, plain = append(s.places, plain[1]), plain[2:]
		}
		script := plain
		if managesPackages[name] && len(plain) > 1 { // the others are the script's own
			script = plain[:1]
			for _, w := range plain[1:] {
				s.filters = append(s.filters, "only "+w)
			}
		}
		key += " " + strings.TrimSuffix(strings.Join(script, " "), ":fix") // what it can't mend, it reports as the other does
	case kind == "lint" && len(plain) > 0 && verbs[plain[0]]: // a formatter that passes says nothing of a linter
		key += " " + strings.TrimPrefix(plain[0], name)
	case filtering[name]:
		for _, w := range plain {
			if w != "test" && w != "nextest" && w != "build" && w != "check" {
				s.filters = append(s.filters, "only "+w)
			}
		}
	}
	s.programs[strings.TrimSpace(key)] = kind
}

var (
	// verbs are the subcommands of linters, and dirWord is any other word that may be one; plainFlag takes no value.
	verbs     = setOf("check format lint fix vet clippy ci fmt")
	dirWord   = regexp.MustCompile(`^\w[\w-]*$`)
	plainFlag = regexp.MustCompile(`^-[qvxsl]+$|=|^--(?:fix|quiet|verbose|strict|noEmit|no-\w+)$`)
)

var managesPackages = setOf("npm pnpm yarn bun")

// runsAnother are programs that run the one that they are given.
var runsAnother = setOf("npx bunx uv poetry hatch bundle pipenv pdm")

// shares reports whether two lines run the same program or script.
func (s scope) shares(b scope) bool {
	for program := range s.programs {
		if _, same := b.programs[program]; same {
			return true
		}
	}
	return false
}

// has reports whether all of a program's work is done by the programs of a scope: by itself, or, of a compiler, by the tests of what it
// compiles.
func (s scope) has(program, kind string) bool {
	if s.programs[program] == kind {
		return true
	}
	name, _, _ := strings.Cut(strings.TrimPrefix(program, "build "), " ")
	if kind != "build" || !compiling[name] {
		return false
	}
	for key := range s.programs {
		if rest, ok := strings.CutPrefix(key, "test "+name); ok && (rest == "" || rest[0] == ' ') || key == "lint go vet" && name == "go" || key == "lint cargo clippy" && name == "cargo" || key == "lint cargo check" && name == "cargo" {
			return true
		}
	}
	return false
}

// compiling are programs that compile what they test.
var compiling = setOf("go cargo dotnet swift mvn mvnw gradle gradlew")

// repeats reports whether a run does something of what another one does: it is of one of its kinds, or the same command, in the same
// place and on some of the same files and tests, or on all.
func (r Run) repeats(b Run, read reader) bool {
	if b.other() {
		return r.sameCommand(b)
	}
	if !slices.ContainsFunc(strings.Split(b.Kind, "+"), func(kind string) bool { return strings.Contains(r.Kind, kind) }) || !sameDir(r.Dir, b.Dir) {
		return false
	}
	on, of := read(r.Line), read(b.Line)
	apart := func(a, b []string) bool {
		return len(a) > 0 && len(b) > 0 && !slices.ContainsFunc(a, func(s string) bool { return slices.Contains(b, s) })
	}
	return !apart(on.paths, of.paths) && !apart(on.filters, of.filters) && !apart(on.places, of.places) && !otherScripts(on, of)
}

// otherScripts reports whether two lines run scripts by the same program, and none of the same name.
func otherScripts(a, b scope) bool {
	if !a.scripts || !b.scripts {
		return false
	}
	program := func(key string) string { return strings.Join(strings.Fields(key)[:2], " ") }
	same, apart := false, false
	for p := range a.programs {
		for q := range b.programs {
			same, apart = same || p == q, apart || program(p) == program(q)
		}
	}
	return apart && !same
}

// covers reports whether a run does all of what another one does: it has each of its kinds by the same program, in the same place, and
// is on each of its files and tests, or on all.
func (r Run) covers(b Run, read reader) bool {
	if b.other() {
		return r.sameCommand(b)
	}
	on, of := read(r.Line), read(b.Line)
	if !sameDir(r.Dir, b.Dir) && (of.scripts || r.Dir == "" || !strings.HasPrefix(b.Dir, r.Dir+"/")) {
		return false
	}
	for program, kind := range of.programs {
		if !on.has(program, kind) {
			return false
		}
	}
	if strings.HasSuffix(b.Line, "…") || len(of.programs) == 0 { // what is cut off is known by its kind
		for kind := range strings.SplitSeq(b.Kind, "+") {
			if !slices.Contains(strings.Split(r.Kind, "+"), kind) {
				return false
			}
		}
	}
	if !on.every && !slices.Equal(slices.Sorted(slices.Values(on.places)), slices.Sorted(slices.Values(of.places))) {
		return false
	}
	if !ofCompiler.MatchString(b.Error) && slices.ContainsFunc(on.filters, func(f string) bool { return !slices.Contains(of.filters, f) }) {
		return false
	}
	return len(on.paths) == 0 || len(of.paths) > 0 && !slices.ContainsFunc(of.paths, func(p string) bool {
		return !slices.ContainsFunc(on.paths, func(q string) bool { return p == q || strings.HasPrefix(p, q+"/") || strings.HasPrefix(p, q+"::") })
	})
}

// ofCompiler is an error of a compiler: whichever tests are chosen, all is compiled first.
var ofCompiler = regexp.MustCompile(`^(?:\S+: )?\W{0,4}[^\s:]+(?::\d+:\d+:? |\(\d+,\d+\): error)|^error\[E\d+\]|^error: could not compile|\[build failed\]`)

// sameDir reports whether two directories may be the same: one is unknown, or ends the other.
func sameDir(a, b string) bool {
	return a == "" || b == "" || a == b || strings.HasSuffix(a, "/"+b) || strings.HasSuffix(b, "/"+a)
}

// apart are the runs with the directory in front of those whose line was run in another one as well.
func apart(runs []Run) []Run {
	dirs := map[string][]string{}
	for _, r := range runs {
		if !slices.Contains(dirs[r.Line], r.Dir) && r.Dir != "" {
			dirs[r.Line] = append(dirs[r.Line], r.Dir)
		}
	}
	maps.DeleteFunc(dirs, func(_ string, all []string) bool {
		return !slices.ContainsFunc(all, func(dir string) bool { return !sameDir(dir, all[0]) })
	})
	if len(dirs) == 0 {
		return runs
	}
	runs = slices.Clone(runs)
	for i, r := range runs {
		if r.Dir != "" && len(dirs[r.Line]) > 0 {
			runs[i].Line = "cd " + base(r.Dir) + " && " + r.Line
		}
	}
	return runs
}

// sameCommand reports whether a run that has no kind does what another one does: the same program with the same subcommand; or the
// same line without what runs it.
func (r Run) sameCommand(b Run) bool {
	return sameDir(r.Dir, b.Dir) && (strings.HasSuffix(b.Line, " "+r.Line) || r.Kind == b.Kind && commandOf(r.Line) == commandOf(b.Line))
}

// nested are programs whose subcommands have subcommands, and subcommands that have some.
var nested = setOf("gh glab aws gcloud az compose run exec rollout stash remote worktree submodule")

// commandOf returns the program that a line runs at last with its subcommands.
func commandOf(line string) (command string) {
	for _, s := range shell.Steps(line) {
		name, rest := s.Program()
		if s.Op == "|" || name == "" || name == "echo" || name == "true" || name == "sleep" {
			continue
		}
		verb, rest := shell.CutVerb(rest)
		command = name + " " + verb
		if nested[name] || nested[verb] {
			command += " " + shell.Verb(rest)
		}
	}
	return command
}

// targets returns the files and directories that a line names, without "./" and "/..."; none if one of them is all there is. A test of
// a file stands behind it and "::".
func targets(line string) (paths []string) {
	words := strings.Fields(line)
	for i, p := range words {
		if i > 0 && words[i-1] == "cd" {
			continue
		}
		if m := placeInFile.FindStringSubmatch(p); m != nil {
			p = m[1] + "::" + m[2]
		}
		local := strings.HasPrefix(p, "./") || strings.HasSuffix(p, "/...")
		ofPackage := len(p) > 1 && p[0] == '@' && p[1] != '/'
		if ofPackage || !local && !pathLike(p) && !(strings.Contains(p, "::") && (strings.Contains(p, "/") || strings.Contains(p, ".py:"))) {
			continue
		}
		p = strings.TrimPrefix(strings.TrimSuffix(strings.TrimSuffix(p, "..."), "/"), "./")
		if p == "" || p == "." {
			return nil
		}
		paths = append(paths, p)
	}
	return paths
}

// placeInFile is a line of a file, as runners take one for the test that stands there: spec/tide_spec.rb:12.
var placeInFile = regexp.MustCompile(`^([\w@~./+-]+\.\w{1,8}):(\d+)$`)
