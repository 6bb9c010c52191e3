package ledger

import (
	"regexp"
	"slices"
	"strings"

	"precis/summarize/lex"
	"precis/summarize/shell"
)

// Kinds of events, the ranks of their notes: what happens later and takes something back or settles it.
const (
	discarded    = iota + 1 // a command threw uncommitted work away
	rewrote                 // a command replaced commits: their hashes are no longer those of the work
	retracted               // the assistant took back what it said before
	claimed                 // the assistant says that runs succeed
	settled                 // a command of git succeeded that ends an operation which had stopped
	reported                // the result of a call says what was accomplished
	foreign                 // the assistant says that an error is not of its work
	confirmed               // the user says that what the assistant said is what was sought, or helps
	removed                 // git reports that a branch was deleted, here or on a remote
	putBack                 // the assistant says that a file is as it was in the beginning
	staged                  // files were added to the next commit
	unstaged                // what was added to the next commit may not be any more
	ready                   // a pull request that was a draft is ready
	tree                    // git status told which files are changed
	answeredElse            // the user, asked by a tool, answered something else than that it is so
	elsewhen                // the user said something that is not among the messages
)

var (
	// corrects begins a sentence that takes back what was said, and mistaken says so wherever it stands.
	corrects = regexp.MustCompile(`(?i)^(?:(?:oh|hm+|no|ah|wait|sorry)\W+)*(?:actually|wait|correction|on second thought)\b\W*`)
	mistaken = regexp.MustCompile(`(?i)\b(?:(?:i|that|this|it|my \w+|the (?:earlier|previous|first) \w+) (?:was|were) (?:wrong|mistaken|incorrect|misleading|premature)|(?:is|was)(?:n['’]t| not) (?:actually |really )?(?:the (?:real |actual |root )?(?:issue|problem|cause|bug|reason|culprit))|(?:must|has to|have to) be (?:\w+ ){0,3}something else|^(?:no, |so )?that['’]s not it\b|more fundamental|not simply|not .{1,40} after all|i (?:misread|misunderstood|overlooked|got (?:it|that|this) wrong)|(?:do|does)(?:n['’]t| not) hold|contrary to what i)\b`)
	// yields begins a message in which the assistant grants that it was not right, or looks closer at what it said.
	yields = regexp.MustCompile(`(?i)^\W*(?:(?:yes|no|ah|oh|hm+|sorry|exactly)\W+)*(?:you['’]re (?:absolutely |totally |completely )?(?:right|correct)|good (?:catch|question|point)|great (?:catch|question|point)|fair point|i was (?:wrong|mistaken|(?:being )?imprecise)|my mistake|i (?:misread|misunderstood))`)
	// turnsOut is in a statement of what was seen in the end.
	turnsOut = regexp.MustCompile(`(?i)\bturn(?:s|ed) out\b|\bdecided\b`)
	// wiped says that work is gone and has to be done again.
	wiped = regexp.MustCompile(`(?i)\b(?:(?:changes|work|edits|modifications|files?|tests|implementation|stash) (?:(?:were|was|are|is|have been|has been|got|is all|are all) )(?:all )?(?:now )?(?:lost|gone|wiped|discarded|overwritten|reverted)|lost (?:all|my|our|the) (?:\w+ ){0,2}(?:changes|work|edits)|(?:need|have|going) to (?:re-?implement|redo|re-?create|re-?apply|rewrite everything))\b`)
	// everyTime begins a sentence about what happens every time.
	everyTime = regexp.MustCompile(`(?i)^(?:(?:so|but|and|then)\b,? )?(?:if|when(?:ever)?|once|unless|until|after|before|each time|every time)\b`)
	// wipedAll says so of all that was not committed.
	wipedAll = regexp.MustCompile(`(?i)\ball (?:of )?(?:(?:my|our|the|these) )?(?:\w+ ){0,2}(?:changes|work|edits|modifications|files|fixes) (?:(?:were|was|are|is|have been|has been|got) )(?:all )?(?:now )?(?:lost|gone|wiped|discarded|overwritten|reverted)\b|\blost all (?:my|our|the)\b`)
	// unrelated says that an error was there before, or is of another's work.
	unrelated = regexp.MustCompile(`(?i)\bpre-?existing\b|\b(?:existed|were there|was there|present|fail(?:s|ed|ing)?) (?:already |also )?(?:before|on (?:the )?(?:main|master|base))\b|\bnot (?:from|caused by|related to|due to|introduced by) (?:my|our|the|this|these) (?:\w+ ){0,2}(?:changes?|edits?|work)\b|\bunrelated (?:to (?:my|our|the|this|these)|(?:\w+ )?(?:failures?|errors?|issues?|tests?|warnings?))\b`)
	// succeeds is what an assistant says of runs that it takes for good.
	succeeds = regexp.MustCompile(`(?i)\b(?:tests?|suites?|specs?|lint(?:er|ing)?|build|checks?|types?|code|project|everything|it) (?:(?:now|all|is|are|still|again) )*(?:(?:pass(?:es|ed|ing)?|compiles?|builds?|succeed(?:s|ed)?)\b|(?:green|clean)(?:[.,;:!)]|$| (?:now|again|and|too)\b))`)
	// asBefore says that something is as it was before the work.
	asBefore = regexp.MustCompile(`(?i)\b(?:is|are|was|were|have been|has been|now|actually)\b.{0,20}\b(?:reverted|restored|put|set|rolled|identical) (?:back )?to (?:the|its|their) (?:original|initial)\b`)
	// unsure is in a sentence that asks or wishes that.
	unsure = regexp.MustCompile(`(?i)\b(?:if|whether|until|once|when|should|would|could|let me|let['’]s|i['’]ll|check|verify|not)\b|n['’]t\b|\?`)
	// doubtful is in a sentence about success that does not claim it.
	doubtful = regexp.MustCompile(`(?i)\b(?:if|whether|until|once|when|should|would|could|verify|make sure|ensure|check that|not|to|so that|but|except|only|except|some|\d+ (?:failed|failing))\b|n['’]t\b|\?`)
	// elsewhere is a directory for temporary files, in which commands try something.
	elsewhere = regexp.MustCompile(`\bcd\s+["']?(?:/private)?(?:/tmp\b|/var/folders\b|/var/tmp\b|\$\(mktemp|\$\{?TMP)|\bmktemp\s+-d\b[^\n]*\n?.*\bcd\b`)
	// standing is how git reports the branch that it is on.
	standing = regexp.MustCompile(`(?m)^(?:Switched to (?:a new )?branch '([^'\n]+)'|Already on '([^'\n]+)'|(?:# )?On branch (\S+)$|## ([\w/-][\w./-]*?)(?:\.\.\.\S.*)?$)`)
	// shortStatus is the command whose output has the branch in a line that a heading could be as well.
	shortStatus = regexp.MustCompile(`\bgit\b[^|;&\n]* status\b[^|;&\n]* -(?:-branch|\w*b)`)
)

