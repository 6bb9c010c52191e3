package ledger

import (
	"fmt"
	"strings"
)

// changed lists the files written, created and deleted, by directory, newest first.
func (t *text) changed(l Ledger) {
	files := t.touched(l, func(f File) bool { return f.Written > 0 || f.Deleted > 0 })
	o := newOutline(files)
	if total(o.lines()) > t.share(shareChanged) {
		o.short = true
	}
	entries := o.lines()
	whole := t.add(o.title(), entries, 0, shareChanged)
	if whole == 0 {
		return
	}
	o.more, o.dirs = len(entries)-whole, o.dirs[:whole]
	t.files, t.filesAt = o, len(t.out)-1
	t.pick.listed = o.once()
}

// read lists the files that were only read, each by its last two path elements.
func (t *text) read(l Ledger) {
	files := t.touched(l, func(f File) bool { return f.Written == 0 && f.Deleted == 0 })
	room := t.share(shareRead) - len("Read: ") - markRoom
	line, shown := "", 0
	for _, f := range files {
		name := lastNames(f.Path)
		if shown > 0 {
			name = ", " + name
		}
		if runes(line+name) > room {
			break
		}
		line, shown = line+name, shown+1
	}
	if shown > 0 {
		t.add("Read:", []string{line}, len(files)-shown+l.Omitted.Files, 100)
	}
}

func (t *text) touched(l Ledger, want func(File) bool) []File {
	var files []File
	for _, f := range highestFirst(l.Files, File.rank) {
		if want(f) {
			files = append(files, f)
		}
	}
	return files
}

// brief describes what happened to a file.
func (f File) brief() string {
	name := base(f.Path)
	switch {
	case f.Deleted > f.Changed:
		return name + " (deleted)"
	case f.Created && f.Written == 1:
		return name + " (created)"
	case f.Written > 1:
		return fmt.Sprintf("%s ×%d", name, f.Written)
	}
	return name
}

// commonRoot returns the directory that contains most of the files, at least two; empty if there is none.
func commonRoot(files []File) string {
	best, gain := "", 0
	seen := map[string]int{}
	for _, f := range files {
		for i := 1; i < len(f.Path); i++ {
			if f.Path[i] == '/' {
				seen[f.Path[:i+1]]++
			}
		}
	}
	for _, f := range files { // in order, so that ties are deterministic
		for i := 1; i < len(f.Path); i++ {
			dir := f.Path[:i+1]
			if n := seen[dir]; f.Path[i] == '/' && n > 1 && 2*n > len(files) && (n-1)*len(dir) > gain {
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

func total(lines []string) int {
	n := 0
	for _, l := range lines {
		n += runes(l) + 1
	}
	return n
}
