package ledger

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"precis/summarize/lex"
	"precis/summarize/verdict"
)

// toRead begins the list of files that were only read.
const toRead = "- read:"

// fileLines lists the files written, created and deleted, those whose edits failed, and those that were only read.
func (v *view) fileLines(room int) []string {
	tried := v.named("- edits failed:", room, 0, func(f File) bool { return f.Tried > 0 && f.Written == 0 && f.Deleted == 0 })
	lines := v.changed(room-cost(tried), false)
	told := func(f File) bool { return v.toldStill(f) && !f.gone() && f.untouched() && !v.mayBeWritten(f.Path) }
	lines = append(lines, v.named("- changed by git or a sub-agent:", room-cost(tried)-cost(lines), 0, func(f File) bool { return told(f) && !v.dirtyBefore(f) })...)
	lines = append(lines, v.named("- changed before these items:", room-cost(tried)-cost(lines), 0, func(f File) bool { return told(f) && v.dirtyBefore(f) && !v.committed(f.Told, v.l.To+1) })...)
	lines = append(lines, v.named("- written by commands, as they say:", room-cost(tried)-cost(lines), 0, func(f File) bool {
		return f.Made > 0 && f.Told == 0 && !f.gone() && f.untouched() && !v.mayBeWritten(f.Path)
	})...)
	lines = append(lines, tried...)
	return append(lines, v.named(toRead, room-cost(lines), v.l.Omitted.Files, func(f File) bool {
		return f.Told+f.Made == 0 && f.Read > 0 && f.untouched() && !temporary.MatchString(f.Path)
	})...)
}

// outputs are directories that builds write.
var outputs = regexp.MustCompile(`^(?:dist|build|out|output|target|bin|obj|lib|node_modules|coverage|_build|__pycache__|\.next|\.output|\.turbo)$`)

// backAgain reports whether a deleted file, or one in a deleted directory, was brought back by git, or used later, or is a directory that
// a later build may have made again.
func (v *view) backAgain(f File) bool {
	if len(f.Changed) == 0 && outputs.MatchString(base(f.Path)) && slices.ContainsFunc(v.l.Runs, func(r Run) bool {
		return strings.Contains(r.Kind, "build") && r.Last >= f.goneAt() && r.End != ends[verdict.Failure]
	}) {
		return true // what a build writes
	}
	for _, e := range v.eventsOf(discarded, f.goneAt()) {
		if !strings.HasPrefix(e.Text, "git clean") && v.concerns(e.Text, f.Path) && !v.committed(f.goneAt(), e.Last) {
			return true
		}
	}
	return slices.ContainsFunc(v.files, func(g File) bool {
		used := max(g.Seen, g.Made+1) // what a command deletes and makes again, it says in the end
		if len(g.Changed) > 0 {
			used = max(used, g.Changed[0])
		}
		return used > f.goneAt() && strings.HasPrefix(g.Path, f.Path+"/")
	})
}

// toldStill reports whether others changed a file, and nothing threw that away since.
func (v *view) toldStill(f File) bool {
	return f.Told > 0 && !slices.ContainsFunc(v.eventsOf(discarded, f.Told), func(e Note) bool {
		return !strings.HasPrefix(e.Text, "git clean") && v.concerns(e.Text, f.Path) && !v.committed(f.Told, e.Last)
	})
}

// dirtyBefore reports whether git told a file as changed before any call that may have changed it: it is the user's work.
func (v *view) dirtyBefore(f File) bool {
	return f.Dirty > 0 && (v.l.Acted == 0 || f.Dirty < v.l.Acted)
}

// mayBeWritten reports whether a path may be a short spelling of a file that the assistant wrote.
func (v *view) mayBeWritten(path string) bool {
	return slices.ContainsFunc(v.files, func(f File) bool { return !f.untouched() && strings.HasSuffix(f.Path, "/"+path) })
}

// untouched reports whether the assistant only read a file, as far as its calls show; one that it deleted and read later is another
// one's work.
func (f File) untouched() bool { return f.Tried+f.Written == 0 && !f.gone() }

// directory is the changed files of a directory, as shown.
type directory struct {
	name  string
	files []*shown
}

// shown is a file of the list, and what is said of it beside its name.
type shown struct {
	name, times, what string
	rank              int
	detail            int // 0: the name; 1: also how often it was written; 2: also what changed
}

func (s *shown) String() string {
	switch {
	case s.detail > 1 && s.what != "":
		return s.name + s.times + " (" + s.what + ")"
	case s.detail > 0:
		return s.name + s.times
	}
	return s.name
}

