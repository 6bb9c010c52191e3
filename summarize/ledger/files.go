package ledger

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"precis/summarize/verdict"
)

// What a tool does with its file, inferred from its name: agents name their tools in a few ways
// (Write, write_file, str_replace_editor, fs.edit, apply_patch, NotebookEdit, mcp__files__create_file).
var (
	writes  = regexp.MustCompile(`(?i)write|edit|create|replace|patch|insert|append|save|update|modify`)
	creates = regexp.MustCompile(`(?i)create`)
	deletes = regexp.MustCompile(`(?i)delete|remove|unlink`)
	reads   = regexp.MustCompile(`(?i)read|open|view|cat|show|load|fetch|get`)
)

// pathNames are the arguments that name the file, most reliable first.
var pathNames = []string{
	"file_path", "path", "filename", "file", "filepath", "file_name", "notebook_path", "target_file",
	"relative_path", "absolute_path", "relative_workspace_path",
}

// partly is in the name of a tool, or of its command, that writes a part of a file.
var partly = regexp.MustCompile(`(?i)edit|replace|patch|insert|append|modify|update`)

// Tools that give a file another path, and their arguments.
var (
	moves     = regexp.MustCompile(`(?i)(?:^|_)(?:move|rename|mv)(?:_?(?:file|path|files))?$`)
	fromNames = []string{"source", "src", "from", "source_path", "old_path", "from_path", "path"}
	toNames   = []string{"destination", "dest", "dst", "to", "target", "destination_path", "new_path", "to_path", "target_path"}
)

// move records that a file has another path now.
func (c *collector) move(at uint64, from, to string, end outcome) {
	c.to = to
	c.file(at, from, opDelete, end)
	c.file(at, to, opCreate, end)
}

// fileCall records a call of a file tool; it returns false for any other tool.
func (c *collector) fileCall(at uint64, tool string, op op, args arguments, end outcome) bool {
	if from, to := args.text(fromNames...), args.text(toNames...); moves.MatchString(tool) && pathLike(from) && pathLike(to) {
		c.move(at, from, to, end)
		return true
	}
	patched := c.patches(at, args, end)
	path := args.text(pathNames...)
	if path == "" || strings.ContainsAny(path, "\n*") || len(path) > 512 {
		return patched
	}
	if op == opNone {
		return patched
	}
	if op != opWrite && op != opCreate {
		c.file(at, path, op, end)
		return true
	}
	if undoes.MatchString(tool + " " + args.text("command", "action", "mode", "operation")) {
		c.undo(at, path, end)
		return true
	}
	var news, olds []string
	args.strings(func(name, s string) {
		switch {
		case strings.HasPrefix(strings.ToLower(name), "old"):
			olds = append(olds, s)
		case !slices.Contains(pathNames, name):
			news = append(news, s)
		}
	})
	var what []string
	c.left, c.swaps = nil, swapped(olds, news)
	c.whole = len(olds) == 0 && len(news) > 0 && !partly.MatchString(tool+" "+args.text("command", "action", "mode", "operation")) &&
		args.fields["append"] != true && !strings.HasPrefix(args.text("mode"), "a")
	for i, text := range news {
		old := ""
		if len(olds) == len(news) {
			old = olds[i]
		}
		in, out := changes(old, text)
		what, c.left = append(what, in...), append(c.left, out...)
	}
	if len(olds) != len(news) {
		c.left = declared(strings.Join(olds, "\n"))
	}
	last := edit{c.swaps, newestNames(what, nil)}
	c.file(at, path, op, end, last.what...)
	if c.opened(path) && !end.refused && !end.failed() {
		c.edits[c.open] = append(c.edits[c.open], last)
	}
	return true
}

// undoes is in the name of a tool, or of its command, that takes the last edit of a file back.
var undoes = regexp.MustCompile(`(?i)(?:^|[_ ])undo(?:_|$)`)

// edit is what one edit of a file replaces, as swapped tells it, and what it declares.
type edit struct {
	swaps uint64
	what  []string
}

// opened reports whether a file is the one that was recorded last.
func (c *collector) opened(path string) bool {
	return c.open != "" && strings.HasSuffix(c.open, strings.TrimPrefix(path, "./"))
}

