package ledger

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"precis/summarize/shell"
	"precis/summarize/verdict"
)

var (
	// statusLine is a changed file in the output of git status, in both forms, and in git diff --stat and --name-status.
	statusLine = regexp.MustCompile(`(?m)^(?:[ MAR][MA] |[MAR] +|[MA]\t|\t(?:modified|new file|both modified): +)(\S+)$|^ (\S+) +\| +\d+ [-+]+$`)
	// changing is a heading over files that a report says were changed, or a line that names one.
	changing = regexp.MustCompile(`(?i)^\W*(?:(?:new |key )?files? (?:i )?(?:that were )?(?:modified|changed|created|added|updated|edited|written)\b|(?:modified|changed|created|updated|new|edited) files?\b|(?:modified|created|updated|edited|wrote|changed|added) \W?[\w./-]*\w\.\w)`)
	// namedFile is a file in a line of a report.
	namedFile = regexp.MustCompile(`[\w@.~-]*(?:/[\w@.-]+)*\w\.[A-Za-z]\w{0,7}\b`)
)

var (
	// nextCommit is in the output of git status where something is staged.
	nextCommit = regexp.MustCompile(`(?m)^(?:[MADRCT][ MDT] \S|Changes to be committed)`)
	// statusGone is a deleted or a renamed file in the output of git status.
	statusGone = regexp.MustCompile(`(?m)^(?:D[ D]| D|\tdeleted:) +(\S+)$|^(?:R[ MD]|\trenamed:) +(\S+) -> (\S+)$`)
	// removedFile is one in that of git rm, and byCommit one in that of git commit.
	removedFile = regexp.MustCompile(`(?m)^rm '([^'\n]+)'$`)
	byCommit    = regexp.MustCompile(`(?m)^ (?:delete mode \d{6} (\S+)|rename ([^\s{}]+) => ([^\s{}]+) \(\d+%\)|rename (\S*)\{(\S*) => (\S*)\}(\S*) \(\d+%\))$`)
)

// makes is how commands say that they wrote a file, with its path behind it at the end of the line.
var makes = regexp.MustCompile(`(?i)(?:^|[^\w-])(?:generated|wrote|written|created|saved|emitted|exported|generad[oa]s?|escrit[oa]s?|cread[oa]s?|guardad[oa]s?|gerado|erzeugt|geschrieben|généré|écrit)\b[^\n/]{0,40}?[\s"'` + "`" + `(:]((?:[~.]{0,2}/)?[\w@.-]+(?:/[\w@.-]+)*\.[A-Za-z]\w{0,7})["'` + "`" + `]?[.)]?(?: \([^()\n]{0,40}\))?\s*$`)

var (
	// notMade is in a line that says that something was not written, or would be, and sourced between the verb and a path from which it was.
	notMade = regexp.MustCompile(`(?i)\b(?:not?|nothing|never|none|neither|without|cannot|would|could|should|will|dry|fail(?:s|ed|ure)?|skip(?:s|ped|ping)?|unable|error|nicht|kein\w*|pas|aucun\w*|sin|ningún|nada|não|nenhum\w*)\b|n['’]t\b`)
	sourced = regexp.MustCompile(`(?i)\b(?:from|by|using|with|via|out of|based on|desde|por|aus|von|depuis|par)\b`)
)

// made records the files that a command says that it wrote, the first few, without what builds put out.
func (c *collector) made(at uint64, text string) {
	const most, long = 12, 400
	n := 0
	for line := range strings.SplitSeq(head(text, maxScan), "\n") {
		if n == most || len(line) > long || !strings.Contains(line, "/") {
			continue
		}
		found := makes.FindStringSubmatchIndex(line)
		if found == nil || sourced.MatchString(line[found[0]:found[2]]) || notMade.MatchString(line[:found[2]]) || notMade.MatchString(line[found[3]:]) {
			continue
		}
		path := strings.TrimPrefix(line[found[2]:found[3]], "./")
		built := slices.ContainsFunc(strings.Split(path, "/"), func(dir string) bool { return outputs.MatchString(dir) })
		if strings.Contains(path, "/") && pathLike(path) && fileName.MatchString(path) && !built && !strings.Contains(line, "://") && !temporary.MatchString(path) {
			n++
			put(&c.files, path, File{Path: path, Made: at, Touched: at}, (*File).join)
		}
	}
}

