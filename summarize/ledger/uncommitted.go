package ledger

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"precis/summarize/lex"
	"precis/summarize/shell"
)

var (
	// untrackedLine is a file that is new to git in the short form of git status, untrackedList the list of them in the long one.
	untrackedLine = regexp.MustCompile(`(?m)^\?\? (\S+)$`)
	untrackedList = regexp.MustCompile(`(?m)^Untracked files:\n(?:  \([^\n]*\)\n)?((?:\t[^\n]+\n?)+)`)
	// cleanTree is how git says that nothing is changed, and onlyBranch the short form of that.
	cleanTree  = regexp.MustCompile(`(?m)^nothing to commit, working (?:tree|directory) clean`)
	onlyBranch = regexp.MustCompile(`\A(?:## [^\n]*\s*)?\z`)
)

// newFile stands before the path of a file that is new to git.
const newFile = "?? "

// moreFiles stands before the number of files for which there was no room.
const moreFiles = "?+ "

// These texts replace what git status told once it no longer holds. After treeMoved, the last commit may still say what is uncommitted; after
// treeUnknown, nothing does.
const treeMoved, treeUnknown = "moved", "unknown"

var (
	// gitTools is in the names of tools that may change what is uncommitted.
	gitTools = regexp.MustCompile(`(?i)commit|git_?(?:stash|reset|checkout|restore|clean|pull|merge|rebase)`)
	// printedCommit is how git says that it made one.
	printedCommit = regexp.MustCompile(`(?m)^\[[^\s\]]+(?: [^\s\]]+)?(?: \(root-commit\))? [0-9a-f]{7,40}\] `)
	// endsStatus are the commands of git behind which what it told of the tree may hold no longer.
	endsStatus = setOf("commit stash reset checkout switch restore clean pull merge rebase cherry-pick revert am apply")
	// elsewhereOf are the options, and onRepository the variables, by which git works on another tree.
	elsewhereOf  = regexp.MustCompile(`^(?:-C|--git-dir|--work-tree)(?:=|$)`)
	onRepository = regexp.MustCompile(`\bGIT_(?:DIR|WORK_TREE)=`)
	// hidesNew are options of git status by which it doesn't tell of all files.
	hidesNew = regexp.MustCompile(`^(?:-\w*uno|-u=?no|--untracked-files=no|--untracked-files|-u)$`)
)

// wholeTree reports whether a git status, with these operands of git, is of the whole tree of the thread.
func wholeTree(line string, operands []string) bool {
	if onRepository.MatchString(line) {
		return false
	}
	status := false
	for i := 0; i < len(operands); i++ {
		switch w := operands[i]; {
		case elsewhereOf.MatchString(w), status && hidesNew.MatchString(w):
			return false
		case w == "-c" && !status:
			if i++; i < len(operands) && strings.Contains(strings.ToLower(operands[i]), "untracked") {
				return false
			}
		case strings.HasPrefix(w, "-") && w != "--", strings.ContainsAny(w, "<>&"):
		case !status:
			status = true // the verb
		default:
			return false // a part
		}
	}
	return status
}

// moves notes that what git status told no longer holds.
func (c *collector) moves(at uint64, tool, line, printed string) {
	as := ""
	if line != "" && strings.Contains(line, "git") {
		for _, s := range shell.Flat(shell.Steps(line)) {
			name, rest := s.Program()
			verb, args := shell.CutVerb(rest)
			sub, _ := shell.CutVerb(args)
			switch {
			case name != "git" || !endsStatus[verb] || verb == "stash" && (sub == "list" || sub == "show"):
			case verb == "stash" && sub != "pop" && sub != "apply":
				as = treeUnknown
			default:
				as = cmp.Or(as, treeMoved)
			}
		}
	}
	if line == "" && gitTools.MatchString(tool) || line != "" && as == "" && printedCommit.MatchString(printed) {
		as = treeUnknown
	}
	if as != "" && c.tree.Text != treeUnknown {
		c.tree.Text = as
	}
	if as != "" {
		c.tree = Note{Text: c.tree.Text, Rank: tree, First: at, Last: at}
	}
}

// status records what git status tells of the whole working tree: the directory, and a line for each changed file.
func (c *collector) status(at uint64, line, dir, text string) {
	var paths []string
	for _, m := range statusLine.FindAllStringSubmatch(text, -1) {
		paths = append(paths, m[1]+m[2])
	}
	for _, m := range statusGone.FindAllStringSubmatch(text, -1) {
		paths = append(paths, m[1]+m[3])
	}
	for _, m := range untrackedLine.FindAllStringSubmatch(text, -1) {
		paths = append(paths, newFile+m[1])
	}
	for _, list := range untrackedList.FindAllStringSubmatch(text, 1) {
		for name := range strings.SplitSeq(strings.TrimSpace(list[1]), "\n") {
			paths = append(paths, newFile+strings.TrimSpace(name))
		}
	}
	if len(paths) == 0 && !cleanTree.MatchString(text) && !(len(shell.Steps(line)) == 1 && onlyBranch.MatchString(strings.Join(outputOf(text, nil), "\n"))) {
		return // it may be of a part, or of something else
	}
	told := Note{Text: dir, Rank: tree, First: at, Last: at}
	for i, p := range paths {
		if slices.Contains(paths[:i], p) || strings.Contains(p, "…/") || strings.HasPrefix(p, "...") {
			continue
		}
		if len(told.Text)+len(p) > maxEvent {
			told.Text += "\n" + moreFiles + strconv.Itoa(len(paths)-i)
			break
		}
		told.Text += "\n" + strings.ToValidUTF8(p, "")
	}
	c.tree = told
}