// undo records that the last edit of a file is taken back. It is a change like the edit, after which a run is outdated; of an edit that
// is known it is the opposite.
func (c *collector) undo(at uint64, path string, end outcome) {
	c.left, c.swaps, c.whole = nil, 0, false
	c.file(at, path, opWrite, end)
	known := c.edits[c.open]
	if !c.opened(path) || end.refused || end.failed() || len(known) == 0 {
		return
	}
	last := known[len(known)-1]
	c.edits[c.open] = known[:len(known)-1]
	f, _ := c.files.of(c.open)
	if last.swaps != 0 {
		f.Diffs, f.Net = f.Diffs+1, f.Net-last.swaps
	} else {
		f.Diffs += 2 // the two together
	}
	f.Gone = newestNames(last.what, f.Gone)
}

// swapped returns a number for texts that are replaced by others, so that those of edits which take each other back add up to 0, in
// any order; 0 if it isn't known what they replace. The texts are taken whole: they name the place as well.
func swapped(olds, news []string) (sum uint64) {
	if len(olds) != len(news) {
		return 0
	}
	for i := range olds {
		sum += digestOf(olds[i]) - digestOf(news[i])
	}
	return sum
}

// changes returns what a replacement declares and what it takes out, without the lines at both ends that stay as they are: they only
// say where. If it declares nothing, it is a change to what is declared last in front of it.
func changes(old, text string) (what, left []string) {
	was, is := strings.Split(old, "\n"), strings.Split(text, "\n")
	same, end := 0, 0
	for same < min(len(was), len(is)) && was[same] == is[same] {
		same++
	}
	for end < min(len(was), len(is))-same && was[len(was)-1-end] == is[len(is)-1-end] {
		end++
	}
	middle := strings.Join(is[same:len(is)-end], "\n")
	if what = declared(middle); len(what) == 0 && strings.TrimSpace(middle) != "" {
		what = enclosing(is[:same])
	}
	return what, declared(strings.Join(was[same:len(was)-end], "\n"))
}

// enclosing returns the last declaration of some lines, unless it ends in them.
func enclosing(lines []string) []string {
	indent := func(l string) int { return len(l) - len(strings.TrimLeft(l, " \t")) }
	for i := len(lines) - 1; i >= 0; i-- {
		if what := declared(lines[i]); len(what) > 0 {
			ends := func(l string) bool { return strings.TrimSpace(l) != "" && indent(l) <= indent(lines[i]) }
			if slices.ContainsFunc(lines[i+1:], ends) {
				return nil
			}
			return what
		}
	}
	return nil
}

type op int

const (
	opNone op = iota
	opRead
	opWrite
	opCreate
	opDelete
)

// opOf returns what a tool does. A tool with several commands (view, create, str_replace …) names the command in an
// argument.
func opOf(tool string, args arguments) op {
	sub := args.text("command", "action", "mode", "operation")
	if writes.MatchString(tool) && (sub == "view" || sub == "read" || sub == "open") {
		return opRead
	}
	for _, name := range []string{sub, tool} {
		switch {
		case strings.ContainsAny(name, " \n"):
		case deletes.MatchString(name):
			return opDelete
		case creates.MatchString(name):
			return opCreate
		case writes.MatchString(name):
			return opWrite
		case reads.MatchString(name):
			return opRead
		}
	}
	return opNone
}

// patched are the headings with which patches name files.
var patched = regexp.MustCompile(`(?m)^(?:\*\*\* (Add|Update|Delete) File: |(\+\+\+) b/)(\S.*)$`)

// movedFile is the line below such a heading that gives the file another path.
var movedFile = regexp.MustCompile(`\A\n\*\*\* Move to: (\S.*)`)