// movedAway reports whether the call that deleted a directory made another one, where its files are now.
func (v *view) movedAway(dir File) bool {
	return slices.ContainsFunc(v.files, func(f File) bool {
		return f.Created && f.Path != dir.Path && !strings.HasPrefix(f.Path, dir.Path+"/") && slices.Contains(f.Changed, dir.goneAt())
	})
}

// outline groups the changed files by directory, those that were written most often first.
func (v *view) outline() (dirs []directory, root string) {
	var files []File
	for _, f := range v.files {
		if f.gone() && v.passedBy(f) || slices.ContainsFunc(v.files, func(dir File) bool { // with its directory
			return len(f.Changed) > 0 && strings.HasPrefix(f.Path, dir.Path+"/") && f.Changed[0] <= dir.goneAt() && dir.gone() && !v.movedAway(dir) && !v.backAgain(dir)
		}) {
			continue
		}
		known := f.Written+f.Read > 0 || f.Deleted+f.Told > 0 // and not by git's word of its end alone
		if f.Written > 0 || known && f.gone() && !v.backAgain(f) {
			files = append(files, f)
		}
	}
	ends := map[string]int{} // how many paths have this end
	for _, f := range files {
		for i := range f.Path {
			if i > 0 && f.Path[i-1] == '/' {
				ends[f.Path[i:]]++
			}
		}
	}
	files = highestFirst(files, func(f File) uint64 { return uint64(f.Written)*ahead + f.Touched })
	root = commonRoot(files)
	for i, f := range files {
		s := &shown{name: base(f.Path), rank: i}
		s.what = strings.Join(slices.DeleteFunc(slices.Clone(f.What), func(name string) bool { return slices.Contains(f.Gone, name) }), ", ")
		switch {
		case f.gone() && !v.backAgain(f):
			s.times, s.what = " (deleted)", ""
			switch {
			case f.Moved != "" && base(f.Moved) != s.name:
				s.times = " (now " + lastNames(f.Moved) + ")"
			case f.Moved != "" || v.movedTo(f) != nil:
				s.times = " (moved)" // its new place is in the list
			}
		case v.undone(f):
			s.times, s.what = " (changes discarded)", ""
		case v.isBack(f):
			s.times, s.what = " (put back as it was)", ""
		case v.discardedAt(f) > 0: // what was written again isn't known apart from the rest
			s.times, s.what = times(since(f.Changed, v.discardedAt(f))), ""
		default:
			s.times = times(f.Written - v.arrivals(f))
		}
		if branch := v.leftOn(f); branch != "" {
			s.times += " (on " + branch + ")"
		}
		name, inside := strings.CutPrefix(f.Path[:len(f.Path)-len(s.name)], root)
		if inside && root != "" && ends[name+s.name] > 1 {
			name = "…/" + base(root) + name // tells it from others of this name
		}
		if !inside && root != "" && f.Path[0] != '/' {
			name = "(relative) " + name // not in root as far as is known
		}
		at := slices.IndexFunc(dirs, func(d directory) bool { return d.name == name })
		if at < 0 {
			at, dirs = len(dirs), append(dirs, directory{name: name})
		}
		dirs[at].files = append(dirs[at].files, s)
	}
	return dirs, root
}

// isBack reports whether a file was not changed since the assistant said that it is as it was before the work, or its edits were taken
// back one by one.
func (v *view) isBack(f File) bool {
	return f.takenBack() || len(f.Changed) > 0 && slices.ContainsFunc(v.eventsOf(putBack, f.Changed[0]), func(e Note) bool {
		return f.Path == e.Text || strings.HasSuffix(f.Path, "/"+e.Text) && !slices.ContainsFunc(v.files, func(g File) bool {
			return g.Path != f.Path && strings.HasSuffix(g.Path, "/"+e.Text) // which one is meant isn't known
		})
	})
}

// movedTo returns the file of the same name that was made when a file was deleted, if any: it was moved.
func (v *view) movedTo(f File) *File {
	for i, g := range v.files {
		if f.Deleted > 0 && g.Created && g.Path != f.Path && base(g.Path) == base(f.Path) && slices.Contains(g.Changed, f.Deleted) {
			return &v.files[i]
		}
	}
	return nil
}

// passedBy reports whether a file was only the place of another one for a while: moved there and away again.
func (v *view) passedBy(f File) bool {
	to := v.movedTo(f)
	return to != nil && f.Created && slices.ContainsFunc(v.files, func(from File) bool {
		return from.Path != f.Path && base(from.Path) == base(f.Path) && from.Deleted > 0 && slices.Contains(f.Changed, from.Deleted)
	})
}

// arrivals counts the moves that brought a file: they are no edits of it.
func (v *view) arrivals(f File) (n int) {
	for _, g := range v.files {
		if f.Created && g.Deleted > 0 && g.Path != f.Path && base(g.Path) == base(f.Path) && slices.Contains(f.Changed, g.Deleted) {
			n++
		}
	}
	return n
}