// ends records the files that a commit tells as deleted or renamed.
func (c *collector) ends(at uint64, text string) {
	for _, m := range byCommit.FindAllStringSubmatch(text, 60) {
		old, now := m[1]+m[2], m[3]
		if m[1]+m[2] == "" {
			old, now = strings.ReplaceAll(m[4]+m[5]+m[7], "//", "/"), strings.ReplaceAll(m[4]+m[6]+m[7], "//", "/")
		}
		c.leave(at, old, now)
		if now != "" {
			c.tell(at, now, 0)
		}
	}
}

// changedOtherwise records the files that git tells as changed in the working tree, or that are added to a commit: others may have
// written them, as agents do to which work was handed.
func (c *collector) changedOtherwise(at uint64, line, dir, text string) {
	if !strings.Contains(line, "git ") || len(text) > maxScan {
		return
	}
	steps := shell.Steps(line)
	for i, s := range steps {
		name, rest := s.Program()
		verb, args := shell.CutVerb(rest)
		if name != "git" {
			continue
		}
		paths := operands(args)
		if filtered := i+1 < len(steps) && steps[i+1].Op == "|"; verb == "status" && wholeTree(line, rest) && !filtered && !strings.Contains(text, "fatal:") {
			if !slices.ContainsFunc(steps[i+1:], mayChange) {
				c.status(at, line, dir, text)
			}
			if !nextCommit.MatchString(text) {
				c.note(&c.events, "git status", unstaged, at) // others may have made the commit
			}
		}
		switch {
		case verb == "add" || verb == "stage":
			for _, p := range paths {
				c.tell(at, p, at)
			}
		case verb == "status", verb == "diff" && len(paths) == 0 && !slices.ContainsFunc(args, func(w string) bool { return !strings.HasPrefix(w, "-") }):
			for _, m := range statusLine.FindAllStringSubmatch(text, 60) {
				c.tell(at, m[1]+m[2], at)
			}
			for _, m := range statusGone.FindAllStringSubmatch(text, 60) {
				c.leave(at, m[1]+m[2], m[3])
			}
		case verb == "rm" && !slices.Contains(args, "--cached"):
			for _, m := range removedFile.FindAllStringSubmatch(text, 60) {
				c.leave(at, m[1], "")
			}
		}
	}
}

// reportedFiles records the files that the report of another agent lists as changed.
func (c *collector) reportedFiles(at uint64, report string) {
	listed := false
	for line := range strings.SplitSeq(report, "\n") {
		item := itemMark.MatchString(line) && !strings.HasPrefix(line, "#")
		switch {
		case changing.MatchString(line):
			listed = true
		case strings.TrimSpace(line) != "" && !item && !strings.HasPrefix(line, "|"):
			listed = false
		}
		if name := namedFile.FindString(line); listed && name != "" && strings.Contains(name, "/") {
			c.tell(at, name, 0)
		}
	}
}

// movesTree are the commands of git that may change files in the working tree.
var movesTree = setOf("checkout switch restore reset pull merge rebase cherry-pick revert stash apply am clean mv rm worktree submodule commit")

// mayChange reports whether a step may change files that it does not name: anything that is neither a look nor a run of tests, linter
// or build.
func mayChange(s shell.Step) bool {
	name, rest := s.Program()
	if name == "git" {
		return movesTree[shell.Verb(rest)]
	}
	one := []shell.Step{s}
	return kindOf(one) == "" && !looks(one) && !verdict.Shows(s)
}

// acts records the first call that may have changed files.
func (c *collector) acts(at uint64) { c.acted = cmp.Or(c.acted, at) }

// tell records a file that others changed; dirty is when git told so, if it did.
func (c *collector) tell(at uint64, path string, dirty uint64) {
	for strings.HasPrefix(path, "../") {
		path = path[3:] // together finds which file it ends
	}
	if pathLike(path) && !strings.HasPrefix(path, "...") && fileName.MatchString(path) && !temporary.MatchString(path) && !c.away {
		put(&c.files, path, File{Path: path, Told: at, Dirty: dirty, Touched: at}, (*File).join)
	}
}