// patches records the files that a patch in the arguments changes.
func (c *collector) patches(at uint64, args arguments, end outcome) (found bool) {
	args.strings(func(_, s string) {
		if !strings.Contains(s, "*** ") && !strings.Contains(s, "+++ b/") {
			return
		}
		heads := patched.FindAllStringSubmatchIndex(s, 200)
		for i, m := range heads {
			o := opWrite
			if m[2] >= 0 {
				o = map[string]op{"Add": opCreate, "Update": opWrite, "Delete": opDelete}[s[m[2]:m[3]]]
			}
			to := len(s)
			if i+1 < len(heads) {
				to = heads[i+1][0]
			}
			var what []string
			what, c.left = patchedNames(s[m[1]:to])
			if move := movedFile.FindStringSubmatch(s[m[1]:to]); move != nil && o == opWrite {
				left := c.left
				c.move(at, strings.TrimSpace(s[m[6]:m[7]]), strings.TrimSpace(move[1]), end)
				c.left = left
				c.file(at, strings.TrimSpace(move[1]), opWrite, end, what...)
				found = true
				continue
			}
			if o == opWrite {
				c.swaps = swapped(patchedLines(s[m[1]:to]))
			}
			c.file(at, strings.TrimSpace(s[m[6]:m[7]]), o, end, what...)
			found = true
		}
	})
	return found
}

// Bounds of what is kept of a file's writes.
const (
	maxChanges = 8
	maxWhat    = 6
)

// declaration is a line that declares something, in the languages that most agents write.
var declaration = regexp.MustCompile(`(?m)^\s*(?:(?:export|default|pub(?:\(\w+\))?|public|private|protected|internal|static|final|abstract|async|const|override|unsafe|declare|open|data|inline|suspend)\s+)*` +
	`(?:func(?:tion)?\*?\s+(?:\([^)\n]*\)\s*)?|def\s+|fn\s+|fun\s+|class\s+|interface\s+|struct\s+|enum\s+|trait\s+|type\s+|module\s+|impl\s+|protocol\s+|sub\s+|proc\s+)([A-Za-z_$][\w$]{2,40})|^#{2,3} +(\S.{2,40})$`)

// patchedNames returns what a patch of a file declares, what it takes out, or else what it changes.
func patchedNames(patch string) (what, left []string) {
	var in, out, before []string
	for l := range strings.SplitSeq(patch, "\n") {
		switch {
		case strings.HasPrefix(l, "+"):
			in = append(in, l[1:])
		case strings.HasPrefix(l, "-"):
			out = append(out, l[1:])
		case len(in) == 0 && strings.HasPrefix(l, " "):
			before = append(before, l[1:])
		}
	}
	if what = declared(strings.Join(in, "\n")); len(what) == 0 && len(in) > 0 {
		what = enclosing(before)
	}
	return what, declared(strings.Join(out, "\n"))
}

// patchedLines returns the texts that a patch of a file replaces and those that it puts in their places, with the lines around them.
func patchedLines(patch string) (olds, news []string) {
	for hunk := range strings.SplitSeq(patch, "\n@@") {
		var was, is strings.Builder
		_, lines, _ := strings.Cut(hunk, "\n")
		for l := range strings.SplitSeq(lines, "\n") {
			if strings.HasPrefix(l, "***") || strings.HasPrefix(l, "diff ") || l == "" {
				continue
			}
			if l[0] != '+' {
				was.WriteString(l[1:] + "\n")
			}
			if l[0] != '-' {
				is.WriteString(l[1:] + "\n")
			}
		}
		olds, news = append(olds, was.String()), append(news, is.String())
	}
	return olds, news
}

// declared returns the names that a text declares, the first few.
func declared(text string) (names []string) {
	text = text[:min(len(text), maxScan)]
	for _, m := range declaration.FindAllStringSubmatchIndex(text, 4*maxWhat) {
		from, to := max(m[2], m[4]), max(m[3], m[5])
		rest, _, _ := strings.Cut(text[to:], "\n")
		imported := strings.Contains(text[m[0]:from], "type ") && strings.Trim(rest, " \t\r,};") == ""
		if name := strings.TrimSpace(text[from:to]); !imported && len(names) < maxWhat && !slices.Contains(names, name) {
			names = append(names, strings.ToValidUTF8(name, ""))
		}
	}
	return names
}