// onlyNewest leaves of the notes of what git status told only the newest one.
func onlyNewest(events []Note) []Note {
	var last Note
	for _, e := range events {
		if e.Rank == tree && e.Last >= last.Last {
			last = e
		}
	}
	return slices.DeleteFunc(slices.Clone(events), func(e Note) bool { return e.Rank == tree && e.Last != last.Last })
}

// uncommitted names the files with uncommitted changes: those in the newest git status and those edited since; without a git status, those
// edited since the last commit.
func (v *view) uncommitted() string {
	commit := uint64(0)
	for _, n := range v.l.Commits {
		if !strings.HasPrefix(n.Text, "pushed ") && !strings.HasPrefix(n.Text, "opened ") {
			commit = max(commit, n.Last)
		}
	}
	if told := v.eventsOf(tree, 0); len(told) > 0 {
		switch last := told[len(told)-1]; {
		case last.Text == treeMoved:
		case last.Text == treeUnknown && last.Last > commit:
			return ""
		case last.Text != treeUnknown && last.Last >= commit && !v.movedTree(last.Last):
			return v.asTreeTold(last)
		}
	}
	if names := v.editedAfter(commit); commit > 0 && names != "" {
		return "- edited since the last commit: " + names
	}
	return ""
}

// movedTree reports whether a command of git may have changed what it tells of the working tree since a message.
func (v *view) movedTree(at uint64) bool {
	moved := func(e Note) bool { return !strings.HasPrefix(e.Text, "done: git push") }
	for _, kind := range []int{discarded, rewrote, settled} {
		if slices.ContainsFunc(v.eventsOf(kind, at), moved) {
			return true
		}
	}
	return false
}

// editedAfter names the files that were written since a message and not put back, without those that git does not keep.
func (v *view) editedAfter(at uint64) string {
	const most = 4
	return v.names(at, v.l.To+1, most, func(path string) bool {
		return !ofTools.MatchString(path) && !strings.Contains("/"+path, "/.git/") && !v.undone(v.fileOf(path))
	})
}

// asTreeTold names the files that a git status lists, if it is of the tree in which the thread's files are. Of untracked files it names only
// those that the assistant wrote.
func (v *view) asTreeTold(told Note) string {
	const most = 5
	dir, list, _ := strings.Cut(told.Text, "\n")
	written := func(f File) bool { return f.Written > 0 && !f.gone() }
	here := dir == "" || slices.ContainsFunc(v.files, func(f File) bool {
		return written(f) && (f.Path[0] != '/' || strings.HasPrefix(f.Path, dir+"/"))
	})
	var names []string
	all := map[string]bool{} // the files that were changed, and whether git told them
	for _, f := range v.files {
		if written(f) && !temporary.MatchString(f.Path) && !ofTools.MatchString(f.Path) && !v.undone(f) {
			all[f.Path] = len(f.Changed) > 0 && f.Changed[0] > told.Last
		}
	}
	further := 0
	for line := range strings.SplitSeq(list, "\n") {
		if n, isMore := strings.CutPrefix(line, moreFiles); isMore {
			further, _ = strconv.Atoi(n)
			continue
		}
		path, isNew := strings.CutPrefix(line, newFile)
		for strings.HasPrefix(path, "../") {
			path = path[3:]
		}
		in, known := strings.Trim(path, "/"), false
		for p := range all {
			if in != "" && (p == in || strings.HasSuffix(p, "/"+in) || isNew && strings.Contains("/"+p+"/", "/"+in+"/")) { // it may be a directory
				all[p], known = true, true
			}
		}
		if known || in != "" && !isNew {
			names = append(names, base(in))
		}
	}
	since := v.editedAfter(told.Last)
	ago := ""
	if n := v.l.To - told.Last; n > longAgo && v.asked(told.Last, v.l.To+1) {
		ago = fmt.Sprintf(", told %d messages before", n)
	}
	whole := len(all) > 1
	for _, is := range all {
		whole = whole && is
	}
	switch more := max(0, len(names)-most) + further; {
	case !here:
		return ""
	case whole && len(names) > 0:
		return "- uncommitted (git status" + ago + "): all that was changed"
	case len(names) == 0 && list != "":
		return "" // others' files
	case len(names) == 0 && since == "":
		return "- nothing uncommitted (git status" + ago + ")"
	case len(names) == 0:
		return "- edited since git status told no change: " + since
	case more > 0:
		names = append(slices.Clone(names[:min(len(names), most)]), fmt.Sprintf("+%d more", more))
	}
	line := "- uncommitted (git status" + ago + "): " + strings.Join(names, ", ")
	if since != "" {
		line += "; edited since: " + since
	}
	return lex.Clip(line, maxDecision)
}