// times says how often a file was written.
func times(n int) string {
	if n < 2 {
		return ""
	}
	return fmt.Sprintf(" ×%d", n)
}

// since counts the ordinals after one.
func since(list []uint64, at uint64) (n int) {
	for _, o := range list {
		if o > at {
			n++
		}
	}
	return n
}

func (d directory) line() string {
	names := make([]string, len(d.files))
	for i, f := range d.files {
		names[i] = f.String()
	}
	sep := " "
	if len(names) == 1 || d.name == "" {
		sep = ""
	}
	return "- " + d.name + sep + strings.Join(names, ", ")
}

// changed lists the changed files in room characters: all their names, and then, as far as there is room, what is known
// of those written most often. With namesOnly it lists the names alone, without a limit.
func (v *view) changed(room int, namesOnly bool) []string {
	dirs, _ := v.outline()
	write := func() (lines []string, cost int) {
		for _, d := range dirs {
			lines = append(lines, d.line())
			cost += lex.Runes(lines[len(lines)-1]) + 1
		}
		return lines, cost
	}
	lines, cost := write()
	if namesOnly {
		return lines
	}
	if cost > room {
		return listed(lines, room, 0)
	}
	var all []*shown
	for _, d := range dirs {
		all = append(all, d.files...)
	}
	slices.SortFunc(all, func(a, b *shown) int { return a.rank - b.rank })
	for detail := 1; detail <= 2; detail++ {
		for _, s := range all {
			before, was := lex.Runes(s.String()), s.detail
			s.detail = detail
			if more := lex.Runes(s.String()) - before; more <= room-cost {
				cost += more
			} else {
				s.detail = was
			}
		}
	}
	lines, _ = write()
	return lines
}

// below returns the last two elements of a path as they stand below a heading that names root: from there, or behind a mark.
func below(root, path string) string {
	name := lastNames(path)
	if root == "" || name == path || root+name == path {
		return name
	}
	if inside, ok := strings.CutPrefix(path, root); ok && inside == base(path) {
		return inside
	}
	return "…/" + name
}

// named lists files, the newest first, by the last two elements of their paths, on a line; omitted others are not in the
// ledger any more.
func (v *view) named(title string, room, omitted int, which func(File) bool) []string {
	var names []string
	root := ""
	if title != toRead { // what was changed, or was to be, is to be found
		_, root = v.outline()
	}
	for _, f := range highestFirst(v.files, func(f File) uint64 { return f.Touched }) {
		if name := below(root, f.Path); which(f) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	line := title
	edits := slices.ContainsFunc(v.files, func(f File) bool { return f.Written > 0 })
	for i, name := range names {
		if i == mostNamed && edits {
			return []string{fmt.Sprintf("%s (+%d more)", strings.TrimSuffix(line, ","), len(names)-i+omitted)}
		}
		if lex.Runes(line+name)+2+markRoom > room {
			if i == 0 {
				return nil
			}
			return []string{fmt.Sprintf("%s (+%d more)", strings.TrimSuffix(line, ","), len(names)-i+omitted)}
		}
		line += " " + name + ","
	}
	if len(names) == 0 {
		return nil
	}
	return []string{strings.TrimSuffix(line, ",")}
}

// mostNamed bounds the files of such a line beside those that were written.
const mostNamed = 6

// temporary is a path among temporary files.
var temporary = regexp.MustCompile(`^(?:/private)?/(?:tmp|var/tmp|var/folders)/`)

// commonRoot returns the directory that contains most of the files, at least two, and all of them if it is a relative one,
// since others could be taken for files in it; empty if there is none.
func commonRoot(files []File) string {
	best, gain := "", 0
	seen := map[string]int{}
	for _, f := range files {
		for i := 1; i < len(f.Path) && !temporary.MatchString(f.Path); i++ {
			if f.Path[i] == '/' {
				seen[f.Path[:i+1]]++
			}
		}
	}
	for _, f := range files { // in order, so that ties are deterministic
		for i := 1; i < len(f.Path); i++ {
			dir := f.Path[:i+1]
			if n := seen[dir]; f.Path[i] == '/' && n > 1 && 2*n > len(files) && (dir[0] == '/' || n == len(files)) && (n-1)*len(dir) > gain {
				best, gain = dir, (n-1)*len(dir)
			}
		}
	}
	return best
}

func base(path string) string {
	return path[strings.LastIndexByte(strings.TrimRight(path, "/"), '/')+1:]
}

// lastNames returns the last two elements of a path.
func lastNames(path string) string {
	dir := strings.TrimSuffix(path[:len(path)-len(base(path))], "/")
	if base(dir) == "" {
		return path
	}
	return base(dir) + "/" + base(path)
}