// newestNames puts names before older ones, each once, and keeps the newest few.
func newestNames(newer, older []string) (all []string) {
	for _, name := range slices.Concat(newer, older) {
		if len(all) < maxWhat && !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all
}

// file records one operation on a file; what it declares belongs to a write.
func (c *collector) file(at uint64, path string, o op, end outcome, what ...string) {
	if strings.HasSuffix(path, "/") {
		return // a directory
	}
	path = strings.ToValidUTF8(strings.TrimPrefix(path, "./"), "")
	if path != "" && path[0] != '/' && path[0] != '~' {
		if c.away {
			return // made to try something
		}
		if pathLike(c.dir+"/") && !strings.HasPrefix(c.dir, "..") {
			path = strings.TrimPrefix(strings.TrimSuffix(c.dir, "/"), "./") + "/" + path
		}
	}
	if path == "" || path == "." || path == ".." {
		return
	}
	f := File{Path: path, Touched: at}
	left, swaps := slices.DeleteFunc(c.left, func(name string) bool { return slices.Contains(what, name) }), c.swaps
	whole, to := c.whole || o == opCreate, c.to
	c.open, c.left, c.swaps, c.whole, c.to = path, nil, 0, false, ""
	switch {
	case o == opRead && (end.absent || end.failed() && (!end.refused || strings.Contains(end.error, base(path)))):
		return // nothing was read
	case o == opRead:
		if f.Read = 1; end.end == ends[verdict.Success] {
			f.Seen = at
		}
	case end.refused: // nothing was changed
	case end.failed():
		f.Tried = 1
	case o == opDelete:
		f.Deleted, f.Moved = at, to
		c.acts(at)
	default:
		c.acts(at)
		f.Written, f.Created, f.Changed, f.What, f.Gone = 1, o == opCreate || end.created, []uint64{at}, what, left
		if swaps != 0 {
			f.Diffs, f.Net = 1, swaps
		}
		if whole {
			f.Whole = at
		}
	}
	put(&c.files, path, f, (*File).join)
}

// leave records a file that git tells as deleted, or as renamed to another path.
func (c *collector) leave(at uint64, path, moved string) {
	for strings.HasPrefix(path, "../") {
		path = path[3:] // together finds which file it ends
	}
	if (pathLike(path) || bareName.MatchString(path)) && !temporary.MatchString(path) && !c.away {
		put(&c.files, path, File{Path: path, Left: at, Moved: moved, Touched: at}, (*File).join)
	}
}

// goneAt returns when a file was deleted or renamed at last; 0 if it was not.
func (f File) goneAt() uint64 {
	if f.Left > 0 && f.Told <= f.Left {
		return max(f.Deleted, f.Left-1) // the call stands before what it printed
	}
	return f.Deleted
}

// gone reports whether the last change of a file deleted it, and nothing was read from it since.
func (f File) gone() bool {
	at := f.goneAt()
	return at > 0 && (len(f.Changed) == 0 || at > f.Changed[0]) && f.Seen <= at
}

// takenBack reports whether each edit of a file was taken back by another one.
func (f File) takenBack() bool { return f.Written > 1 && f.Diffs == f.Written && f.Net == 0 }

// together joins the spellings of a file: a relative path that is the end of one longer path, and of no other, is that
// file.
func together(files []File) []File {
	var all entries[File]
	for _, f := range files {
		if f.Path == "" {
			continue // no file, though versions before rules-17 stored such
		}
		whole := f.Path
		for _, g := range files {
			switch {
			case f.Path[0] == '/' || !strings.HasSuffix(g.Path, "/"+f.Path):
			case strings.HasSuffix(g.Path, "/"+whole):
				whole = g.Path
			case !strings.HasSuffix(whole, "/"+g.Path) && whole != g.Path:
				whole = "" // two files could be meant
			}
			if whole == "" {
				whole = f.Path
				break
			}
		}
		f.Path = whole
		put(&all, whole, f, (*File).joinAnyOrder)
	}
	return all.list
}

// joinAnyOrder joins entries whose operations may alternate.
func (f *File) joinAnyOrder(b *File) {
	older := *f
	if b.Touched < f.Touched {
		*f, older = *b, *f
		b = &older
	}
	f.join(b)
	slices.SortFunc(f.Changed, func(a, b uint64) int { return cmp.Compare(b, a) })
}