// maxEvent bounds a command that is kept for what it does, maxShown one that is told.
const maxEvent, maxShown = 600, 80

// history records what a command does to the work that git keeps: the branch that it changes to, what it throws away.
func (c *collector) history(at uint64, steps []shell.Step, end outcome) {
	if end.refused || end.failed() {
		return
	}
	for _, s := range steps {
		name, rest := s.Program()
		if name != "git" {
			continue
		}
		verb, args := shell.CutVerb(rest)
		shown := lex.Clip(oneLine("git "+strings.Join(rest, " ")), maxEvent) // with all its operands, as a rule
		has := func(flags ...string) bool {
			return slices.ContainsFunc(args, func(w string) bool { return slices.Contains(flags, w) })
		}
		others := slices.DeleteFunc(slices.Clone(args), func(w string) bool { return strings.HasPrefix(w, "-") || strings.ContainsAny(w, "<>|") })
		switch verb {
		case "checkout", "switch":
			paths := verb == "checkout" && (has("--", ".") || slices.ContainsFunc(others, func(w string) bool { return fileName.MatchString(w) }))
			switch {
			case paths || has("-f", "--force", "--discard-changes"):
				c.note(&c.events, shown, discarded, at)
			case len(others) == 1 && !has("-b", "-B", "-c", "-C", "--detach", "-d", "--orphan", "-p") && branchName.MatchString(others[0]):
				c.note(&c.branches, others[0], 0, at)
			}
		case "add", "stage":
			if !has("-n", "--dry-run") {
				c.note(&c.events, shown, staged, at)
			}
		case "restore":
			if !has("--staged", "-S") || has("--worktree", "-W") {
				c.note(&c.events, shown, discarded, at)
			} else {
				c.note(&c.events, shown, unstaged, at)
			}
		case "clean":
			if !has("-n", "--dry-run") {
				c.note(&c.events, shown, discarded, at)
			}
		case "reset":
			if has("--hard") {
				c.note(&c.events, shown, discarded, at)
			}
			if !has("--soft") {
				c.note(&c.events, shown, unstaged, at)
			}
			if slices.ContainsFunc(others, func(w string) bool { return strings.ContainsAny(w, "~^@") || strings.HasPrefix(w, "origin/") }) {
				c.note(&c.events, shown, rewrote, at)
			}
		case "stash":
			c.stash(at, shown, args)
		case "rebase":
			if !has("--abort", "--quit") {
				c.note(&c.events, shown, rewrote, at)
			}
		case "commit":
			c.note(&c.events, "git commit", unstaged, at)
			if has("--amend") {
				c.note(&c.events, shown, rewrote, at)
			}
		case "pull":
			if has("--rebase", "-r") {
				c.note(&c.events, shown, rewrote, at)
			}
		}
		switch verb {
		case "commit", "rebase", "merge", "pull", "push", "reset", "cherry-pick", "checkout", "switch":
			if end.end != "" {
				c.note(&c.events, "done: "+shown, settled, at)
			}
		}
	}
}

// stash records what git stash does.
func (c *collector) stash(at uint64, shown string, args []string) {
	switch sub, _ := shell.CutVerb(args); sub {
	case "", "push", "save":
		c.stashed = true
		c.note(&c.events, shown, unstaged, at)
	case "pop", "apply":
		c.stashed = false
	case "drop", "clear":
		if c.stashed {
			c.note(&c.events, shown, discarded, at)
		}
	}
}

var (
	fileName   = regexp.MustCompile(`^[\w@~./-]*\.[A-Za-z]\w{0,7}$`)
	branchName = regexp.MustCompile(`^[A-Za-z][\w./-]*$`)
)

// onBranch records the branch that git reports last.
func (c *collector) onBranch(at uint64, line, text string) {
	all := standing.FindAllStringSubmatch(text[:min(len(text), maxScan)], -1)
	if len(all) == 0 {
		if name := bareBranch(line, text); name != "" {
			c.note(&c.branches, name, 0, at)
		}
		return
	}
	m := all[len(all)-1]
	if name := m[1] + m[2] + m[3] + m[4]; name != "HEAD" && (m[4] == "" || shortStatus.MatchString(line)) {
		c.note(&c.branches, name, 0, at)
	}
}

// marked is the branch that git branch marks as the current one.
var marked = regexp.MustCompile(`(?m)^\* ([\w./-]+)(?: .*)?$`)

// bareBranch returns the branch that git prints alone, as the first or only thing that a line shows, or marks in a list.
func bareBranch(line, text string) string {
	shown := 0 // how many commands in front of it print something
	steps := shell.Steps(line)
	for i, s := range steps {
		name, rest := s.Program()
		verb, args := shell.CutVerb(rest)
		asks := verb == "branch" && slices.Contains(args, "--show-current") || verb == "rev-parse" && slices.Contains(args, "--abbrev-ref") && slices.Contains(args, "HEAD")
		switch {
		case name == "cd" || name == "git" && (verb == "fetch" || verb == "add"):
			continue
		case name == "git" && asks && s.Op != "|" && (i+1 == len(steps) || steps[i+1].Op != "|"):
			lines := outputOf(text, nil)
			if (shown == 0 || i+1 == len(steps) && len(lines) == 1) && len(lines) > 0 && branchName.MatchString(lines[0]) && lines[0] != "HEAD" {
				return lines[0]
			}
			return ""
		case name == "git" && verb == "branch" && !slices.ContainsFunc(args, func(w string) bool { return !strings.HasPrefix(w, "-") }):
			if m := marked.FindStringSubmatch(text); m != nil {
				return m[1]
			}
		}
		shown++
	}
	return ""
}

// takenBack records what the assistant says of its earlier statements and of runs. It returns the sentence as it states what
// holds instead, or nothing.
func (c *collector) takenBack(s string, as place, at uint64) (instead string, rank int) {
	if wiped.MatchString(s) && as != hanging && !everyTime.MatchString(s) {
		if wipedAll.MatchString(s) && !guesses(s) && !strings.HasPrefix(s, "If ") {
			c.note(&c.events, "“"+lex.Clip(s, 80)+"”", discarded, at)
		}
		return s, 3
	}
	if unrelated.MatchString(s) && !announcing.MatchString(s) && !strings.Contains(s, "whether") && !strings.HasSuffix(s, "?") {
		c.note(&c.events, lex.Clip(s, maxInstruction), foreign, at)
	}
	if succeeds.MatchString(s) && !doubtful.MatchString(s) {
		c.note(&c.events, lex.Clip(s, maxInstruction), claimed, at)
	}
	if asBefore.MatchString(s) && !unsure.MatchString(s) {
		for _, name := range namedFile.FindAllString(s, 4) {
			c.note(&c.events, name, putBack, at)
		}
	}
	rest := corrects.ReplaceAllString(s, "")
	switch {
	case mistaken.MatchString(s):
	case as != inText: // "Actually use it" is one of several ways
		return "", none
	case rest == s || rest == "" || announcing.MatchString(rest) || strings.HasSuffix(s, "?"):
		return "", none
	}
	c.note(&c.events, lex.Clip(s, maxDecision), retracted, at)
	if len(strings.Fields(rest)) < 6 || announcing.MatchString(rest) || vague.MatchString(rest) {
		return "", none
	}
	return rest, 2
}
